"""Makes room for a pod by evicting pods of lower priority from several nodes at once."""

from pilotage.plugins.preemption.cross_node_preemption.cross_node_preemption import CrossNodePreemption

__all__ = ["CrossNodePreemption"]
