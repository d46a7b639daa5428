"""What pods may ask of the kernel of their node."""
