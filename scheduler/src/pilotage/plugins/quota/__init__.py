"""Policy about elastic quotas: guarantees, borrowing, and reclaiming by preemption."""
