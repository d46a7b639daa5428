"""Policy about resources: what fits, and how nodes fill."""
