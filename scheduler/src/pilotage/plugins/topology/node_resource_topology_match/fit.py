"""Checks whether each container of a pod fits into one zone of a node."""

from collections.abc import Mapping, Sequence

from pilotage.framework.api.verdicts import Rejection
from pilotage.model.requests import Requests
from pilotage.plugins.topology.node_resource_topology_match.demands import (
    APP,
    INIT,
    SIDECAR,
    WHOLE,
    Demand,
    Part,
    is_host_level,
)
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import POD, SINGLE
from pilotage.plugins.topology.node_resource_topology_match.zones import NOT_THERE, ZoneTable

CANNOT_ALIGN = {kind: Rejection(f"cannot align {kind}") for kind in (INIT, SIDECAR, APP, WHOLE)}

Left = dict[str, list[int]]  # by resource, the free amount of each zone


def misfit(demand: Demand, zones: ZoneTable, allocatable: Mapping[str, int]) -> Rejection | None:
    """Return the rejection for what the kubelet could not align, or None."""
    if zones.manager.policy != SINGLE:
        return None
    left = {name: list(amounts) for name, amounts in zones.available.items()}
    for part in (demand.pod,) if zones.manager.scope == POD else demand.containers:
        place = _first_zone(demand, part, left, allocatable)
        if place is None:
            return CANNOT_ALIGN[part.kind]
        if part.keeps:
            _take(demand, part.requests, left, place)
    return None


def _first_zone(demand: Demand, part: Part, left: Left, allocatable: Mapping[str, int]) -> int | None:
    """Return the index of the zone with the lowest id that has all requested resources; 0 if none are needed."""
    possible: set[int] | None = None
    for name, amount in part.requests.items():
        if amount <= 0:
            continue
        if allocatable.get(name, 0) <= 0:
            return None
        amounts: Sequence[int] = left.get(name, ())
        known = {place for place, have in enumerate(amounts) if have != NOT_THERE}
        if not known and is_host_level(name):
            continue
        fitting = {place for place in known if amounts[place] >= amount} if demand.pinned(name) else known
        possible = fitting if possible is None else possible & fitting
        if not possible:
            return None
    return 0 if possible is None else min(possible)


def _take(demand: Demand, requests: Requests, left: Left, place: int) -> None:
    for name, amount in requests.items():
        if amount > 0 and name in left and demand.pinned(name) and left[name][place] != NOT_THERE:
            left[name][place] -= amount
