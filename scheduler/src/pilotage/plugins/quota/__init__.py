"""Policy about quotas: what is guaranteed, and how borrowed resources are reclaimed."""
