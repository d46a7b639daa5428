"""State in, answers out: what people and programs may read about a scheduler, as pure functions."""
