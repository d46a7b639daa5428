"""SySched: pods beside others that make the same system calls."""

from pilotage.plugins.nodes.sy_sched.sy_sched import SySched

__all__ = ["SySched"]
