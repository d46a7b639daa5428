"""Nodes that other schedulers use, too: the race guard and what belongs to it."""
