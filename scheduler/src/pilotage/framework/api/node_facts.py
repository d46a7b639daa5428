"""Facts derived from each node and the pods on it, and derived again only where these changed."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np

from pilotage.framework.api.nodes import Ids, Ints, NodeInfo, Nodes

Fact = TypeVar("Fact")


class LastLook:
    """Remembers when nodes were last read, and returns what changed since."""

    def __init__(self) -> None:
        self._nodes: Nodes | None = None
        self._version = 0
        self._stamp: Hashable = None

    def changes(self, nodes: Nodes, stamp: Hashable) -> Ids | None:
        """Return the slots that changed since the last time; None for all, as after every change of the stamp."""
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
        """Return the numbers of all nodes of a cluster, by slot; the stamp says what else they depend on."""
        changed = self._look.changes(nodes, stamp)
        if changed is None:
            self._column = np.fromiter(map(derive, nodes), np.int64, len(nodes))
            return self._column
        if len(nodes) != len(self._column):
            # A node that moved into a slot is among the changes.
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
        """Forget what no longer holds; the nodes are all of a cluster, the stamp says what else facts depend on."""
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
