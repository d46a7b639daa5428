"""Usage of pods of lower priority on each node, kept up to date incrementally."""

from collections import OrderedDict

import numpy as np

from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.remit import EVERYTHING, Remit
from pilotage.model.quantity import LARGEST

PRIORITIES = 16  # clusters rarely use more; for any other, all pods are read


class Tally:
    """The number and usage of evictable pods below one priority, by slot."""

    def __init__(self, priority: int, nodes: Nodes, remit: Remit = EVERYTHING) -> None:
        self._priority = priority
        self.remit = remit
        self._foreign: Ints = np.zeros(0, np.int64)
        self._counts: Ints = np.zeros(0, np.int64)
        self._used: dict[str, Ints] = {}
        self._nodes = nodes
        self._version = 0
        self._start(nodes)

    @property
    def counts(self) -> Ints:
        """Return how many pods on each node have a lower priority."""
        return self._counts

    @property
    def foreign(self) -> Ints:
        """Return how many more there are that belong to other schedulers."""
        return self._foreign

    def used(self, resource: str) -> Ints | int:
        """Return their usage of a resource; 0 if none of them uses it."""
        return self._used.get(resource, 0)

    def catch_up(self, nodes: Nodes) -> None:
        """Count the changed nodes again; `nodes` are all nodes of a cluster."""
        if self._version == nodes.pods_version and self._nodes.same_cluster(nodes):
            return
        changed = nodes.changed_since(self._version) if self._nodes.same_cluster(nodes) else None
        if changed is None:
            self._start(nodes)
            return
        self._resize(len(nodes))
        for slot in changed.tolist():
            self._count(nodes[slot])
        self._nodes, self._version = nodes, nodes.pods_version

    def _start(self, nodes: Nodes) -> None:
        self._counts, self._foreign = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        self._used = {}
        for info in nodes:
            self._count(info)
        self._nodes, self._version = nodes, nodes.pods_version

    def _resize(self, size: int) -> None:
        if size != len(self._counts):
            # The changes include nodes that moved to another slot.
            self._counts, self._foreign = _resized(self._counts, size), _resized(self._foreign, size)
            self._used = {resource: _resized(column, size) for resource, column in self._used.items()}

    def _count(self, info: NodeInfo) -> None:
        slot, priority = info.slot, self._priority
        lower = [pod for pod in info.pods.values() if pod.priority < priority]
        if self.remit.schedulers is not None:
            below = len(lower)
            lower = [pod for pod in lower if not self.remit.is_foreign(pod)]
            self._foreign[slot] = below - len(lower)
        if not lower and not self._counts[slot]:
            return
        sums = dict.fromkeys(self._used, 0)
        for pod in lower:
            for resource, amount in pod.usage.items():
                sums[resource] = sums.get(resource, 0) + amount
        self._counts[slot] = len(lower)
        for resource, amount in sums.items():
            if resource not in self._used:
                self._used[resource] = np.zeros(len(self._counts), np.int64)
            self._used[resource][slot] = min(amount, LARGEST)  # requests may be absurdly large


class LowerPriorityUsage:
    """Tallies for the recently used priorities."""

    def __init__(self) -> None:
        self._tallies: OrderedDict[int, Tally] = OrderedDict()

    def below(self, priority: int, nodes: Nodes, remit: Remit = EVERYTHING) -> Tally:
        """Return the current tally of pods with a lower priority than this; `nodes` are all nodes of a cluster."""
        tally = self._tallies.get(priority)
        if tally is None or tally.remit is not remit:
            tally = self._tallies[priority] = Tally(priority, nodes, remit)
        else:
            tally.catch_up(nodes)
        self._tallies.move_to_end(priority)
        if len(self._tallies) > PRIORITIES:
            self._tallies.popitem(last=False)
        return tally


def _resized(column: Ints, size: int) -> Ints:
    resized = np.zeros(size, np.int64)
    kept = min(size, len(column))
    resized[:kept] = column[:kept]
    return resized
