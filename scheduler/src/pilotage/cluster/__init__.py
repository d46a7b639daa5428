"""The only input and output: every request to the Kubernetes API leaves from here."""
