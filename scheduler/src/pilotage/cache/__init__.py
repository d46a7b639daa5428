"""What the cluster looks like: nodes and pods in columns, with the pods we have assumed."""
