"""Pilotage: a second scheduler for Kubernetes whose policy is Python."""
