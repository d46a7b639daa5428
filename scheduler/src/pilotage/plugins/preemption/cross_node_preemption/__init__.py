"""CrossNodePreemption: preempts pods of lower priority on several nodes at once."""

from pilotage.plugins.preemption.cross_node_preemption.cross_node_preemption import CrossNodePreemption

__all__ = ["CrossNodePreemption"]
