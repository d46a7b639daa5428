"""`python -m localcluster`."""

from localcluster.entry import entry

entry()
