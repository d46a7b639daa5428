"""Policy about the network between pods."""
