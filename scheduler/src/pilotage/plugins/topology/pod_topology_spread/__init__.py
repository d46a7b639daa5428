"""Pods that are to be spread over the parts of a cluster."""

from pilotage.plugins.topology.pod_topology_spread.pod_topology_spread import PodTopologySpread

__all__ = ["PodTopologySpread"]
