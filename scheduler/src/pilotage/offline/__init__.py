"""The engine on files: reads manifests, and simulates with the components of the live scheduler."""
