"""A real Kubernetes on this machine, without Docker, with kind's commands."""
