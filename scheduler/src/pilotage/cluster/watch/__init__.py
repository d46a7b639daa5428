"""Lists and watches: what the cluster says."""
