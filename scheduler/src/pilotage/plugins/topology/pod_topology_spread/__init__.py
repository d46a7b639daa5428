"""PodTopologySpread: spreads pods over topology domains."""

from pilotage.plugins.topology.pod_topology_spread.pod_topology_spread import PodTopologySpread

__all__ = ["PodTopologySpread"]
