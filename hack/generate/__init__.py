"""Writes files of this repository from their one source."""
