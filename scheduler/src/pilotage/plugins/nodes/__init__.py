"""Policy about nodes: their names, labels, taints, ports, images and features."""
