"""Policy about topology: spreading over domains, and NUMA zones."""
