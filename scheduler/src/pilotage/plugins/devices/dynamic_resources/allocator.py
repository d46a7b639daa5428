"""Allocates devices for the claims of a pod: which nodes have them, and which devices they are."""

from collections.abc import Callable, Sequence

from pilotage.framework.api.nodes import Ids, Ints, NodeInfo, Nodes
from pilotage.kinds.devices import Allocation, DeviceClass, ResourceClaim
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory
from pilotage.plugins.devices.dynamic_resources.outcomes import NoSolution, RequestReasons, Solution
from pilotage.plugins.devices.dynamic_resources.usage import Usage


class NodeAnswers:
    """The outcome for each of many nodes: FITS, CANNOT_ALLOCATE, INVALID_POOLS or FAILED."""

    def __init__(self, nodes: Nodes, codes: Ids) -> None:
        self.codes = codes

    def failure(self, place: int) -> str:
        """Return the error text of a node with FAILED."""
        raise NotImplementedError


class Ask:
    """The unallocated claims of one pod."""

    def on_nodes(self, nodes: Nodes) -> NodeAnswers:
        """Return the outcome for each node."""
        raise NotImplementedError

    def on_node(self, node: Node) -> Solution | NoSolution:
        """Return the devices on one node, or raise AllocationFailed."""
        raise NotImplementedError

    def raw_scores(self, nodes: Nodes) -> Ints:
        """Return how good the chosen alternatives are on each node: eight less the index of each, summed up."""
        raise NotImplementedError

    def allocations(self, node: Node) -> list[Allocation]:
        """Return what each claim gets on a node, in the order of the claims, or raise AllocationFailed."""
        raise NotImplementedError

    def explain(self, node: Node) -> list[RequestReasons]:
        """Return for each request how many devices there are on a node, and why they cannot be used."""
        raise NotImplementedError


class Allocator:
    """Answers for pods; equal claims are searched once."""

    def __init__(
        self,
        inventory: Inventory,
        usage: Usage,
        device_class: Callable[[str], DeviceClass | None],
        filter_timeout: float | None,
    ) -> None:
        self._inventory, self._usage = inventory, usage

    def ask(self, claims: Sequence[ResourceClaim]) -> Ask:
        """Return the answers for the unallocated claims of a pod, in their order."""
        raise NotImplementedError


__all__ = ["Allocator", "Ask", "NodeAnswers", "NodeInfo"]
