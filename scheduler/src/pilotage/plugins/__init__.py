"""Policy: one module per plugin, grouped by subject."""
