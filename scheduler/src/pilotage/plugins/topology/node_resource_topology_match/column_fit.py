"""The checks of `fit` for many nodes at once."""

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, Ints, Nodes
from pilotage.framework.api.verdicts import Codes, Rejection
from pilotage.plugins.topology.node_resource_topology_match.demands import (
    APP,
    INIT,
    SIDECAR,
    WHOLE,
    Demand,
    Part,
    is_host_level,
)
from pilotage.plugins.topology.node_resource_topology_match.fit import CANNOT_ALIGN
from pilotage.plugins.topology.node_resource_topology_match.zone_columns import ZoneColumns
from pilotage.plugins.topology.node_resource_topology_match.zones import NOT_THERE

KINDS = (INIT, SIDECAR, APP, WHOLE)
MISFITS: tuple[Rejection, ...] = tuple(CANNOT_ALIGN[kind] for kind in KINDS)


def misfits(demand: Demand, columns: ZoneColumns, nodes: Nodes) -> Codes:
    """Return for each node 0 if the pod fits, otherwise the index of the reason in MISFITS plus one."""
    codes = np.zeros(len(nodes), np.uint16)
    checked = columns.single[nodes.slots]
    by_pod = columns.by_pod[nodes.slots]
    for scope, parts in ((checked & by_pod, (demand.pod,)), (checked & ~by_pod, demand.containers)):
        places = np.flatnonzero(scope)
        if len(places):
            codes[places] = _Alignment(demand, columns, nodes.take(places.astype(np.int32))).codes(parts)
    return codes


class _Alignment:
    """Aligns containers to zones one after the other, on all nodes at once."""

    def __init__(self, demand: Demand, columns: ZoneColumns, nodes: Nodes) -> None:
        self._demand = demand
        self._columns = columns
        self._nodes = nodes
        self._slots: Ids = nodes.slots
        self._left: dict[str, Ints] = {}

    def codes(self, parts: tuple[Part, ...]) -> Codes:
        codes = np.zeros(len(self._nodes), np.uint16)
        for part in parts:
            possible, fits = self._possible(part)
            failed = ~fits & (codes == 0)
            codes[failed] = KINDS.index(part.kind) + 1
            if part.keeps:
                self._take(part, possible.argmax(axis=1), fits)
        return codes

    def _possible(self, part: Part) -> tuple[Bools, Bools]:
        """Return the zones with all requested resources, any zone if none are needed, and nodes with such a zone."""
        possible: Bools | None = None
        fits = np.ones(len(self._nodes), np.bool_)
        for name, amount in part.requests.items():
            if amount <= 0:
                continue
            left = self._of(name)
            known = left != NOT_THERE
            bits = left >= amount if self._demand.pinned(name) else known
            if is_host_level(name):
                bits = bits | ~known.any(axis=1, keepdims=True)
            possible = bits if possible is None else possible & bits
            fits &= self._nodes.allocatable(name) > 0
        if possible is None:
            return np.ones((len(self._nodes), 1), np.bool_), fits
        return possible, fits & possible.any(axis=1)

    def _take(self, part: Part, places: Ids, fits: Bools) -> None:
        rows = np.arange(len(places))
        for name, amount in part.requests.items():
            if amount > 0 and self._demand.pinned(name):
                left = self._of(name)
                taken = fits & (left[rows, places] != NOT_THERE)
                left[rows[taken], places[taken]] -= amount

    def _of(self, resource: str) -> Ints:
        found = self._left.get(resource)
        if found is None:
            found = self._left[resource] = self._columns.available(resource, self._slots)
        return found
