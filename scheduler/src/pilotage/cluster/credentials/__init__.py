"""Who we are, and whom we trust."""
