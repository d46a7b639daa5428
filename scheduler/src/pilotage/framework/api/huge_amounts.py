"""Scores nodes with amounts so large that products of them overflow 64 bits, without affecting other nodes.

A plugin's method for one node uses Python integers of any size. The method for many nodes uses 64 bits, and leaves
nodes with such amounts to the former.
"""

from collections.abc import Callable

import numpy as np

from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.model.quantity import HUGE

LOW_HALF = 2**32 - 1


def exact_where_huge(nodes: Nodes, many: Callable[[Nodes], Ints | int], one: Callable[[NodeInfo], int]) -> Ints | int:
    """Return scores by `many`, except for nodes with huge amounts, which are scored one by one."""
    places = nodes.huge_places()
    if places is None:
        return many(nodes)
    scores = np.empty(len(nodes), np.int64)
    ordinary = np.ones(len(nodes), np.bool_)
    ordinary[places] = False
    scores[ordinary] = many(nodes.take(ordinary))
    for place in places.tolist():
        scores[place] = one(nodes[place])
    return scores


def bounded(amount: int) -> int:
    """Return a pod's request bounded for ordinary nodes: anything above what they can have is equivalent."""
    return min(amount, HUGE + 1)


def exact_sum(amounts: Ints) -> int:
    """Return the sum of numbers, however large it is."""
    return (int((amounts >> 32).sum()) << 32) + int((amounts & LOW_HALF).sum())


def exact_percentages(part: Ints, whole: Ints, hundred: int) -> Ints:
    """Return the percentage of each part in its whole, rounded down; no part is larger than its whole."""
    shares: Ints = part * hundred // np.maximum(whole, 1)
    huge = whole > HUGE
    if huge.any():
        pairs = zip(part[huge].tolist(), whole[huge].tolist(), strict=True)
        shares[huge] = [amount * hundred // of for amount, of in pairs]
    return shares
