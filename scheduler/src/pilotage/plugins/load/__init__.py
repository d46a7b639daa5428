"""Policy about the measured load of nodes: packing, spreading, risk and power."""
