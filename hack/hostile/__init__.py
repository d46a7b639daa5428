"""Objects that an API server accepts and that may overload a scheduler, and what each of them costs."""
