"""A quick upper bound on whether a gang fits, by free resources: checked for every gang whenever a pod leaves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pilotage.framework.api.huge_amounts import exact_sum
from pilotage.framework.api.nodes import Ints, Nodes
from pilotage.model.pod import Pod

Kind = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """The requests of a gang's pods, and how many of them must fit at once."""

    needed: int
    least: Kind  # for each resource, the minimum total of this many pods
    kind: Kind | None  # if all requests are equal

    @classmethod
    def of(cls, pods: Sequence[Pod], needed: int) -> "Wish":
        """Return the wish for this many of these pods."""
        kinds = {tuple(sorted(pod.requests.items())) for pod in pods}
        wanted: dict[str, list[int]] = {}
        for pod in pods:
            for resource, amount in pod.requests.items():
                wanted.setdefault(resource, []).append(amount)
        least = {
            resource: _smallest(amounts, needed - len(pods) + len(amounts)) for resource, amounts in wanted.items()
        }
        return cls(needed, tuple(least.items()), kinds.pop() if len(kinds) == 1 else None)


def _smallest(amounts: Sequence[int], count: int) -> int:
    """Return the sum of the smallest amounts for this number of pods; pods without an amount request 0."""
    return sum(sorted(amounts)[: max(count, 0)])


class FreeRoom:
    """The free resources of all nodes, computed once per change for all gangs."""

    def __init__(
        self,
        nodes: Callable[[], Nodes],
        remit: Callable[[], object] = lambda: None,
        serves: Callable[[str], bool] = lambda _resource: False,
    ) -> None:
        self._nodes = nodes
        self._serves = serves  # whether devices serve a resource, of which nodes report nothing
        self._remit = remit  # identifies the nodes: a different journal with the same counters means different nodes
        self._state: tuple[int, int, object] = (-1, -1, None)
        self._places = 0
        self._in_all: dict[str, int] = {}  # free, by resource
        self._most: dict[Kind, int] = {}

    def could_fit(self, wish: Wish) -> bool:
        """Return whether the free resources may suffice; False is certain, True is not.

        Free resources are summed over all nodes; pods with equal requests are also counted node by node.
        """
        nodes = self._nodes()
        self._catch_up(nodes)
        counted = [(name, amount) for name, amount in wish.least if not self._serves(name)]
        if self._places < wish.needed or any(amount > self._free(nodes, name) for name, amount in counted):
            return False
        if wish.kind is None:
            return True
        most = self._most.get(wish.kind)
        if most is None:
            kind = [(name, amount) for name, amount in wish.kind if not self._serves(name)]
            most = self._most[wish.kind] = most_that_fit(nodes, kind)
        return most >= wish.needed

    def _catch_up(self, nodes: Nodes) -> None:
        state = nodes.static_version, nodes.pods_version, self._remit()
        if state != self._state:
            self._state = state
            self._most.clear()
            self._in_all.clear()
            self._places = exact_sum(np.maximum(nodes.allowed_pods - nodes.pod_count, 0))

    def _free(self, nodes: Nodes, resource: str) -> int:
        found = self._in_all.get(resource)
        if found is None:
            found = self._in_all[resource] = exact_sum(_free(nodes, resource))
        return found


def most_that_fit(nodes: Nodes, kind: Sequence[tuple[str, int]]) -> int:
    """Return how many pods with these requests fit on the nodes by resources."""
    room = np.maximum(nodes.allowed_pods - nodes.pod_count, 0)
    for resource, amount in kind:
        if amount > 0:
            room = np.minimum(room, _free(nodes, resource) // amount)
    return exact_sum(room)


def _free(nodes: Nodes, resource: str) -> Ints:
    free: Ints = np.maximum(nodes.allocatable(resource) - nodes.requested(resource), 0)
    return free
