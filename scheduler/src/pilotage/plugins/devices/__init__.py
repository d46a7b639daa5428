"""Policy about devices."""
