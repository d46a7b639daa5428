"""Sharing nodes with other schedulers: the race guard and its parts."""
