"""What making room is made of: whom to evict, where, and at what cost."""
