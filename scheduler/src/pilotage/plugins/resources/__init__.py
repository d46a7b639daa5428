"""Policy about resources: fit and bin packing."""
