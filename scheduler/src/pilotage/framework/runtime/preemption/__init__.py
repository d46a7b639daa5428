"""What plugins that preempt share with the engine that checks their choice."""
