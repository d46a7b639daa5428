"""Policy about network costs between pods."""
