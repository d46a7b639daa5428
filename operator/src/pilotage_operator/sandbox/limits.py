"""Limits for importing and inspecting a plugin file."""

SECONDS = 5.0
MORE_MEMORY = 512 << 20  # bytes of address space, in addition to our own plugins
LARGEST_ANSWER = 4 << 20  # bytes
