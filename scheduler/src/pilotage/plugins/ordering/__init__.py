"""Policy about who is next."""
