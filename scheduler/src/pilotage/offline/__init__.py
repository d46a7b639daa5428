"""The engine on files: manifests, and a simulation that uses the parts of the live scheduler."""
