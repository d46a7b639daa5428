"""Policy about the order of the queue."""
