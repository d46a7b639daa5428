"""Chooses among good nodes: the best, or any of the nearly best while schedulers race."""

from random import Random

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.nodes import Ints
from pilotage.framework.api.scoring import MAX_SCORE

MOST_NEAR = 20  # nodes to choose from, unless more are tied for the best
ALL = 100  # percent


def near_best(totals: Ints, percent: int, draw: Random) -> NDArray[np.intp]:
    """Return the indices of the nodes near the best score, limited to the nearest.

    Another scheduler that looks for the best node finds the same one. Ties for the best score are never cut off.
    """
    best = int(totals.max())
    # On nearly full nodes the best scores are low, and a percentage of them would be nothing.
    near: NDArray[np.intp] = np.flatnonzero(totals >= best - max(abs(best), MAX_SCORE) * percent // ALL)
    if len(near) <= MOST_NEAR:
        return near
    found = totals[near]
    last = int(np.partition(found, -MOST_NEAR)[-MOST_NEAR])  # the score of the last of them
    better, equal = near[found > last], near[found == last]
    if last < best:
        equal = np.array(draw.sample(equal.tolist(), MOST_NEAR - len(better)), np.intp)
    return np.append(better, equal)


def maxima(totals: Ints) -> NDArray[np.intp]:
    """Return the indices of the nodes with the highest score."""
    best: NDArray[np.intp] = (totals == np.maximum.reduce(totals)).nonzero()[0]
    return best
