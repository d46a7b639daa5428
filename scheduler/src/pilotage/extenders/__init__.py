"""Extenders both ways: those that we ask, and the one that we are."""
