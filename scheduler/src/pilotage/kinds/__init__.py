"""One declared class for each kind of object that scheduling reads; all that depends on the kind is derived."""
