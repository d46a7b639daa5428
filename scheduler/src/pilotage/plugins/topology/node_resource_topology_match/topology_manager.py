"""The configuration of a kubelet's topology manager."""

import re
from dataclasses import dataclass, replace
from typing import Final

from pilotage.kinds.node_resource_topology import NodeResourceTopology, TopologyAttribute

SINGLE, NONE, BEST_EFFORT, RESTRICTED = "single-numa-node", "none", "best-effort", "restricted"
POLICIES: Final = (NONE, BEST_EFFORT, RESTRICTED, SINGLE)
CONTAINER, POD = "container", "pod"
SCOPES: Final = (CONTAINER, POD)
MOST_ZONES: Final = 1024
WHOLE: Final = re.compile("[+]?0*([0-9]{1,18})")

# The format of agents before attributes existed.
OLD_POLICIES: Final = {
    "SingleNUMANodePodLevel": (SINGLE, POD),
    "SingleNUMANodeContainerLevel": (SINGLE, CONTAINER),
    "BestEffortPodLevel": (BEST_EFFORT, POD),
    "BestEffortContainerLevel": (BEST_EFFORT, CONTAINER),
    "RestrictedPodLevel": (RESTRICTED, POD),
    "RestrictedContainerLevel": (RESTRICTED, CONTAINER),
}


@dataclass(frozen=True, slots=True)
class TopologyManager:
    """The part of the kubelet's configuration that concerns zones."""

    policy: str = NONE
    scope: str = CONTAINER
    max_numa_nodes: int = 8

    @classmethod
    def of(cls, topology: NodeResourceTopology) -> "TopologyManager":
        """Parse it from a report; invalid values are ignored."""
        policy, scope = OLD_POLICIES.get(next(iter(topology.topology_policies), ""), (NONE, CONTAINER))
        manager = cls(policy, scope)
        for given in topology.attributes:
            manager = manager._with(given)
        return manager

    def _with(self, given: TopologyAttribute) -> "TopologyManager":
        if given.name == "topologyManagerPolicy" and given.value in POLICIES:
            return replace(self, policy=given.value)
        if given.name == "topologyManagerScope" and given.value in SCOPES:
            return replace(self, scope=given.value)
        if given.name == "topologyManagerMaxNUMANodes":
            match = WHOLE.fullmatch(given.value)
            if match and int(match[1]) > 1:
                return replace(self, max_numa_nodes=min(int(match[1]), MOST_ZONES))
        return self
