"""One decision about all pods of a gang."""
