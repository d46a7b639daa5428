"""Checks that what a single plugin uses lies in that plugin's package, and not in the framework."""
