"""LoadVariationRiskBalancing: avoid nodes with high or highly variable usage."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.model.node_load import ResourceLoad
from pilotage.model.pod import Pod
from pilotage.plugins.load._shared.arguments import Number
from pilotage.plugins.load._shared.load_aware import NO_FIGURES, LoadAware
from pilotage.plugins.load._shared.pod_use import requests_of
from pilotage.plugins.load._shared.rounding import all_rounded, rounded
from pilotage.plugins.load._shared.shares import mean_and_deviation, means_and_deviations, within

Floats = NDArray[np.float64]
Factor = Annotated[Number, AfterValidator(lambda given: given if given >= 0 else 1.0)]


class LoadVariationRiskBalancing(LoadAware):
    """Prefer nodes with low and steady usage of cpu and memory."""

    safe_variance_margin: Factor = Field(default=1.0, description="The weight of the deviation of the usage.")
    safe_variance_sensitivity: Factor = Field(
        default=1.0, description="Above 1, small deviations count more; below 1, less."
    )

    caching = Caching(STATIC, per=SHAPE)

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return 100 without risk; the riskier of cpu and memory decides."""
        load = self.figures(cycle).of(node.name)
        asked, room = requests_of(pod), node.allocatable
        cpu = None if load.cpu is None else self.safety(load.cpu, asked[0], room.get("cpu", 0))
        memory = None if load.memory is None else self.safety(load.memory, asked[1], room.get("memory", 0))
        known = [each for each in (cpu, memory) if each is not None]
        return rounded(min(known)) if known else NO_FIGURES

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        columns, (cpu, memory) = self.figures(cycle).columns(cycle.nodes), requests_of(pod)
        of_cpu = nodes.at(columns.cpu), nodes.at(columns.cpu_deviation)
        of_memory = nodes.at(columns.memory), nodes.at(columns.memory_deviation)
        safest = np.fmin(  # ignores NaN
            self._safeties(*of_cpu, cpu, nodes.allocatable("cpu").astype(np.float64)),
            self._safeties(*of_memory, memory, nodes.allocatable("memory").astype(np.float64)),
        )
        known = ~np.isnan(safest)
        return np.where(known, all_rounded(np.where(known, safest, 0.0)), NO_FIGURES)

    def safety(self, load: ResourceLoad, requested: int, capacity: int) -> float:
        """Return 100 minus the risk of one resource, half from its mean and half from its deviation; 0 if unknown."""
        if capacity <= 0:
            return 0.0
        mean, deviation = mean_and_deviation(load, float(requested), float(capacity))
        counted = within(self.safe_variance_margin * float(np.power(deviation, self._exponent)))
        return (1.0 - (mean + counted) / 2.0) * 100.0

    def _safeties(self, average: Floats, deviation: Floats, requested: int, capacity: Floats) -> Floats:
        means, deviations = means_and_deviations(average, deviation, float(requested), capacity)
        counted = np.clip(self.safe_variance_margin * np.power(deviations, self._exponent), 0.0, 1.0)
        safe = (1.0 - (means + counted) / 2.0) * 100.0
        return np.where((capacity > 0) | np.isnan(average), safe, 0.0)

    @property
    def _exponent(self) -> float:
        # With a sensitivity of 0, only a deviation of 1 counts.
        return 1.0 / self.safe_variance_sensitivity if self.safe_variance_sensitivity > 0 else float("inf")
