"""Verifies a release: its profiles are Ready, and its own replicas place their pods."""
