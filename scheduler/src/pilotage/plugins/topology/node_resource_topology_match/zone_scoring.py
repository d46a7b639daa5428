"""Scores the fit of a pod in the zones of a node, by its worst zone."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np

from pilotage.framework.api.huge_amounts import exact_percentages
from pilotage.framework.api.nodes import Bools, Ids, Ints
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.model.quantity import LARGEST
from pilotage.model.requests import CPU
from pilotage.plugins.topology.node_resource_topology_match.demands import Demand, Part
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import POD, SINGLE
from pilotage.plugins.topology.node_resource_topology_match.zone_columns import ZoneColumns
from pilotage.plugins.topology.node_resource_topology_match.zones import ZoneTable

MILLIS: Final = 1000
LEAST, MOST, BALANCED = "LeastAllocated", "MostAllocated", "BalancedAllocation"


class Strategy(Protocol):
    """The score of one zone for one request; 0 if the zone is unusable."""

    def of(self, wanted: Sequence[int], weights: Sequence[int], have: Sequence[int]) -> int:
        """Return the score of one zone, given requested amounts, weights and available amounts."""

    def of_all(self, wanted: Sequence[int], weights: Sequence[int], have: Sequence[Ints]) -> Ints:
        """Return the same for the zones of many nodes."""


class Allocated:
    """The weighted mean of the used, or of the free, percentage of each resource."""

    def __init__(self, *, most: bool) -> None:
        self._most = most

    def of(self, wanted: Sequence[int], weights: Sequence[int], have: Sequence[int]) -> int:
        """Return the score of one zone."""
        total = 0
        for want, weight, amount in zip(wanted, weights, have, strict=True):
            if 0 < amount >= want:
                total += weight * ((want if self._most else amount - want) * MAX_SCORE // amount)
        return total // sum(weights)

    def of_all(self, wanted: Sequence[int], weights: Sequence[int], have: Sequence[Ints]) -> Ints:
        """Return the same for the zones of many nodes."""
        total = np.zeros_like(have[0])
        for want, weight, amounts in zip(wanted, weights, have, strict=True):
            counts = (amounts > 0) & (amounts >= want)
            part = np.where(counts, want if self._most else amounts - want, 0)
            total += weight * exact_percentages(part, amounts, MAX_SCORE)
        return total // sum(weights)


class Balanced:
    """The balance of the used shares of resources, by their variance; ignores weights."""

    def of(self, wanted: Sequence[int], weights: Sequence[int], have: Sequence[int]) -> int:
        """Return the score of one zone."""
        shares = [float(want) / amount if amount else 1.0 for want, amount in zip(wanted, have, strict=True)]
        if any(share > 1 for share in shares):
            return 0
        return int((1 - _variance(shares)) * MAX_SCORE)

    def of_all(self, wanted: Sequence[int], weights: Sequence[int], have: Sequence[Ints]) -> Ints:
        """Return the same for the zones of many nodes."""
        shares = [
            np.where(amounts == 0, 1.0, want / np.maximum(amounts, 1))
            for want, amounts in zip(wanted, have, strict=True)
        ]
        over = np.any([share > 1 for share in shares], axis=0)
        varied = np.where(over, 1.0, _variance(shares))
        return ((1 - varied) * MAX_SCORE).astype(np.int64)


def _variance(shares: Sequence[np.ndarray] | Sequence[float]) -> np.ndarray | float:
    """Return the variance of a sample; 0 for a single number, where it is undefined."""
    count = len(shares)
    if count == 1:
        return shares[0] * 0.0
    total = squares = rest = shares[0] * 0.0
    for share in shares:
        total = total + share
    mean = total / count
    for share in shares:
        squares = squares + (share - mean) * (share - mean)
        rest = rest + (share - mean)  # zero except for rounding, which this corrects
    return (squares - rest * rest / count) / (count - 1)


class WorstZoneScore:
    """The lowest score of a usable zone, for the pod as a whole or as the mean of its containers."""

    def __init__(self, strategy: Strategy, weights: Mapping[str, int]) -> None:
        self._strategy = strategy
        self._weights = weights

    def score(self, demand: Demand, zones: ZoneTable) -> int:
        """Return the score of one node."""
        if zones.manager.policy != SINGLE:
            return 0
        if zones.manager.scope == POD:
            return self._of_part(demand.pod, zones)
        parts = [part for part in demand.containers if part.requests]
        scores = [self._of_part(part, zones) for part in parts]
        return sum(scores) // len(scores) if scores else MAX_SCORE

    def scores(self, demand: Demand, columns: ZoneColumns, slots: Ids) -> Ints | None:
        """Return the scores of many nodes; None if weights are too large for 64 bits."""
        names = {name for part in (*demand.containers, demand.pod) for name in part.requests}
        if sum(map(self._weight, names)) > LARGEST // MAX_SCORE:
            return None
        by_pod = columns.by_pod[slots]
        scores = np.zeros(len(slots), np.int64)
        scores[by_pod] = self._of_parts((demand.pod,), columns, slots[by_pod])
        scores[~by_pod] = self._of_parts(demand.containers, columns, slots[~by_pod])
        scores[~columns.single[slots]] = 0
        return scores

    def _of_part(self, part: Part, zones: ZoneTable) -> int:
        if not part.requests:
            return MAX_SCORE  # nothing is requested from zones
        wanted, weights = self._wishes(part)
        rows = [
            [
                _whole(name, max(0, zones.available[name][place])) if name in zones.available else 0
                for name in part.requests
            ]
            for place in range(len(zones.ids))
        ]
        scores = [self._strategy.of(wanted, weights, row) for row in rows]
        return min((score for score in scores if score), default=0)

    def _of_parts(self, parts: tuple[Part, ...], columns: ZoneColumns, slots: Ids) -> Ints:
        asking = [part for part in parts if part.requests]
        if not asking:
            return np.full(len(slots), MAX_SCORE, np.int64)
        total = np.zeros(len(slots), np.int64)
        for part in asking:
            wanted, weights = self._wishes(part)
            have = [_wholes(name, np.maximum(columns.available(name, slots), 0)) for name in part.requests]
            zones = self._strategy.of_all(wanted, weights, have)
            zones[~self._exist(columns, slots, zones.shape)] = 0
            lowest = np.where(zones == 0, LARGEST, zones).min(axis=1)
            total += np.where(lowest == LARGEST, 0, lowest)
        return total // len(asking)

    @staticmethod
    def _exist(columns: ZoneColumns, slots: Ids, shape: tuple[int, ...]) -> Bools:
        return np.arange(shape[1]) < columns.zone_count[slots][:, None]

    def _wishes(self, part: Part) -> tuple[list[int], list[int]]:
        wanted = [_whole(name, amount) for name, amount in part.requests.items()]
        return wanted, [self._weight(name) for name in part.requests]

    def _weight(self, resource: str) -> int:
        weight = self._weights.get(resource, 1)
        return weight if weight > 0 else 1


def _whole(resource: str, amount: int) -> int:
    """Return an amount for scoring: cpu in whole cores, rounded up."""
    return -(-amount // MILLIS) if resource == CPU else amount


def _wholes(resource: str, amounts: Ints) -> Ints:
    return -(-amounts // MILLIS) if resource == CPU else amounts
