"""How fast a scheduler is on a real API server, beside kube-scheduler on the same machine."""
