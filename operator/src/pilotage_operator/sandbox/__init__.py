"""Imports and inspects custom plugin files in a separate process with limits on time and memory."""
