"""NodeResourceTopologyMatch: places pods where their containers fit into NUMA zones, and where they fit best."""

from pilotage.plugins.topology.node_resource_topology_match.node_resource_topology_match import (
    NodeResourceTopologyMatch,
)

__all__ = ["NodeResourceTopologyMatch"]
