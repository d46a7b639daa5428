"""Preemption: shared by the plugins that preempt and the engine that checks their choice."""
