"""Accepts connections for all servers: limits their number, per peer and in time."""
