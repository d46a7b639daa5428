"""How much a plugin file may use while it is imported and asked for its declarations."""

SECONDS = 5.0
MORE_MEMORY = 512 << 20  # bytes of address space, beside what our own plugins need
LARGEST_ANSWER = 4 << 20  # bytes
