"""Controllers of custom resources: what each object's status should say, and who writes it."""
