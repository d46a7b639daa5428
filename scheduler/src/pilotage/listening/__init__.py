"""Accepts connections, for whoever serves: how many, whose, and for how long."""
