"""Recent load metrics of nodes, by name and as columns over all slots."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.handle import LoadSource
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.objects import Objects
from pilotage.kinds.node_metrics import NodeMetrics, capacity_of, load_of
from pilotage.model.node import Node
from pilotage.model.node_load import Loads, NodeLoad, ResourceLoad
from pilotage.model.quantity import Quantity

Floats = NDArray[np.float64]

NOTHING = ResourceLoad(float("nan"), float("nan"))
UNKNOWN = NodeLoad()


class LoadColumns(NamedTuple):
    """Figures by slot: percent, and NaN if not measured."""

    cpu: Floats
    cpu_deviation: Floats
    memory: Floats
    memory_deviation: Floats
    until: Floats  # when the measurement ended
    cpu_capacity: Floats  # in thousandths


class LoadFigures:
    """Recent figures; the version grows when they change."""

    def __init__(self, by_name: Loads, version: int = 0) -> None:
        self.by_name = by_name
        self.version = version
        self._columns: tuple[Nodes, int, LoadColumns] | None = None

    def of(self, node: str) -> NodeLoad:
        """Return the load of a node."""
        return self.by_name.get(node, UNKNOWN)

    def columns(self, nodes: Nodes) -> LoadColumns:
        """Return the same by slot, for all nodes of a cluster."""
        known = self._columns
        if known is None or known[1] != nodes.static_version or not known[0].same_cluster(nodes):
            known = self._columns = nodes, nodes.static_version, self._built(nodes)
        return known[2]

    def _built(self, nodes: Nodes) -> LoadColumns:
        loads = [self.of(node.name) for node in nodes]
        rows = [(*(load.cpu or NOTHING), *(load.memory or NOTHING), load.until) for load in loads]
        cpu, cpu_deviation, memory, memory_deviation, until = np.array(rows, np.float64).reshape(-1, 5).T.copy()
        capacity = np.fromiter((cpu_capacity(node.node) for node in nodes), np.float64, len(loads))
        return LoadColumns(cpu, cpu_deviation, memory, memory_deviation, until, capacity)


class LoadView:
    """A plugin's source: a collector, or NodeMetrics objects in a simulation."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.time
        self._source: LoadSource | None = None
        self._stale_after = float("inf")
        self._figures = LoadFigures({})
        self._seen: object = None  # the input that the figures were computed from
        self._valid_until = float("inf")

    def connect(self, source: LoadSource, clock: Callable[[], float], stale_after: float) -> None:
        """Use another source."""
        self.clock, self._source, self._stale_after, self._seen = clock, source, stale_after, None

    def figures(self, cycle: Cycle) -> LoadFigures:
        """Return the current figures."""
        if self._source is None:
            self._look_at_objects(cycle)
        else:
            self._look_at(self._source.loads)
        return self._figures

    def _look_at(self, loads: Loads) -> None:
        now = self.clock()
        if loads is self._seen and now <= self._valid_until:
            return
        fresh = {name: load for name, load in loads.items() if load.until + self._stale_after >= now}
        oldest = min((load.until for load in fresh.values()), default=float("inf"))
        self._valid_until = oldest + self._stale_after
        self._replace(fresh, loads)

    def _look_at_objects(self, cycle: Cycle) -> None:
        """Accept figures of any age: manifests for a simulation may be old."""
        seen = _Objects(cycle.objects, cycle.objects.version(NodeMetrics), cycle.nodes.static_version)
        if isinstance(self._seen, _Objects) and self._seen.are(seen):
            return
        now = self.clock()
        found = ((metrics, cycle.nodes.find(metrics.metadata.name)) for metrics in cycle.objects.all(NodeMetrics))
        loads = {info.name: load_of(metrics, info.node, now) for metrics, info in found if info is not None}
        self._replace({name: load for name, load in loads.items() if load.is_known}, seen)

    def _replace(self, loads: Loads, seen: object) -> None:
        self._seen = seen
        self._figures = LoadFigures(loads, self._figures.version + 1)


class _Objects(NamedTuple):
    """The state of API objects and nodes."""

    of: Objects
    version: int
    nodes: int

    def are(self, other: "_Objects") -> bool:
        return self.of is other.of and self[1:] == other[1:]


def cpu_capacity(node: Node) -> int:
    """Return the cores of a node, for pods or not, in thousandths."""
    return Quantity(capacity_of(node, "cpu")).milli_value()
