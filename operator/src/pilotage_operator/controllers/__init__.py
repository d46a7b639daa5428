"""Controllers of custom resources: what each object's status should be, and how it is written."""
