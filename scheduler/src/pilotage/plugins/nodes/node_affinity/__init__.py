"""Node affinity of pods and profiles."""

from pilotage.plugins.nodes.node_affinity.node_affinity import NodeAffinity

__all__ = ["NodeAffinity"]
