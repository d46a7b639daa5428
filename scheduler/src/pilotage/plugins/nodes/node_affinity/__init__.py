"""Which nodes a pod needs and likes, and which a whole profile does."""

from pilotage.plugins.nodes.node_affinity.node_affinity import NodeAffinity

__all__ = ["NodeAffinity"]
