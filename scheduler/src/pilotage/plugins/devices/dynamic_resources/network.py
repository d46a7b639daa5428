"""Pools that several nodes can use: which nodes are alike for them."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.node_matching import match_node_selector
from pilotage.framework.api.nodes import Nodes
from pilotage.model.node import Node
from pilotage.model.selectors import NodeMatcher
from pilotage.plugins.devices.dynamic_resources.pool_slices import PoolSlices
from pilotage.plugins.devices.dynamic_resources.pools import PoolView
from pilotage.plugins.devices.dynamic_resources.slice_facts import Reach

Likeness = tuple[int, str | None]  # the selectors that match, and the name of a node that slices name
Views = tuple[PoolView, ...]


class Network:
    """The pools that are not one node's alone, at one moment."""

    def __init__(self, pools: Iterable[PoolSlices]) -> None:
        self._everywhere: dict[PoolSlices, None] = {}
        self._by_selector: dict[NodeMatcher, dict[PoolSlices, None]] = {}
        self._by_name: dict[str, dict[PoolSlices, None]] = {}
        self.trouble = ""  # why no node can tell its pools
        for pool in pools:
            for piece in pool.everything():
                self.trouble = self.trouble or piece.broken
                for reach in piece.reaches if piece.reach is None else (piece.reach,):
                    self._note(reach, pool)
        self._matchers = list(self._by_selector)
        self._views: dict[Likeness, Views] = {}

    def _note(self, reach: Reach, pool: PoolSlices) -> None:
        if reach.everywhere:
            self._everywhere[pool] = None
        elif reach.node is not None:
            self._by_name.setdefault(reach.node, {})[pool] = None
        elif reach.matcher is not None:
            self._by_selector.setdefault(reach.matcher, {})[pool] = None

    @property
    def empty(self) -> bool:
        """Return whether no node sees any of them."""
        return not self._everywhere and not self._by_name and not self._matchers and not self.trouble

    def likeness(self, node: Node) -> Likeness:
        """Return what is equal for nodes that see the same."""
        bits = 0
        for index, matcher in enumerate(self._matchers):
            if matcher.matches(node.labels, node.name):
                bits |= 1 << index
        return bits, node.name if node.name in self._by_name else None

    def likenesses(self, nodes: Nodes) -> Iterator[Likeness]:
        """Return the same for each of many nodes."""
        if self._matchers:
            rows: NDArray[np.uint8] = np.packbits(
                np.stack([match_node_selector(matcher, nodes) for matcher in self._matchers]), axis=0, bitorder="little"
            )
            bits: Iterator[int] = (int.from_bytes(column.tobytes(), "little") for column in rows.T)
        else:
            bits = iter([0] * len(nodes))
        named = self._by_name
        return ((each, info.name if info.name in named else None) for each, info in zip(bits, nodes, strict=True))

    def views(self, likeness: Likeness, node: Node) -> Views:
        """Return the pools that such nodes see."""
        known = self._views.get(likeness)
        if known is None:
            views = (pool.view(node.labels, node.name) for pool in self._reached(likeness))
            known = self._views[likeness] = tuple(sorted((view for view in views if view), key=lambda view: view.order))
        return known

    def _reached(self, likeness: Likeness) -> Iterable[PoolSlices]:
        bits, name = likeness
        found = dict(self._everywhere)
        while bits:
            lowest = bits & -bits
            found |= self._by_selector[self._matchers[lowest.bit_length() - 1]]
            bits ^= lowest
        return found | self._by_name[name] if name is not None else found
