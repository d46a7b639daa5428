"""Scoring strategies by the free or used resources of a node.

Each strategy has two equivalent methods in integer arithmetic: for one node, and for many nodes as arrays.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from pilotage.framework.api.huge_amounts import bounded, exact_where_huge
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.scoring import MAX_SCORE, BrokenLine
from pilotage.model.requests import CPU, MEMORY, is_scalar, is_tracked


class Demand(NamedTuple):
    """A pod's request of one scored resource."""

    resource: str
    weight: int
    amount: int


Demands = tuple[Demand, ...]


class Weighted(Protocol):
    """A resource in the arguments of a plugin."""

    name: str
    weight: int


def demands_of(requests: Mapping[str, int], resources: Iterable[Weighted]) -> Demands:
    """Return a pod's demands of the scored resources, without scalars that it does not request."""
    found = (Demand(each.name, each.weight, requests.get(each.name, 0)) for each in resources)
    return tuple(each for each in found if is_tracked(each.resource) and (each.amount or not is_scalar(each.resource)))


class Strategy(Protocol):
    """Scores nodes from 0 to 100 by demands and allocatable amounts; resources that a node lacks are ignored."""

    def score(self, demands: Demands, node: NodeInfo) -> int:
        """Return the score of one node."""

    def score_nodes(self, demands: Demands, nodes: Nodes) -> Ints:
        """Return the scores of many nodes, none of which has huge amounts."""


def scores_of(strategy: Strategy, demands: Demands, nodes: Nodes) -> Ints | int:
    """Return the scores of any nodes."""
    return exact_where_huge(
        nodes, lambda some: strategy.score_nodes(demands, some), lambda node: strategy.score(demands, node)
    )


class LeastAllocated:
    """Prefers nodes with the most free resources."""

    def score(self, demands: Demands, node: NodeInfo) -> int:
        """Return the weighted mean of the free percentages."""
        total = weights = 0
        allocatable = node.node.allocatable
        for resource, weight, amount in demands:
            if capacity := allocatable.get(resource, 0):
                free = capacity - _used(node, resource) - amount
                total += weight * (free * MAX_SCORE // capacity) if free > 0 else 0
                weights += weight
        return total // weights if weights else 0

    def score_nodes(self, demands: Demands, nodes: Nodes) -> Ints:
        """Return the same for ordinary nodes."""
        shares: list[Ints] = []
        capacities = [nodes.allocatable(resource) for resource, _, _ in demands]
        for (resource, _, amount), capacity in zip(demands, capacities, strict=True):
            free = capacity - _used_on(nodes, resource)
            free -= bounded(amount)
            np.maximum(free, 0, out=free)
            shares.append(_percentages(free, capacity))
        return _weighted_mean(demands, shares, capacities, len(nodes))


class MostAllocated:
    """Prefers nodes with the least free resources."""

    def score(self, demands: Demands, node: NodeInfo) -> int:
        """Return the weighted mean of the used percentages."""
        total = weights = 0
        allocatable = node.node.allocatable
        for resource, weight, amount in demands:
            if capacity := allocatable.get(resource, 0):
                used = _used(node, resource) + amount
                total += weight * (used * MAX_SCORE // capacity if used < capacity else MAX_SCORE)
                weights += weight
        return total // weights if weights else 0

    def score_nodes(self, demands: Demands, nodes: Nodes) -> Ints:
        """Return the same for ordinary nodes."""
        capacities = [nodes.allocatable(resource) for resource, _, _ in demands]
        shares = _used_percentages(demands, capacities, nodes)
        return _weighted_mean(demands, shares, capacities, len(nodes))


class RequestedToCapacityRatio:
    """Scores the utilization of a resource by a function through given points; zero scores do not count."""

    def __init__(self, points: Sequence[tuple[int, int]]) -> None:
        line = BrokenLine(points)
        self._by_percentage = [line(percentage) for percentage in range(MAX_SCORE + 1)]
        self._table = np.array(self._by_percentage, np.int64)

    def score(self, demands: Demands, node: NodeInfo) -> int:
        """Return the weighted mean of the function's values above zero, rounded."""
        total = weights = 0
        allocatable = node.node.allocatable
        for resource, weight, amount in demands:
            if capacity := allocatable.get(resource, 0):
                used = _used(node, resource) + amount
                value = self._by_percentage[used * MAX_SCORE // capacity if used < capacity else MAX_SCORE]
                if value > 0:
                    total += weight * value
                    weights += weight
        return (2 * total + weights) // (2 * weights) if weights else 0

    def score_nodes(self, demands: Demands, nodes: Nodes) -> Ints:
        """Return the same for ordinary nodes."""
        total, weights = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        capacities = [nodes.allocatable(resource) for resource, _, _ in demands]
        for demand, capacity, share in zip(
            demands, capacities, _used_percentages(demands, capacities, nodes), strict=True
        ):
            values = self._table[share]
            values[capacity == 0] = 0
            total += values * demand.weight
            weights += (values > 0) * np.int64(demand.weight)
        return (2 * total + weights) // np.maximum(2 * weights, 1)


def _used(node: NodeInfo, resource: str) -> int:
    if resource == CPU:
        return node.nonzero_cpu
    return node.nonzero_memory if resource == MEMORY else node.requested.get(resource, 0)


def _used_on(nodes: Nodes, resource: str) -> Ints:
    if resource == CPU:
        return nodes.nonzero_cpu
    return nodes.nonzero_memory if resource == MEMORY else nodes.requested(resource)


def _used_percentages(demands: Demands, capacities: Sequence[Ints], nodes: Nodes) -> list[Ints]:
    found = []
    for (resource, _, amount), capacity in zip(demands, capacities, strict=True):
        used = _used_on(nodes, resource) + bounded(amount)
        np.minimum(used, capacity, out=used)
        found.append(_percentages(used, capacity))
    return found


def _percentages(part: Ints, capacity: Ints) -> Ints:
    """Convert parts of a capacity into percentages, in place; 0 where the capacity is zero."""
    part *= MAX_SCORE
    part //= np.maximum(capacity, 1)
    return part


def _weighted_mean(demands: Demands, shares: Sequence[Ints], capacities: Sequence[Ints], count: int) -> Ints:
    total = np.zeros(count, np.int64)
    for demand, share in zip(demands, shares, strict=True):
        total += share if demand.weight == 1 else share * demand.weight
    if all(np.count_nonzero(capacity) == count for capacity in capacities):
        # Every node has all resources: dividing by a single number is several times faster.
        return total // max(1, sum(demand.weight for demand in demands))
    weights = np.zeros(count, np.int64)
    for demand, capacity in zip(demands, capacities, strict=True):
        weights += (capacity > 0) * np.int64(demand.weight)
    return total // np.maximum(weights, 1)
