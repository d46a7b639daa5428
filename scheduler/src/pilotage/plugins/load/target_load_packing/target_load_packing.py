"""TargetLoadPacking: fill nodes up to a target cpu utilization, and spread pods above it."""

import math
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, invalid
from pilotage.config.types import Int64
from pilotage.framework.api.caching import NODE, SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import FollowsPods
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Amounts
from pilotage.model.quantity import InvalidQuantity, milli_value_of
from pilotage.plugins.load._shared.figures import LoadFigures, cpu_capacity
from pilotage.plugins.load._shared.load_aware import NO_FIGURES, LoadAware
from pilotage.plugins.load._shared.pod_use import predicted_cpu
from pilotage.plugins.load._shared.rounding import all_rounded, rounded
from pilotage.plugins.load.target_load_packing.recent_pods import RecentPods

DEFAULT_TARGET = 40


class TargetLoadPacking(LoadAware, FollowsPods):
    """Fill nodes up to a target of measured cpu utilization, and spread pods above it."""

    target_utilization: Annotated[Int64, AfterValidator(lambda given: given if given > 0 else DEFAULT_TARGET)] = Field(
        default=DEFAULT_TARGET, description="The target cpu utilization of nodes, in percent."
    )
    default_requests: Amounts = Field(
        default={"cpu": "1000m"}, description="The cpu counted for a container without request and limit."
    )
    default_requests_multiplier: StrictStr = Field(
        default="1.5", description="The factor on the request of a container without a limit."
    )

    caching = Caching(NODE, per=SHAPE)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._recent = RecentPods()

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the source, the target or the defaults."""
        found = super().faults(at)
        if self.target_utilization > 100:
            place, detail = (*at, "targetUtilization"), "no node can use more than 100 percent"
            found.append(invalid(place, self.target_utilization, detail))
        if not math.isfinite(self._multiplier) or self._multiplier < 0:
            written = f'parsing "{self.default_requests_multiplier}": invalid syntax'
            text = f"unable to parse DefaultRequestsMultiplier: {written}"
            hint = 'write a number of at least 0 in quotes, such as "1.5"'
            found.append(Fault(Stage.PROFILES, text, (*at, "defaultRequestsMultiplier"), hint))
        try:
            _ = self._default
        except InvalidQuantity as error:
            found.append(invalid((*at, "defaultRequests", "cpu"), self.default_requests["cpu"], str(error)))
        return found

    def pod_placed(self, pod: Pod) -> None:
        """Record when a pod arrived on its node."""
        self._recent.placed(pod, self._view.clock())

    def pod_left(self, pod: Pod) -> None:
        """Record that a pod has left."""
        self._recent.left(pod)

    def figures(self, cycle: Cycle) -> LoadFigures:
        """Return the current figures; from the first call on, placed pods count as recent."""
        self._recent.is_asked = True
        return super().figures(cycle)

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the highest score at the target, lower scores below it, and much lower ones above."""
        load = self.figures(cycle).of(node.name)
        if load.cpu is None:
            return NO_FIGURES
        capacity = cpu_capacity(node.node)
        more = self._use(pod) + self._recent.unnoticed(node.name, load.until, self._use)
        share = 100.0 * (load.cpu.average / 100.0 * capacity + more) / capacity if capacity > 0 else 0.0
        return self._score(max(0.0, share))

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        columns, target = self.figures(cycle).columns(cycle.nodes), self.target_utilization
        more = np.full(len(columns.cpu), self._use(pod), np.float64)
        for name in self._recent.nodes():
            if (info := cycle.nodes.find(name)) is not None:
                more[info.slot] += self._recent.unnoticed(name, columns.until[info.slot], self._use)
        cpu, capacity, more = nodes.at(columns.cpu), nodes.at(columns.cpu_capacity), nodes.at(more)
        some = np.where(capacity > 0, capacity, 1.0)
        shares = np.maximum(0.0, np.where(capacity > 0, 100.0 * (cpu / 100.0 * capacity + more) / some, 0.0))
        above = target * (100 - shares) / max(1, 100 - target)
        below = (100 - target) * shares / target + target
        known = ~np.isnan(cpu)
        scores = np.where(shares > 100, 0.0, np.where(shares > target, above, below))
        return np.where(known, all_rounded(np.where(known, scores, 0.0)), NO_FIGURES)

    def _score(self, share: float) -> int:
        target = self.target_utilization
        if share > 100:
            return 0
        if share > target:
            return rounded(target * (100 - share) / (100 - target))
        return rounded((100 - target) * share / target + target)

    def _use(self, pod: Pod) -> int:
        question = "predicted cpu", self._default, self._multiplier
        return pod.shape.remember(question, lambda shape: predicted_cpu(shape, self._default, self._multiplier))

    @cached_property
    def _default(self) -> int:
        return max(0, milli_value_of(self.default_requests.get("cpu", 0)))

    @cached_property
    def _multiplier(self) -> float:
        try:
            return float(self.default_requests_multiplier)
        except ValueError:
            return float("nan")
