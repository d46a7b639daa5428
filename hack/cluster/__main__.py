"""`python -m cluster`."""

from cluster.entry import entry

entry()
