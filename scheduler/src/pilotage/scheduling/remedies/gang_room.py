"""How many pods of a gang have room, counted in columns, for gangs that are too large to be tried pod by pod.

The nodes are those on which only resources can be short for a pod. Conflicts between pods of the gang, by their ports,
affinity or spread, are not counted.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pilotage.framework.api.nodes import Ints, Nodes
from pilotage.model.amounts import amount
from pilotage.model.pod import Pod
from pilotage.model.requests import PODS
from pilotage.scheduling.remedies.objections import Objections
from pilotage.scheduling.remedies.trying import Tries

FIT = "NodeResourcesFit"
Kinds = Sequence[tuple[Pod, int]]  # pods that are alike: one of them, and how many there are

MOST_KINDS = 16  # of pods that are counted; the others count as pods without room
MOST_STARTS = 3  # changes of nodes invalidate the columns
MOST_TOLD = 4  # resources


@dataclass(frozen=True)
class Room:
    """How many pods have room at once, and what the other pods of the quorum ask for."""

    fits: int
    asked: dict[str, int] = field(default_factory=dict)

    def told(self, needed: int) -> str:
        """Return it as a sentence."""
        short = f"{needed - self.fits} of {needed} pods find no room at once, counted by free resources"
        if not self.asked:
            return short
        parts = [f"{name} {amount(name, number)}" for name, number in list(self.asked.items())[:MOST_TOLD]]
        return f"{short}; together they ask for {', '.join(parts)}"


def counted(tries: Tries, kinds: Kinds, needed: int) -> Generator[None, None, Room | None]:
    """Count for how many pods there is room, the largest first; other work may run before each kind of pod.

    None if nodes come and go too quickly.
    """
    kinds = sorted(kinds, key=lambda kind: -kind[0].requests.get("cpu", 0))
    for _ in range(MOST_STARTS):
        columns, fits = _Columns(tries), 0
        left: list[tuple[Pod, int]] = []
        for pod, count in kinds[:MOST_KINDS]:
            yield
            if columns.are_outdated:
                break
            placed = columns.place(pod, min(count, needed - fits))
            fits += placed
            left.append((pod, count - placed))
        else:
            return Room(fits, _asked_by([*left, *kinds[MOST_KINDS:]], needed - fits))
    return None


class _Columns:
    """What is free on every node, minus what the pods counted so far use."""

    def __init__(self, tries: Tries) -> None:
        self._tries = tries
        self._version = tries.cache.columns.static_version
        self._taken: dict[str, Ints] = {}

    @property
    def are_outdated(self) -> bool:
        return self._tries.cache.columns.static_version != self._version

    def place(self, pod: Pod, wanted: int) -> int:
        """Return how many pods like this one have room, up to a number, and count them as placed."""
        attempt = self._tries.attempt(pod)
        if attempt.run_pre_filter().rejection is not None:
            return 0
        objections = Objections(attempt)
        nodes, room = objections.nodes, np.zeros(len(objections.nodes), np.int64)
        open_to = objections.open_to(FIT)
        amounts = {**{name: number for name, number in pod.requests.items() if number > 0}, PODS: 1}
        free = [self._free(nodes, name)[open_to] // number for name, number in amounts.items()]
        room[open_to] = np.minimum.reduce(free)
        before = np.cumsum(room) - room
        given = np.clip(wanted - before, 0, room)
        for name, number in amounts.items():
            self._taken[name] = self._of(name, len(nodes)) + given * number
        return int(given.sum())

    def _of(self, resource: str, nodes: int) -> Ints:
        return self._taken.get(resource, np.zeros(nodes, np.int64))

    def _free(self, nodes: Nodes, resource: str) -> Ints:
        if resource == PODS:
            free = nodes.allowed_pods - nodes.pod_count
        else:
            free = nodes.allocatable(resource) - nodes.requested(resource)
        found: Ints = np.maximum(free - self._of(resource, len(nodes)), 0)
        return found


def _asked_by(kinds: Kinds, number: int) -> dict[str, int]:
    """Return what so many pods ask for together, the smallest ones."""
    asked: dict[str, int] = {}
    for pod, count in sorted(kinds, key=lambda kind: kind[0].requests.get("cpu", 0)):
        taken = min(count, number)
        number -= taken
        for name, amount_of_one in pod.requests.items():
            if taken:
                asked[name] = asked.get(name, 0) + taken * amount_of_one
    return asked
