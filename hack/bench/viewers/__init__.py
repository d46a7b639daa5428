"""Measures what viewers of the read API cost the scheduler: the real one, on an API server in memory."""
