"""The engine on files: manifests, and a simulation that drives the parts of the live scheduler."""
