"""Custom plugin files are imported and inspected here: in a separate process, with limits on time and memory."""
