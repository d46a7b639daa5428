"""Facts derived from nodes and their pods, recomputed only for nodes that changed."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np

from pilotage.framework.api.nodes import Ids, Ints, NodeInfo, Nodes

Fact = TypeVar("Fact")


class LastLook:
    """Remembers the versions at the last read, and returns the changes since then."""

    def __init__(self) -> None:
        self._nodes: Nodes | None = None
        self._version = 0
        self._stamp: Hashable = None

    def changes(self, nodes: Nodes, stamp: Hashable) -> Ids | None:
        """Return the slots that changed since the last call; None for all, also if the stamp has changed."""
        known = self._nodes is not None and self._stamp == stamp and self._nodes.same_cluster(nodes)
        changed = nodes.changed_since(self._version) if known else None
        self._nodes, self._version, self._stamp = nodes, nodes.pods_version, stamp
        return changed


class NodeColumn:
    """A number for each node of a cluster."""

    def __init__(self) -> None:
        self._look = LastLook()
        self._column: Ints = np.zeros(0, np.int64)

    def read(self, nodes: Nodes, derive: Callable[[NodeInfo], int], stamp: Hashable = None) -> Ints:
        """Return the numbers of all nodes of a cluster, by slot; they are recomputed if the stamp changes."""
        changed = self._look.changes(nodes, stamp)
        if changed is None:
            self._column = np.fromiter(map(derive, nodes), np.int64, len(nodes))
            return self._column
        if len(nodes) != len(self._column):
            # The changes include nodes that moved to another slot.
            self._column = np.resize(self._column, len(nodes))
        for slot in changed.tolist():
            self._column[slot] = derive(nodes[slot])
        return self._column


class NodeFacts(Generic[Fact]):
    """A fact about some nodes of a cluster, derived on demand."""

    def __init__(self) -> None:
        self._look = LastLook()
        self._known: dict[str, Fact] = {}

    def catch_up(self, nodes: Nodes, stamp: Hashable = None) -> None:
        """Forget outdated facts; `nodes` are all nodes of a cluster, and a changed stamp outdates all facts."""
        changed = self._look.changes(nodes, stamp)
        if changed is None:
            self._known.clear()
            return
        for slot in changed.tolist():
            self._known.pop(nodes[slot].name, None)

    def of(self, node: NodeInfo, derive: Callable[[NodeInfo], Fact]) -> Fact:
        """Return the fact about a node."""
        known = self._known.get(node.name)
        if known is None:
            known = self._known[node.name] = derive(node)
        return known
