"""Extenders both ways: those that we call, and the one that we serve."""
