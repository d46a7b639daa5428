"""How much room there is for a gang at the most, by what is free alone: asked for every gang whenever a pod goes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pilotage.framework.nodes import Ints, Nodes
from pilotage.model.pod import Pod
from pilotage.model.requests import Requests


@dataclass(frozen=True, slots=True)
class Wish:
    """What the pods of a gang want, and how many of them must fit at once."""

    needed: int
    wanted: tuple[Requests, ...]
    kind: tuple[tuple[str, int], ...] | None  # if all of them want the same

    @classmethod
    def of(cls, pods: Sequence[Pod], needed: int) -> "Wish":
        """Return the wish of so many of these pods."""
        kinds = {tuple(sorted(pod.requests.items())) for pod in pods}
        return cls(needed, tuple(pod.requests for pod in pods), kinds.pop() if len(kinds) == 1 else None)


class FreeRoom:
    """Knows what is free on all nodes; the answer for pods that want the same is worked out once for each change."""

    def __init__(self, nodes: Callable[[], Nodes]) -> None:
        self._nodes = nodes
        self._state: tuple[int, int] = (-1, -1)
        self._most: dict[tuple[tuple[str, int], ...], int] = {}

    def could_fit(self, wish: Wish) -> bool:
        """Tell whether what is free might do; False is sure, True is not.

        Pods that all want the same are counted node by node; of different ones the smallest are added up.
        """
        nodes = self._nodes()
        if wish.kind is None:
            return _adds_up(nodes, wish)
        state = nodes.static_version, nodes.pods_version
        if state != self._state:
            self._state = state
            self._most.clear()
        most = self._most.get(wish.kind)
        if most is None:
            most = self._most[wish.kind] = most_that_fit(nodes, wish.kind)
        return most >= wish.needed


def most_that_fit(nodes: Nodes, kind: Sequence[tuple[str, int]]) -> int:
    """Return how many pods with these requests the resources of all nodes would do for."""
    room = np.maximum(nodes.allowed_pods - nodes.pod_count, 0)
    for resource, amount in kind:
        if amount > 0:
            room = np.minimum(room, _free(nodes, resource) // amount)
    return int(room.sum())


def _adds_up(nodes: Nodes, wish: Wish) -> bool:
    if int(np.maximum(nodes.allowed_pods - nodes.pod_count, 0).sum()) < wish.needed:
        return False
    for resource in {name for requests in wish.wanted for name in requests}:
        smallest = sum(sorted(requests.get(resource, 0) for requests in wish.wanted)[: wish.needed])
        if smallest > int(_free(nodes, resource).sum()):
            return False
    return True


def _free(nodes: Nodes, resource: str) -> Ints:
    free: Ints = np.maximum(nodes.allocatable(resource) - nodes.requested(resource), 0)
    return free
