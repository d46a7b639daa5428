"""Extenders: calling them, and serving our plugins as one."""
