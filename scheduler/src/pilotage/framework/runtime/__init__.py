"""What runs plugins: order, fences, time budgets, the dry runs of preemption."""
