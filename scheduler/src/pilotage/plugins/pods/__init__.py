"""Policy about pods: gates, affinity to other pods, and binding."""
