"""The only package with I/O: all requests to the Kubernetes API are sent here."""
