"""What tests stand on: a real control plane, fake nodes, and kubectl and helm that fail readably."""
