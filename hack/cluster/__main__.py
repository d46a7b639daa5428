"""`python -m cluster`."""

from cluster.cli import entry

entry()
