"""Writes to the API server: binds, statuses, events, volumes."""
