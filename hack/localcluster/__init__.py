"""A real Kubernetes on this machine, without Docker, that answers to kind's verbs."""
