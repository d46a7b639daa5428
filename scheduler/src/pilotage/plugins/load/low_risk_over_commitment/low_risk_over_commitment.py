"""LowRiskOverCommitment: avoid nodes whose pods may need more resources than the node has."""

from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from pilotage.config.types import Int64
from pilotage.framework.api.caching import NODE, SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import PreScore
from pilotage.framework.api.verdicts import SKIP, SKIP_SHAPE, Skip
from pilotage.model.node_load import ResourceLoad
from pilotage.model.pod import Pod
from pilotage.plugins.load._shared.arguments import Number
from pilotage.plugins.load._shared.load_aware import NO_FIGURES, LoadAware
from pilotage.plugins.load._shared.pod_use import CPU, MEMORY, limits_of, requests_of
from pilotage.plugins.load._shared.rounding import all_rounded, rounded
from pilotage.plugins.load._shared.shares import within
from pilotage.plugins.load.low_risk_over_commitment.commitments import Commitments, committed
from pilotage.plugins.load.low_risk_over_commitment.overcommitment import limit_risk, limit_risks, load_risk

DEFAULT_WINDOW = 5
DEFAULT_WEIGHT = 0.5


class LowRiskOverCommitment(LoadAware, PreScore):
    """Prefer nodes whose limits exceed their capacity only slightly, and whose pods rarely use more than requested."""

    smoothing_window_size: Annotated[Int64, AfterValidator(lambda given: given if given > 0 else DEFAULT_WINDOW)] = (
        Field(default=DEFAULT_WINDOW, description="The number of measurements over which the usage is smoothed.")
    )
    risk_limit_weights: dict[str, Number] = Field(
        default={CPU: DEFAULT_WEIGHT, MEMORY: DEFAULT_WEIGHT},
        description="The weight of limits against measured usage, from 0 to 1, for cpu and memory.",
    )

    caching = Caching(NODE, per=SHAPE)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._commitments = Commitments()

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Skip pods without requests, and all pods while there are no metrics."""
        if not any(limits_of(pod)):
            return SKIP_SHAPE
        return None if self.figures(cycle).by_name else SKIP

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return 100 without risk; the riskier of cpu and memory decides."""
        load = self.figures(cycle).of(node.name)
        if not load.is_known:
            return NO_FIGURES
        if not any(limits_of(pod)):
            return 0
        asked, limits = committed(node)
        measured = {CPU: load.cpu, MEMORY: load.memory}
        risks = [
            self.risk(
                resource,
                measured[resource],
                node.allocatable.get(resource, 0),
                before=(asked[row], limits[row]),
                pod=(requests_of(pod)[row], limits_of(pod)[row]),
            )
            for row, resource in enumerate(measured)
        ]
        return rounded(100.0 * (1.0 - max(risks)))

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        figures, known = self.figures(cycle), self._commitments
        columns = figures.columns(cycle.nodes)
        unknown = nodes.at(np.isnan(columns.cpu) & np.isnan(columns.memory))
        if not any(limits_of(pod)):
            return np.where(unknown, NO_FIGURES, 0)
        known.update(cycle.nodes, figures, self.smoothing_window_size)
        risks = np.zeros(len(nodes))
        for row, (resource, weight) in enumerate(self._weights.items()):
            capacity = nodes.allocatable(resource).astype(np.float64)
            requested = np.minimum(nodes.at(known.requested[row]) + requests_of(pod)[row], capacity)
            limit = nodes.at(known.limit[row]) + limits_of(pod)[row]
            by_limit = limit_risks(requested, limit, capacity)
            risk = np.clip(weight * by_limit + (1.0 - weight) * nodes.at(known.risk[row]), 0.0, 1.0)
            risks = np.maximum(risks, risk)
        return np.where(unknown, NO_FIGURES, all_rounded(100.0 * (1.0 - risks)))

    def risk(
        self,
        resource: str,
        load: ResourceLoad | None,
        capacity: float,
        *,
        before: tuple[float, float],
        pod: tuple[float, float],
    ) -> float:
        """Return the risk of one resource; the pairs are requests and limits of the placed pods and of the pod."""
        capacity, weight = float(capacity), self._weights[resource]
        by_limit = limit_risk(min(before[0] + pod[0], capacity), float(before[1] + pod[1]), capacity)
        window = self.smoothing_window_size
        by_load = load_risk(load, min(float(before[0]), capacity), float(before[1]), capacity, window)
        return within(weight * by_limit + (1.0 - weight) * by_load)

    @cached_property
    def _weights(self) -> dict[str, float]:
        given = {resource: self.risk_limit_weights.get(resource, DEFAULT_WEIGHT) for resource in (CPU, MEMORY)}
        return {resource: weight if 0 <= weight <= 1 else DEFAULT_WEIGHT for resource, weight in given.items()}
