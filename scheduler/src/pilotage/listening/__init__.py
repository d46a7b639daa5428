"""Accepts connections for all servers, and limits their number, rate and idle time for each peer."""
