"""What scores by resources are made of."""
