"""Arithmetic for scores: normalisation, and functions given by points."""

from collections.abc import Sequence

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, Nodes
from pilotage.framework.api.plugin import Plugin
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST, SMALLEST

MAX_SCORE = 100


def normalized_by_maximum(scores: Ints, *, reverse: bool = False) -> Ints:
    """Scale to 0..100 by the largest score; reversed, the smallest is best. If all are zero, all are worst or best."""
    largest = max(0, int(scores.max(initial=0)))
    if largest == 0:
        return np.full_like(scores, MAX_SCORE) if reverse else scores
    if largest > LARGEST // MAX_SCORE:
        scores = np.array([score * MAX_SCORE // largest for score in scores.tolist()], np.int64)
        return MAX_SCORE - scores if reverse else scores
    scaled = truncated_division(scores * MAX_SCORE, largest)
    return MAX_SCORE - scaled if reverse else scaled


def truncated_division(dividend: Ints, divisor: Ints | int) -> Ints:
    """Divide whole numbers as Go does: towards zero."""
    quotient = np.abs(dividend) // np.abs(divisor)
    return np.where((dividend < 0) != (np.asarray(divisor) < 0), -quotient, quotient)


def by_maximum(plugin: Plugin, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
    """Scale to 0..100 by the largest score; for use as a plugin's `normalize`."""
    return normalized_by_maximum(scores)


def by_maximum_reversed(plugin: Plugin, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
    """Scale to 0..100 with the smallest score best; for use as a plugin's `normalize`."""
    return normalized_by_maximum(scores, reverse=True)


def by_range(plugin: Plugin, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
    """Scale to 0..100 from the lowest to the highest score; if all are equal, all become 0."""
    lowest, highest = int(scores.min(initial=LARGEST)), int(scores.max(initial=SMALLEST))
    if lowest >= highest:
        return np.zeros_like(scores)
    if highest - lowest <= LARGEST // MAX_SCORE:
        return (scores - lowest) * MAX_SCORE // (highest - lowest)
    exact = ((score - lowest) * MAX_SCORE // (highest - lowest) for score in scores.tolist())
    return np.fromiter(exact, np.int64, len(scores))


def keeps_equals(plugin: Plugin) -> bool:
    """Return whether the plugin's normalisation is known to keep equal non-negative scores equal."""
    return getattr(type(plugin), "normalize", None) in (None, by_maximum, by_maximum_reversed)


class BrokenLine:
    """A piecewise linear function with rising x, constant outside of its points; rounds towards the previous point."""

    def __init__(self, points: Sequence[tuple[int, int]]) -> None:
        self._points = tuple(points)

    def __call__(self, x: int) -> int:
        """Return the value at one x."""
        (left, low), *rest = self._points
        if x <= left:
            return low
        for right, high in rest:
            if x <= right:
                rise = (high - low) * (x - left)
                step = abs(rise) // (right - left)
                return low + (step if rise >= 0 else -step)
            left, low = right, high
        return low

    def at(self, xs: Ints) -> Ints:
        """Return the values at many x within 0..100."""
        table = np.array([self(x) for x in range(MAX_SCORE + 1)], np.int64)
        return table[xs]
