"""Policy about preemption."""
