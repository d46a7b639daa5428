"""Binds, statuses, events, volumes: everything written to the API server."""
