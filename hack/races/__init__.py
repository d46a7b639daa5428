"""Two schedulers on the same nodes: how often kubelets reject what one of them decided, and what helps."""
