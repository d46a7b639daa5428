"""Policy about how busy nodes really are, as metrics tell: packing, spreading, risk and power."""
