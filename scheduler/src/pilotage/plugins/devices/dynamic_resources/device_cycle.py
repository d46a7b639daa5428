"""What one cycle knows of the claims of its pod."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pilotage.framework.api.node_matching import match_node_selector
from pilotage.framework.api.nodes import Bools, NodeInfo, Nodes
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.devices import Allocation, ResourceClaim
from pilotage.model.selectors import InvalidSelector, NodeMatcher, compile_node_selector
from pilotage.plugins.devices.dynamic_resources.allocator import Ask
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"  # a feature that nodes declare
BEST_ALTERNATIVE = 8  # the score of the first of several alternatives; each further one has one less


class SettledClaim(NamedTuple):
    """A claim that has devices already, and the nodes that can use them."""

    claim: ResourceClaim
    allocation: Allocation
    matcher: NodeMatcher | None
    needs_feature: bool
    is_unusable: bool  # everywhere, because its devices were not prepared
    is_pending: bool  # not written yet, but decided together with this pod

    @classmethod
    def of(
        cls, claim: ResourceClaim, allocation: Allocation, *, is_unusable: bool = False, is_pending: bool = False
    ) -> "SettledClaim":
        """Return a claim with these devices; PluginFailed if its node selector is invalid."""
        try:
            selector = allocation.node_selector
            matcher = None if selector is None else compile_node_selector(selector)
        except InvalidSelector as error:
            raise PluginFailed(str(error)) from error
        skips = any(each.skip_node_operations for each in allocation.devices.results)
        return cls(claim, allocation, matcher, skips, is_unusable, is_pending)

    def is_usable_on(self, node: NodeInfo) -> bool:
        """Return whether a node can use the devices."""
        if self.is_unusable or (self.needs_feature and OPTIONAL_NODE_OPERATIONS not in node.node.declared_features):
            return False
        return self.matcher is None or self.matcher.matches(node.labels, node.name)

    def unusable_on(self, nodes: Nodes) -> Bools:
        """Return which nodes cannot use the devices."""
        if self.is_unusable:
            return np.ones(len(nodes), np.bool_)
        found = np.zeros(len(nodes), np.bool_) if self.matcher is None else ~match_node_selector(self.matcher, nodes)
        if self.needs_feature:
            lacking = (OPTIONAL_NODE_OPERATIONS not in node.node.declared_features for node in nodes)
            found |= np.fromiter(lacking, np.bool_, len(nodes))
        return found


class DeviceCycle:
    """The claims of a pod: those with devices, those without, and what has been found out so far."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        settled: Sequence[SettledClaim],
        unallocated: Sequence[ResourceClaim],
        ask: Ask | None,
    ) -> None:
        self.claims = claims  # all of them
        self.settled = settled
        self.unallocated = unallocated
        self.ask = ask  # None if there is nothing to search
        self.unavailable: set[str] = set()  # the ids of settled claims that some node cannot use
        self.chosen: list[tuple[ResourceClaim, Allocation]] = []  # reserved by this cycle
        self.is_binding = False

    def settled_score(self) -> int:
        """Return the part of the score that is the same on all nodes."""
        return sum(alternatives_score(each.claim, each.allocation) for each in self.settled)

    def is_unavailable_on(self, node: NodeInfo) -> bool:
        """Return whether a node cannot use some claim, and remember the claim."""
        away = [claim_id(each.claim) for each in self.settled if not each.is_usable_on(node)]
        self.unavailable.update(away)
        return bool(away)

    def unavailable_on(self, nodes: Nodes, searched: Bools) -> Bools:
        """Return which nodes cannot use some claim, and remember the claims that matter on the searched nodes."""
        found = np.zeros(len(nodes), np.bool_)
        for each in self.settled:
            away = each.unusable_on(nodes)
            if (away & searched).any():
                self.unavailable.add(claim_id(each.claim))
            found |= away
        return found


def alternatives_score(claim: ResourceClaim, allocation: Allocation) -> int:
    """Return how good the alternatives are that a claim got: eight less the index of each."""
    got = {each.request for each in allocation.devices.results}
    return sum(
        BEST_ALTERNATIVE - place
        for request in claim.spec.devices.requests
        for place, choice in enumerate(request.first_available)
        if f"{request.name}/{choice.name}" in got
    )
