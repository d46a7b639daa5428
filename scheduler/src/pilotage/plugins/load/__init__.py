"""Policy about the actual load of nodes, by metrics: packing, spreading, risk and power."""
