"""The kinds of objects that scheduling reads, each declared as one class from which everything else is derived."""
