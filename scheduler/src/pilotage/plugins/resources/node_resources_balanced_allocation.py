"""NodeResourcesBalancedAllocation: balances the utilization of a node's resources."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pilotage.config.documents import At
from pilotage.config.faults import Fault, duplicate, invalid
from pilotage.framework.api.caching import NODE, SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.huge_amounts import bounded, exact_where_huge
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import PreScore, Score
from pilotage.framework.api.resource_scoring import Demands, demands_of
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.scoring_arguments import DEFAULT_RESOURCES, ResourceSpecs
from pilotage.framework.api.verdicts import SKIP_SHAPE, Skip
from pilotage.model.pod import Pod, PodShape
from pilotage.model.requests import is_scalar

Floats = NDArray[np.float64]

HALF = MAX_SCORE // 2
MOST_BITS = 62  # of a non-negative integer


class NodeResourcesBalancedAllocation(PreScore, Score):
    """Prefer nodes whose resource utilization becomes more balanced with the pod."""

    resources: ResourceSpecs = DEFAULT_RESOURCES

    caching = Caching(NODE, per=SHAPE)
    retry_on = ()

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the resources: duplicates, and weights other than 1."""
        found, seen = [], set()
        for i, resource in enumerate(self.resources):
            if resource.name in seen:
                found.append(duplicate((*at, "resources", i, "name"), resource.name))
            if resource.weight != 1:
                found.append(invalid((*at, "resources", i, "weight"), resource.weight, "must be 1"))
            seen.add(resource.name)
        return found

    def epoch(self, cycle: Cycle) -> int:
        """Return a number that changes with the devices that serve scored resources."""
        if not self._scored_scalars:
            return 0
        return self.handle.delegation.epoch([each.resource for each in self._demands(cycle.pod)])

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Skip pods that request none of the resources: they would all go to the same node."""
        return None if self._demands(pod) else SKIP_SHAPE

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return 75 if the balance does not change, up to 100 if it improves, down to 50 if it worsens."""
        demands = self._demands(pod)
        if not demands:
            return 0
        if self._scored_scalars:
            node = self.handle.delegation.with_devices_of(node, [each.resource for each in demands])
        allocatable, requested = node.node.allocatable, node.requested
        before: list[float] = []
        after: list[float] = []
        for resource, _, amount in demands:
            if capacity := allocatable.get(resource, 0):
                used, whole = requested.get(resource, 0), float(capacity)
                before.append(used / whole if used < capacity else 1.0)
                after.append((used + amount) / whole if used + amount < capacity else 1.0)
        return HALF + (HALF + _balance(after) - _balance(before)) // 2

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        demands = self._demands(pod)
        if not demands:
            return 0
        if self._scored_scalars:
            nodes = self.handle.delegation.with_devices(nodes, [each.resource for each in demands])
        return exact_where_huge(
            nodes, lambda some: self._score_ordinary(demands, some), lambda node: self.score(cycle, pod, node)
        )

    def _score_ordinary(self, demands: Demands, nodes: Nodes) -> Ints | int:
        capacities = [nodes.allocatable(resource) for resource, _, _ in demands]
        if all(np.count_nonzero(capacity) == len(nodes) for capacity in capacities):
            return _improvement(demands, capacities, nodes)
        return self._score_by_what_nodes_have(demands, capacities, nodes)

    def _score_by_what_nodes_have(self, demands: Demands, capacities: Sequence[Ints], nodes: Nodes) -> Ints:
        scores = np.empty(len(nodes), np.int64)
        have = _kinds(capacities)
        for kind in np.unique(have).tolist():
            alike = have == kind
            first = int(alike.argmax())
            which = [place for place, capacity in enumerate(capacities) if capacity[first] > 0]
            some = tuple(demands[place] for place in which)
            scores[alike] = _improvement(some, [capacities[place][alike] for place in which], nodes.take(alike))
        return scores

    def _demands(self, pod: Pod) -> Demands:
        return pod.shape.remember(self._question, self._demands_of)

    @cached_property
    def _scored_scalars(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.resources if is_scalar(each.name))

    @cached_property
    def _question(self) -> str:
        # Profiles with other arguments share the shape.
        return f"{self.name} {self.resources!r}"

    def _demands_of(self, shape: PodShape) -> Demands:
        found = demands_of(shape.requests, self.resources)
        return found if any(demand.amount for demand in found) else ()


def _kinds(capacities: Sequence[Ints]) -> Ints:
    """Return a number for each node, which is the same for nodes that have the same resources."""
    if len(capacities) > MOST_BITS:
        return np.unique(np.stack(capacities) > 0, axis=1, return_inverse=True)[1].reshape(-1)
    have = np.zeros(len(capacities[0]), np.int64)
    for place, capacity in enumerate(capacities):
        have |= (capacity > 0).astype(np.int64) << place
    return have


def _balance(fractions: Sequence[float]) -> int:
    """Return 100 if all shares are equal, and less with a larger deviation from their mean, at least 50."""
    count, deviation = len(fractions), 0.0
    if count == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif count > 2:
        # Added one by one: `sum` of newer Python versions is more exact, and so gives different results.
        total = squares = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / count
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / count)
    return int((1 - deviation) * MAX_SCORE)


def _improvement(demands: Demands, capacities: Sequence[Ints], nodes: Nodes) -> Ints | int:
    """Return the scores of nodes that have all of the resources."""
    if len(demands) < 2:
        return HALF + HALF // 2  # nothing to balance with
    fractions = [
        _fractions(nodes.requested(resource), amount, capacity)
        for (resource, _, amount), capacity in zip(demands, capacities, strict=True)
    ]
    before, after = _balances(fractions)
    scores: Ints = after - before
    scores += HALF
    scores //= 2
    scores += HALF
    return scores


def _fractions(used: Ints, amount: int, capacity: Ints) -> Floats:
    """Return two rows, without the pod and with it."""
    found = np.empty((2, len(used)))
    found[0] = used
    found[1] = used + bounded(amount)
    found /= capacity.astype(np.float64)
    return np.minimum(found, 1.0, out=found)


def _balances(fractions: Sequence[Floats]) -> Ints:
    if len(fractions) == 2:
        deviation = fractions[0] - fractions[1]
        deviation /= 2
        np.abs(deviation, out=deviation)
    else:
        deviation = _deviations(fractions)
    np.subtract(1.0, deviation, out=deviation)
    deviation *= MAX_SCORE
    return deviation.astype(np.int64)


def _deviations(fractions: Sequence[Floats]) -> Floats:
    # One by one, as in the method for one node: another order would round differently.
    mean, squares = np.zeros_like(fractions[0]), np.zeros_like(fractions[0])
    for fraction in fractions:
        mean += fraction
    mean /= len(fractions)
    for fraction in fractions:
        squares += (fraction - mean) * (fraction - mean)
    squares /= len(fractions)
    return np.sqrt(squares, out=squares)
