"""Objects that an API server accepts and a scheduler may choke on, and what each of them costs."""
