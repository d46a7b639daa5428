"""Lists and watches."""
