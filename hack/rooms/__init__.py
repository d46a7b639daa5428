"""Checks that modules used by a single plugin are in that plugin's package, not in the framework."""
