"""Storage in order of preference, and the best accessible ones for each node."""

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_

import numpy as np

from pilotage.framework.api.node_matching import match_labels
from pilotage.framework.api.nodes import ABSENT, Bools, Ids, Nodes
from pilotage.kinds.reach import Reach
from pilotage.model.selectors import LabelKey


def within_reach(reach: Reach, nodes: Nodes) -> Bools:
    """Return a mask of the nodes with access."""
    if reach is None:
        return np.ones(len(nodes), np.bool_)
    return reduce(or_, (match_labels(condition, nodes) for condition in reach), np.zeros(len(nodes), np.bool_))


class Ranking:
    """Volumes or capacities in order, each with the nodes that have access; the rank is the index in that order.

    Local storage may have thousands of volumes, each for a single label value: these are indexed by the label.
    """

    def __init__(self, in_order: Sequence[Reach]) -> None:
        self._reaches = in_order
        self.none = len(in_order)  # the rank for none
        self._everywhere: list[int] = []
        self._by_label: dict[str, dict[str, list[int]]] = {}
        self._others: dict[tuple[LabelKey | None, ...], list[int]] = {}
        self._tables: dict[tuple[str, int], tuple[Nodes, int, Ids]] = {}
        for rank, reach in enumerate(in_order):
            self._place(rank, reach)

    def best(self, nodes: Nodes, depth: int = 1) -> Ids:
        """Return the best ranks of each node, as many as `depth`, padded with `none`."""
        parts = [self._repeated(self._everywhere, depth, len(nodes))] if self._everywhere else []
        # Thousands of volumes may each name a unique label that no node has.
        parts += [
            self._by_value(key, ranks, depth, nodes) for key, ranks in self._by_label.items() if nodes.has_label(key)
        ]
        for ranks in self._others.values():
            mask = within_reach(self._reaches[ranks[0]], nodes)
            parts.append(np.where(mask[:, None], self._repeated(ranks, depth, len(nodes)), np.int32(self.none)))
        if not parts:
            return np.full((len(nodes), depth), self.none, np.int32)
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate(parts, axis=1), axis=1)[:, :depth]

    def _place(self, rank: int, reach: Reach) -> None:
        if reach is None:
            self._everywhere.append(rank)
        elif exact := _exact_labels(reach):
            key, values = exact
            by_value = self._by_label.setdefault(key, {})
            for value in values:
                by_value.setdefault(value, []).append(rank)
        elif reach:
            self._others.setdefault(tuple(condition.requirements for condition in reach), []).append(rank)

    def _repeated(self, ranks: list[int], depth: int, count: int) -> Ids:
        return np.broadcast_to(self._filled(ranks, depth), (count, depth))

    def _filled(self, ranks: list[int], depth: int) -> Ids:
        filled = np.full(depth, self.none, np.int32)
        best = ranks[:depth]
        filled[: len(best)] = best
        return filled

    def _by_value(self, key: str, by_value: dict[str, list[int]], depth: int, nodes: Nodes) -> Ids:
        ids = nodes.label_ids(key)
        deep = 1 << (depth - 1).bit_length()  # rounded up, so that a pod's claims share few tables
        known = self._tables.get((key, deep))
        if known is None or not known[0].same_cluster(nodes) or known[1] != nodes.static_version:
            known = nodes, nodes.static_version, self._table(key, by_value, deep, nodes)
            self._tables[key, deep] = known
        return known[2][ids, :depth]

    def _table(self, key: str, by_value: dict[str, list[int]], depth: int, nodes: Nodes) -> Ids:
        table = np.full((len(nodes.label_values(key)), depth), self.none, np.int32)
        for value, ranks in by_value.items():
            found = nodes.label_id(key, value)
            if found != ABSENT:
                best = ranks[:depth]
                table[found, : len(best)] = best
        return table


@lru_cache(maxsize=65_536)
def _exact_labels(reach: Reach) -> tuple[str, set[str]] | None:
    """Return the single label and its values, if the reach is equivalent to that."""
    keys: set[str] = set()
    values: set[str] = set()
    for condition in reach or ():
        if condition.requirements is None or len(condition.requirements) != 1:
            return None
        key, operator, wanted = condition.requirements[0]
        if operator != "In":
            return None
        keys.add(key)
        values.update(wanted)
    return (keys.pop(), values) if len(keys) == 1 else None
