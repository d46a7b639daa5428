"""The search for devices of a pod with extended resources, which other nodes have from device plugins."""

from collections.abc import Iterator, Sequence

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, Ints, Nodes
from pilotage.kinds.devices import Allocation, ResourceClaim
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.allocator import Allocator, Ask, NodeAnswers
from pilotage.plugins.devices.dynamic_resources.extended_claims import special_claim, with_requests
from pilotage.plugins.devices.dynamic_resources.extended_requests import (
    ExtendedDemand,
    Needed,
    RequestMapping,
    variant_of,
)
from pilotage.plugins.devices.dynamic_resources.outcomes import CANNOT_FIT, NoSolution, Solution

NOTHING = Solution(())
LACKING = NoSolution(lacks_resource=True)


class ExtendedAnswers:
    """The outcome for each of many nodes."""

    def __init__(self, count: int) -> None:
        self.codes: Ids = np.zeros(count, np.int32)
        self.unfinished: Bools = np.zeros(count, np.bool_)  # out of time, which is a failure, too
        self._parts: list[tuple[Ids, NodeAnswers]] = []

    def take(self, places: Ids, answers: NodeAnswers) -> None:
        """Add the outcomes for some of the nodes."""
        self.codes[places] = answers.codes
        self.unfinished[places] = answers.unfinished
        self._parts.append((places, answers))

    def failure(self, place: int) -> str:
        """Return the error text of a node with FAILED."""
        for places, answers in self._parts:
            found = np.flatnonzero(places == place)
            if len(found):
                return answers.failure(int(found[0]))
        return ""


class ExtendedSearch:
    """The unallocated claims of a pod, and the special one with the requests that each node needs."""

    def __init__(
        self, pod: Pod, demand: ExtendedDemand, unallocated: Sequence[ResourceClaim], allocator: Allocator
    ) -> None:
        self.special = special_claim(pod)
        self._pod = pod
        self._demand = demand
        self._unallocated = unallocated
        self._allocator = allocator
        self._asks: dict[Needed, Ask | None] = {}

    def on_nodes(self, nodes: Nodes) -> ExtendedAnswers:
        """Return the outcome for each node; there is nothing to search where all is served by device plugins."""
        found = ExtendedAnswers(len(nodes))
        for places, needed in self._parts(nodes):
            if needed is None:
                found.codes[places] = CANNOT_FIT
            elif (ask := self._ask(needed)) is not None:
                found.take(places, ask.on_nodes(nodes.take(places)))
        return found

    def on_node(self, node: Node) -> Solution | NoSolution:
        """Return the devices on one node, or raise AllocationFailed."""
        needed = self._demand.on_node(node)
        if needed is None:
            return LACKING
        ask = self._ask(needed)
        return NOTHING if ask is None else ask.on_node(node)

    def raw_scores(self, nodes: Nodes) -> Ints:
        """Return how good the chosen alternatives of the claims are on each node."""
        found = np.zeros(len(nodes), np.int64)
        for places, needed in self._parts(nodes):
            if needed is not None and (ask := self._ask(needed)) is not None:
                found[places] = ask.raw_scores(nodes.take(places))
        return found

    def allocations(self, node: Node) -> list[Allocation]:
        """Return what each searched claim gets on a node, or raise AllocationFailed."""
        ask = self.ask(node)
        return [] if ask is None else ask.allocations(node)

    def claims(self, node: Node) -> Sequence[ResourceClaim]:
        """Return the claims that are searched for a node, the special one last."""
        ask = self.ask(node)
        return () if ask is None else ask.claims

    def ask(self, node: Node) -> Ask | None:
        """Return the question for a node; None if there is nothing to search, or the node cannot fit the pod."""
        needed = self._demand.on_node(node)
        return None if needed is None else self._ask(needed)

    @property
    def unallocated(self) -> Sequence[ResourceClaim]:
        """Return the searched claims without the special one."""
        return self._unallocated

    def lacking(self, node: Node) -> list[str]:
        """Return the resources that neither a class nor the node serves."""
        return [resource for resource in self._demand.others if resource not in node.allocatable]

    def mappings(self, node: Node) -> tuple[RequestMapping, ...]:
        """Return which request has the devices for each container on a node."""
        return variant_of(self._pod, self._demand.on_node(node) or ()).mappings

    def _parts(self, nodes: Nodes) -> Iterator[tuple[Ids, Needed | None]]:
        """Yield the nodes of each kind, and what devices must serve there."""
        which, kinds = self._demand.on_nodes(nodes)
        for kind, needed in enumerate(kinds):
            yield np.flatnonzero(which == kind).astype(np.int32), needed

    def _ask(self, needed: Needed) -> Ask | None:
        if needed not in self._asks:
            # Without requests there is no special claim: an empty one would be of no use to anybody.
            special = [with_requests(self.special, variant_of(self._pod, needed))] if needed else []
            claims = [*self._unallocated, *special]
            self._asks[needed] = self._allocator.ask(claims) if claims else None
        return self._asks[needed]
