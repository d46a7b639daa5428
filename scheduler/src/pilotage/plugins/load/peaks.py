"""Peaks: place pods where they increase power consumption the least."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StrictStr, model_validator

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.config.types import Section
from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.model.label_syntax import key_complaints
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST
from pilotage.plugins.load._shared.arguments import Number
from pilotage.plugins.load._shared.figures import cpu_capacity
from pilotage.plugins.load._shared.load_aware import LoadAware

Floats = NDArray[np.float64]

SCALE = 1e15  # power is counted in units so small that integers are exact enough
STEP = 1000  # units to round to: CPUs differ in the last digits of an exponential, and replicas must agree
MOST = 9e18
WORST = LARGEST  # for a node that is too full, or has no figures
SPELLINGS = {"WatcherAddress": "watcherAddress", "NodePowerModel": "nodePowerModel"}


class PowerModel(Section):
    """The power of a node at x percent of its cores: k0 + k1 * e^(k2 * x), in watts."""

    k0: Number = 0.0
    k1: Number = 0.0
    k2: Number = 0.0


class Peaks(LoadAware):
    """Place pods where they increase power consumption the least, by a power model of each node."""

    node_power_model: dict[str, PowerModel] = Field(
        default={}, description="Power models by the node's name, or by the value of nodePowerModelLabel."
    )
    node_power_model_label: StrictStr = Field(
        default="", description="A node label whose value names a model, for nodes without a model of their own name."
    )

    caching = Caching(STATIC, per=SHAPE)

    @model_validator(mode="before")
    @classmethod
    def _either_spelling(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        # If both are given, the other one stays and is an unknown field.
        return {SPELLINGS[key] if SPELLINGS.get(key, key) not in given else key: value for key, value in given.items()}

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the source or the label."""
        label = self.node_power_model_label
        complaints = key_complaints(label) if label else []
        return super().faults(at) + [invalid((*at, "nodePowerModelLabel"), label, why) for why in complaints]

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the additional power, in small units; the worst score if the pod would not fit or power is unknown."""
        load, model = self.figures(cycle).of(node.name).cpu, self._model(node.name, node.labels)
        capacity = float(cpu_capacity(node.node))
        if load is None or model is None or capacity <= 0:
            return WORST
        return int(_added(*_as_arrays(load.average, capacity, model.k1, model.k2), pod.requests.get("cpu", 0))[0])

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        columns = self.figures(cycle).columns(cycle.nodes)
        models = [self._model(node.name, node.labels) for node in nodes]
        k1 = np.array([np.nan if model is None else model.k1 for model in models])
        k2 = np.array([np.nan if model is None else model.k2 for model in models])
        return _added(nodes.at(columns.cpu), nodes.at(columns.cpu_capacity), k1, k2, pod.requests.get("cpu", 0))

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
        """Scale the least power to 100 and the most to 0; nodes without figures get 0."""
        known = scores != WORST
        if not known.any() or (known.all() and not scores.any()):
            return np.zeros_like(scores)
        powers: list[int] = scores[known].tolist()
        lowest, highest = min(powers), max(powers)
        normalized = np.zeros_like(scores)
        # A Python int, because a hundred times the difference may overflow 64 bits.
        normalized[known] = [MAX_SCORE - (power - lowest) * MAX_SCORE // max(1, highest - lowest) for power in powers]
        return normalized

    def _model(self, name: str, labels: Mapping[str, str]) -> PowerModel | None:
        models = self.node_power_model
        found = models.get(name)
        if found is None and self.node_power_model_label:
            found = models.get(labels.get(self.node_power_model_label, ""))
        return found


def _added(average: Floats, capacity: Floats, k1: Floats, k2: Floats, requested: int) -> Ints:
    """Return the power that a request adds to each node, and a mask of nodes where it is valid."""
    after = 100.0 * (average / 100.0 * capacity + requested) / np.where(capacity > 0, capacity, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        power = k1 * (np.exp(k2 * after) - np.exp(k2 * average)) * SCALE
    usable = (capacity > 0) & (after <= 100.0) & np.isfinite(power)
    within = np.clip(np.where(usable, power, 0.0), -MOST, MOST)
    return np.where(usable, np.trunc(within / STEP).astype(np.int64) * STEP, WORST)


def _as_arrays(*numbers: float) -> tuple[Floats, Floats, Floats, Floats]:
    one, two, three, four = (np.array([number]) for number in numbers)
    return one, two, three, four
