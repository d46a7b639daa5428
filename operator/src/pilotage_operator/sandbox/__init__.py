"""Other people's plugin files are imported and asked here: in a process of its own, with limits of time and memory."""
