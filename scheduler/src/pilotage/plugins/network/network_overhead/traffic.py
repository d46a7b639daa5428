"""The cost of a pod's traffic to its placed dependencies, from each node."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pilotage.framework.api.nodes import ABSENT, Ints, NodeInfo, Nodes
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.model.quantity import LARGEST
from pilotage.plugins.network._shared.costs import NOWHERE, REGION, ZONE, NetworkCosts, Place, place_of

SAME_ZONE_COST = 1
UNKNOWN_COST = 100
HIGHEST = LARGEST // MAX_SCORE  # normalising multiplies by this

Limits = Counter[int]  # the number of connections by their maximum cost


class Tally(NamedTuple):
    """The satisfied and violated dependencies of a place, and their total cost."""

    satisfied: int = 0
    violated: int = 0
    cost: int = 0

    def plus(self, other: "Tally", times: int = 1) -> "Tally":
        """Return the sum."""
        satisfied, violated, cost = other
        return Tally(self.satisfied + times * satisfied, self.violated + times * violated, self.cost + times * cost)


class Columns(NamedTuple):
    """The tallies of all nodes, by slot."""

    satisfied: Ints
    violated: Ints
    cost: Ints


class Traffic:
    """The placed dependencies of a pod; created for one attempt, and changed in what-ifs."""

    def __init__(self, limits: Mapping[str, Limits], costs: NetworkCosts) -> None:
        self._limits = limits  # by selector, for the workloads that the pod depends on
        self._costs = costs
        self._ends: dict[str, tuple[Place, Limits]] = {}  # by node: its place, and the connections that end there
        self._columns: Columns | None = None

    def clone(self) -> "Traffic":
        """Return a copy that can be changed for a what-if."""
        copy = Traffic(self._limits, self._costs)
        copy._ends = {node: (place, Counter(limits)) for node, (place, limits) in self._ends.items()}
        return copy

    def change(self, workload: str, node: NodeInfo, by: int) -> None:
        """Add or remove pods of a workload on a node."""
        limits = self._limits.get(workload)
        if limits is None:
            return
        _, ends = self._ends.setdefault(node.name, (place_of(node.labels), Counter()))
        for limit, times in limits.items():
            ends[limit] = max(0, ends[limit] + by * times)
        self._columns = None

    def at(self, node: NodeInfo) -> Tally:
        """Return the pod's costs on one node."""
        start, total = place_of(node.labels), Tally()
        for name, (end, limits) in self._ends.items():
            total = total.plus(_at_home(limits) if name == node.name else self._way(start, end, limits))
        return _bounded(total)

    def over(self, nodes: Nodes) -> Columns:
        """Return the same for all nodes of the cluster: computed by place, and corrected for nodes with pods."""
        if self._columns is None:
            places, which = _places(nodes)
            ends = self._by_place()
            sums = [self._from(place, ends) for place in places]
            columns = np.array([_bounded(each) for each in sums], np.int64).reshape(-1, 3)[which].T
            for name, (end, limits) in self._ends.items():
                if (info := nodes.find(name)) is not None:
                    away = self._way(end, end, limits)
                    columns[:, info.slot] = _bounded(sums[which[info.slot]].plus(away, -1).plus(_at_home(limits)))
            self._columns = Columns(*columns)
        return self._columns

    def _by_place(self) -> dict[Place, Limits]:
        found: dict[Place, Limits] = {}
        for end, limits in self._ends.values():
            found.setdefault(end, Counter()).update(limits)
        return found

    def _from(self, start: Place, ends: Mapping[Place, Limits]) -> Tally:
        """Return the costs from a node of a place without any of the pods."""
        total = Tally()
        for end, limits in ends.items():
            total = total.plus(self._way(start, end, limits))
        return total

    def _way(self, start: Place, end: Place, limits: Limits) -> Tally:
        """Return the tally of connections from one node to another."""
        count = limits.total()
        if end == NOWHERE:
            return Tally(violated=count, cost=count * UNKNOWN_COST)
        if start == end:
            return Tally(satisfied=count, cost=count * SAME_ZONE_COST)
        cost = self._costs.between(start, end)
        if cost is None:
            return Tally(cost=count * UNKNOWN_COST)
        satisfied = sum(times for limit, times in limits.items() if cost <= limit)
        return Tally(satisfied, count - satisfied, count * cost)


def _at_home(limits: Limits) -> Tally:
    return Tally(satisfied=limits.total())


def _bounded(tally: Tally) -> Tally:
    return tally._replace(cost=min(tally.cost, HIGHEST))


def _places(nodes: Nodes) -> tuple[list[Place], Ints]:
    """Return the distinct places of nodes, and the index of each node's place."""
    region_ids, zone_ids = nodes.label_ids(REGION).astype(np.int64), nodes.label_ids(ZONE)
    regions, zones = nodes.label_values(REGION), nodes.label_values(ZONE)
    pairs, which = np.unique(region_ids * len(zones) + zone_ids, return_inverse=True)
    found = (divmod(pair, len(zones)) for pair in pairs.tolist())
    return [Place(_value(regions, region), _value(zones, zone)) for region, zone in found], which.reshape(-1)


def _value(values: Sequence[str], which: int) -> str:
    return "" if which == ABSENT else values[which]
