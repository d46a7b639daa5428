"""Kubernetes ideas without input or output: pods, nodes, quantities, selectors."""
