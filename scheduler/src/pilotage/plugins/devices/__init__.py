"""Policy about devices that pods claim."""
