"""The maximum of a changing multiset of numbers."""

from collections import Counter
from heapq import heapify, heappop, heappush


class Greatest:
    """A multiset of numbers with fast access to the greatest."""

    __slots__ = ("_counts", "_heap")

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._heap: list[int] = []  # negated, the greatest first; removed ones stay until they reach the top

    def add(self, number: int) -> None:
        """Add a number."""
        self._counts[number] += 1
        if self._counts[number] == 1:
            heappush(self._heap, -number)
        if len(self._heap) > 2 * len(self._counts) + 64:
            self._heap = [-each for each in self._counts]
            heapify(self._heap)

    def remove(self, number: int) -> None:
        """Remove a number that was added."""
        self._counts[number] -= 1
        if not self._counts[number]:
            del self._counts[number]

    def greatest(self, otherwise: int) -> int:
        """Return the greatest number, or a default if there is none."""
        while self._heap and -self._heap[0] not in self._counts:
            heappop(self._heap)
        return -self._heap[0] if self._heap else otherwise
