"""A sorted collection of pods with fast access to the first."""

import logging
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from pilotage.queue.queued_pod import QueuedPod

log = logging.getLogger(__name__)

Order = Callable[[QueuedPod], Any]  # a key: the smallest is first
Entry = tuple[Any, int, QueuedPod]


class PodHeap:
    """Pods sorted by a key; equal ones in the order of their arrival.

    A pod removed from the middle leaves a dead entry until that reaches the front or there are too many. If the
    order fails, the fallback replaces it: pods in a poor order are better than none.
    """

    def __init__(self, name: str, order: Order, fallback: Order) -> None:
        self.name = name
        self._order = order
        self._fallback = fallback
        self._heap: list[Entry] = []
        self._alive: dict[str, Entry] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._alive)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter([entry[2] for entry in self._alive.values()])

    def add(self, queued: QueuedPod) -> None:
        """Add a pod, or move it to its new place."""
        self._number += 1
        try:
            entry = self._order(queued), self._number, queued
            self._alive[queued.key] = entry
            heappush(self._heap, entry)
        except Exception:
            self._alive[queued.key] = None, self._number, queued
            self._fall_back()
        if len(self._heap) > 2 * len(self._alive) + 64:
            self._rebuild(list(self._alive.values()))

    def remove(self, queued: QueuedPod) -> None:
        """Remove a pod."""
        del self._alive[queued.key]

    def first(self) -> QueuedPod | None:
        """Return the next pod without removing it."""
        while self._heap:
            queued = self._heap[0][2]
            if self._alive.get(queued.key) is self._heap[0]:
                return queued
            try:
                heappop(self._heap)
            except Exception:
                self._fall_back()
        return None

    def ahead_of(self, queued: QueuedPod) -> int:
        """Return how many pods are ahead of a pod of this heap."""
        own = self._alive[queued.key]
        try:
            return sum(entry < own for entry in self._alive.values())
        except Exception:
            self._fall_back()
            return self.ahead_of(queued)

    def ahead_of_all(self) -> dict[str, int]:
        """Return the same for all pods, by namespace/name."""
        try:
            ranked = sorted(self._alive.values())
        except Exception:
            self._fall_back()
            ranked = sorted(self._alive.values())
        return {entry[2].key: number for number, entry in enumerate(ranked)}

    def _fall_back(self) -> None:
        log.exception("the order of the %s queue failed; pods are sorted by priority and time instead", self.name)
        self._order = self._fallback
        self._rebuild([(self._order(queued), number, queued) for _, number, queued in self._alive.values()])

    def _rebuild(self, entries: list[Entry]) -> None:
        self._alive = {entry[2].key: entry for entry in entries}
        self._heap = entries
        heapify(self._heap)
