"""The state of the cluster: nodes and pods in columns, including assumed pods."""
