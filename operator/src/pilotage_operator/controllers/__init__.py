"""Controllers of custom resources: compute and write the status of each object."""
