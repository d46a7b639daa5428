"""Counting of durations and sizes by size, for places where a microsecond matters."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return so many boundaries, each the factor times the one before; multiplied one by one, as Prometheus does."""
    found = []
    for _ in range(count):
        found.append(start)
        start *= factor
    return tuple(found)


# What the metrics of kube-scheduler that are filled from several places have.
PLUGIN_BOUNDS = exponential(0.00001, 1.5, 20)
POINT_BOUNDS = exponential(0.0001, 2, 12)


class Histogram:
    """How many observations there were up to each boundary, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # one by one; the last is of those past all boundaries
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value; one that is exactly on a boundary is below it."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[int]:
        """Return how many were up to each boundary, and at last how many there were."""
        return list(accumulate(self.counts))

    def reset(self) -> None:
        """Begin again; who holds the histogram goes on with it."""
        self.counts[:] = [0] * len(self.counts)
        self.total = 0.0

    @classmethod
    def merged(cls, several: Sequence["Histogram"]) -> "Histogram":
        """Return the sum of histograms with the same boundaries, of which there is at least one."""
        first = several[0]
        if len(several) == 1:
            return first
        found = cls(first.bounds)
        found.counts = [sum(each) for each in zip(*(each.counts for each in several), strict=True)]
        found.total = sum(each.total for each in several)
        return found
