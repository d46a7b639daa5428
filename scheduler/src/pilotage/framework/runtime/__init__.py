"""Runs plugins: their order, fences, time budgets, and the dry runs of preemption."""
