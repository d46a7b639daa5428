"""What volume plugins are made of: claims, the volumes for them, and the nodes that reach them."""
