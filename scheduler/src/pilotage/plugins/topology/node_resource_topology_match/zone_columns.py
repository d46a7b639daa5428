"""The zones of all nodes as arrays by slot: one row for each node, one column for each of its zones."""

from collections.abc import Callable
from enum import Enum
from typing import Final

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, Ints, Nodes
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import POD, SINGLE
from pilotage.plugins.topology.node_resource_topology_match.zones import NOT_THERE, ZoneTable


class Stale(Enum):
    """Marks a node whose report must not be trusted now."""

    STALE = "stale"


STALE: Final = Stale.STALE
View = ZoneTable | Stale | None  # None if there is no report about the node
FLAGS: Final = ("reported", "stale", "single", "by_pod", "zone_count")


class ZoneColumns:
    """A copy of the zones of all nodes of a cluster; `refresh` brings it up to date."""

    def __init__(self, nodes: Nodes | None = None) -> None:
        self._nodes = nodes
        self._state: object = None
        self._names: list[str] = []
        self._views: list[View] = []
        self._width = 1  # zones; at least one, so that a row is never empty
        self.reported: Bools = np.zeros(0, np.bool_)
        self.stale: Bools = np.zeros(0, np.bool_)
        self.single: Bools = np.zeros(0, np.bool_)
        self.by_pod: Bools = np.zeros(0, np.bool_)
        self.zone_count: Ints = np.zeros(0, np.int64)
        self._available: dict[str, Ints] = {}

    def is_of(self, nodes: Nodes) -> bool:
        """Return whether these nodes are of the same cluster."""
        return self._nodes is not None and self._nodes.same_cluster(nodes)

    def refresh(self, nodes: Nodes, view: Callable[[str], View], state: object, touched: set[str]) -> None:
        """Update all nodes of the cluster if the state is new, otherwise the touched ones, and clear that set."""
        if self._state != (state, len(nodes)):
            self._resize(len(nodes))
            found = list(nodes)
        else:
            found = [node for name in touched if (node := nodes.find(name)) is not None]
        for node in found:
            self._follow(node.slot, node.name, view(node.name))
        self._state = state, len(nodes)
        touched.clear()

    def available(self, resource: str, slots: Ids) -> Ints:
        """Return a copy of the free amounts of each zone of some nodes; NOT_THERE for an unknown resource."""
        column = self._available.get(resource)
        return np.full((len(slots), self._width), NOT_THERE, np.int64) if column is None else column[slots]

    def view(self, slot: int) -> View:
        """Return the zones of one node."""
        return self._views[slot]

    def _follow(self, slot: int, name: str, view: View) -> None:
        if self._names[slot] == name and self._views[slot] is view:
            return
        self._names[slot], self._views[slot] = name, view
        zones = view if isinstance(view, ZoneTable) else None
        self.reported[slot], self.stale[slot] = view is not None, view is STALE
        self.single[slot] = zones is not None and zones.manager.policy == SINGLE
        self.by_pod[slot] = zones is not None and zones.manager.scope == POD
        self.zone_count[slot] = 0 if zones is None else len(zones.ids)
        for column in self._available.values():
            column[slot] = NOT_THERE
        if zones is not None:
            self._widen(len(zones.ids))
            for resource, amounts in zones.available.items():
                self._column(resource)[slot, : len(amounts)] = amounts

    def _column(self, resource: str) -> Ints:
        column = self._available.get(resource)
        if column is None:
            shape = len(self._names), self._width
            column = self._available[resource] = np.full(shape, NOT_THERE, np.int64)
        return column

    def _widen(self, width: int) -> None:
        if width > self._width:
            more = ((0, 0), (0, width - self._width))
            self._available = {
                name: np.pad(column, more, constant_values=NOT_THERE) for name, column in self._available.items()
            }
            self._width = width

    def _resize(self, count: int) -> None:
        added = count - len(self._names)
        if added < 0:  # moved nodes are among the changed slots, and read again
            self._names, self._views = self._names[:count], self._views[:count]
        self._names += [""] * added
        self._views += [None] * added
        for name in FLAGS:
            setattr(self, name, _sized(getattr(self, name), count))
        self._available = {name: _sized(column, count) for name, column in self._available.items()}


def _sized(array: np.ndarray, count: int) -> np.ndarray:
    if len(array) >= count:
        return array[:count]
    missing = np.full((count - len(array), *array.shape[1:]), NOT_THERE if array.ndim > 1 else 0, array.dtype)
    return np.concatenate([array, missing])
