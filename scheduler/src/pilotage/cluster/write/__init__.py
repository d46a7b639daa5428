"""Binds, statuses, events, volumes: what we tell the cluster."""
