"""Policy about making room."""
