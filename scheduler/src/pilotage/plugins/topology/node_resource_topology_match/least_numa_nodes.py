"""Scores nodes by the number of zones that a pod needs, and by their distance."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from pilotage.framework.api.nodes import Ids, Ints
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.model.requests import Requests
from pilotage.plugins.topology.node_resource_topology_match.demands import Demand, is_host_level
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import POD
from pilotage.plugins.topology.node_resource_topology_match.zone_columns import ZoneColumns
from pilotage.plugins.topology.node_resource_topology_match.zones import NOT_THERE, ZoneTable

LEAST_NUMA_NODES = "LeastNUMANodes"
MOST_COMBINATIONS: Final = 1 << 14  # of one size; trying more takes too long

Left = dict[str, list[int]]
Places = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The zones for a request, and whether they have the minimum distance for their number."""

    places: Places
    nearest: bool


class FewestZonesScore:
    """Fewer zones are better, under any policy; then a smaller distance between them."""

    def score(self, demand: Demand, zones: ZoneTable) -> int:
        """Return the score of one node."""
        left = {name: list(amounts) for name, amounts in zones.available.items()}
        count, nearest = 0, True
        for part in (demand.pod,) if zones.manager.scope == POD else demand.containers:
            wanted = {name: amount for name, amount in part.requests.items() if amount > 0}
            if not any(_known(left, name) for name in wanted):
                continue  # none of its resources belong to a zone
            found = _fewest(wanted, left, zones)
            if found is None:
                return 0
            _take(wanted, left, found.places)
            count, nearest = max(count, len(found.places)), nearest and found.nearest
        return _score(count, nearest, zones.manager.max_numa_nodes) if count else MAX_SCORE

    def scores(self, demand: Demand, columns: ZoneColumns, slots: Ids) -> Ints:
        """Return the scores of many nodes, computed once for equal nodes."""
        answers: dict[tuple[object, ...], int] = {}
        scores = np.zeros(len(slots), np.int64)
        for place, slot in enumerate(slots.tolist()):
            zones = columns.view(slot)
            if isinstance(zones, ZoneTable):
                known = answers.get(zones.key)
                if known is None:
                    known = answers[zones.key] = self.score(demand, zones)
                scores[place] = known
        return scores


def _score(count: int, nearest: bool, most: int) -> int:
    step = MAX_SCORE // most
    return max(0, MAX_SCORE - count * step + (step // 2 if nearest else 0))


def _fewest(wanted: Requests, left: Left, zones: ZoneTable) -> Found | None:
    total = len(zones.ids)
    counted = {name: amount for name, amount in wanted.items() if _known(left, name) or not is_host_level(name)}
    for size in range(1, total + 1):
        if comb(total, size) > MOST_COMBINATIONS:
            return None
        fitting = [places for places in combinations(range(total), size) if _fits(counted, left, places)]
        if fitting:
            best = min(fitting, key=lambda places: _distance(zones, places))  # the first of equals
            return Found(best, _distance(zones, best) == min(_distances(zones, size)))
    return None


def _fits(wanted: Requests, left: Left, places: Places) -> bool:
    for name, amount in wanted.items():
        amounts = left.get(name)
        if amounts is None:
            return False
        have = [amounts[place] for place in places]
        if NOT_THERE in have or sum(have) < amount:
            return False
    return True


def _take(wanted: Requests, left: Left, places: Places) -> None:
    for name, amount in wanted.items():
        for place in places if _known(left, name) else ():
            taken = min(amount, left[name][place])
            left[name][place] -= taken
            amount -= taken


def _known(left: Left, resource: str) -> bool:
    return any(amount != NOT_THERE for amount in left.get(resource, ()))


def _distance(zones: ZoneTable, places: Places) -> int:
    """Return the sum of all distances, which orders sets of the same size like the mean."""
    return sum(zones.distances[one][other] for one in places for other in places)


def _distances(zones: ZoneTable, size: int) -> Iterator[int]:
    return (_distance(zones, places) for places in combinations(range(len(zones.ids)), size))
