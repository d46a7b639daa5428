"""Holds: nodes that certain pods avoid for a while."""

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple, TypeVar

from pilotage.model.pod import Pod, PodShape

Key = TypeVar("Key", bound=Hashable)
Member = TypeVar("Member", bound=Hashable)

MOST_HOLDS = 10_000  # at the same time; further ones are refused


class Everybody:
    """Matches all pods."""

    def __repr__(self) -> str:
        return "everybody"


class Twins(NamedTuple):
    """Pods of one owner and one shape: the owner recreates a rejected pod with the same spec."""

    owner: str  # its UID
    shape: PodShape


EVERYBODY: Final = Everybody()


class Hold(NamedTuple):
    """A node, and the pods that avoid it: all, a shape, or twins; any other value is a marker that expires."""

    node: str
    whom: Hashable


def twins_of(pod: Pod) -> Twins | None:
    """Return the pods like this one; None for a pod without a controller."""
    owner = pod.metadata.controller
    return None if owner is None else Twins(owner.uid, pod.shape)


class NodeHolds:
    """All holds; each expires at its end."""

    def __init__(self) -> None:
        self.active: dict[Hold, float] = {}  # with their ends; always the same dictionary
        self._nodes_of: dict[Hashable, set[str]] = {}  # by whom
        self._on: dict[str, set[Hold]] = {}  # by node
        self._ends: list[tuple[float, int, Hold]] = []  # a heap, with outdated entries
        self._entries = 0

    def __len__(self) -> int:
        return len(self.active)

    def __iter__(self) -> Iterator[tuple[Hold, float]]:
        """Yield all holds with their ends."""
        return iter(list(self.active.items()))

    def on(self, node: str) -> list[Hold]:
        """Return the holds on a node."""
        return list(self._on.get(node, ()))

    def until(self, hold: Hold) -> float | None:
        """Return when a hold ends; None if there is none."""
        return self.active.get(hold)

    def keep_off(self, hold: Hold, until: float) -> bool:
        """Keep pods off a node until a time, which replaces the previous one; False if there are too many."""
        if len(self.active) >= MOST_HOLDS and hold not in self.active:
            return False
        self.active[hold] = until
        self._nodes_of.setdefault(hold.whom, set()).add(hold.node)
        self._on.setdefault(hold.node, set()).add(hold)
        self._entries += 1
        heappush(self._ends, (until, self._entries, hold))
        if len(self._ends) > 4 * len(self.active) + 64:
            self._ends = [(end, number, hold) for number, (hold, end) in enumerate(self.active.items())]
            heapify(self._ends)
        return True

    def lift(self, hold: Hold) -> bool:
        """End a hold before its time; False if there is none."""
        if self.active.pop(hold, None) is None:
            return False
        _discard(self._nodes_of, hold.whom, hold.node)
        _discard(self._on, hold.node, hold)
        return True

    def closed_to(self, pod: Pod) -> set[str]:
        """Return the nodes that a pod must avoid now."""
        twins = twins_of(pod)
        sets = [found for whom in (EVERYBODY, pod.shape, twins) if (found := self._nodes_of.get(whom))]
        return set().union(*sets)

    def is_closed_to(self, node: str, pod: Pod) -> bool:
        """Return whether a pod must avoid a node now."""
        return any(Hold(node, whom) in self.active for whom in (EVERYBODY, pod.shape, twins_of(pod)))

    def next_end(self) -> float | None:
        """Return when the next hold ends; None if there is none."""
        while self._ends and self.active.get(self._ends[0][2]) != self._ends[0][0]:
            heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def expire(self, now: float) -> list[Hold]:
        """Remove expired holds, and return them."""
        ended = []
        while (end := self.next_end()) is not None and end <= now:
            ended.append(heappop(self._ends)[2])
            self.lift(ended[-1])
        return ended


def _discard(sets: dict[Key, set[Member]], key: Key, member: Member) -> None:
    found = sets[key]
    found.discard(member)
    if not found:
        del sets[key]
