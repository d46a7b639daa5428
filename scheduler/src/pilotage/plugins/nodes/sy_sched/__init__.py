"""SySched: places pods beside others with the same system calls."""

from pilotage.plugins.nodes.sy_sched.sy_sched import SySched

__all__ = ["SySched"]
