"""Kubernetes concepts without I/O: pods, nodes, quantities, selectors."""
