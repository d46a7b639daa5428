"""The read API of a running scheduler: rights, costs and transport."""
