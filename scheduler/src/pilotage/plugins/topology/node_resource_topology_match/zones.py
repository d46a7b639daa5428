"""The NUMA zones of a node: free amounts and distances."""

import logging
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Final

from pilotage.kinds.node_resource_topology import NodeResourceTopology, Quantity, Zone
from pilotage.model.quantity import NANOS, NANOS_IN_MILLI, InvalidQuantity, parse
from pilotage.model.requests import CPU, MEMORY, Requests
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import TopologyManager

log = logging.getLogger(__name__)

NAME: Final = re.compile("node-(0|[1-9][0-9]?)")
MOST_ZONES: Final = 64
FAR: Final = 255  # the distance to a zone that is not in the report
NOT_THERE: Final = -1  # the amount of a resource that a zone does not have
# Amounts are clamped here, far above any machine, so that percentages fit into 64 bits.
LARGEST: Final = 1 << 53

Amounts = Mapping[str, tuple[int, ...]]  # by resource, one for each zone; NOT_THERE if the zone lacks it


class ZoneTable:
    """The zones of a node in the order of their ids; immutable."""

    def __init__(
        self,
        manager: TopologyManager,
        ids: tuple[int, ...] = (),
        available: Amounts | None = None,
        allocatable: Amounts | None = None,
        distances: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        self.manager = manager
        self.ids = ids
        self.available: Amounts = available or {}
        self.allocatable: Amounts = allocatable or {}
        self.distances = distances

    def __repr__(self) -> str:
        return f"ZoneTable({self.manager}, {dict(zip(self.ids, self.rows(), strict=True))})"

    @classmethod
    def of(cls, topology: NodeResourceTopology) -> "ZoneTable":
        """Parse the zones of a report that are NUMA nodes; others, and invalid ids, are ignored."""
        zones: dict[int, Zone] = {}
        for zone in topology.zones:
            if (number := zone_id(zone)) is not None:
                zones.setdefault(number, zone)
        ordered = [zones[number] for number in sorted(zones)]
        node = topology.metadata.name
        return cls(
            TopologyManager.of(topology),
            tuple(sorted(zones)),
            _columns([{each.name: _amount(node, each.name, each.available) for each in z.resources} for z in ordered]),
            _columns(
                [{each.name: _amount(node, each.name, each.allocatable) for each in z.resources} for z in ordered]
            ),
            tuple(_distances(zone, ordered) for zone in ordered),
        )

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Return a key that is equal for equivalent tables."""
        return self.manager, self.ids, tuple(sorted(self.available.items())), self.distances

    def rows(self) -> list[dict[str, int]]:
        """Return the free amounts of each zone by resource."""
        return [
            {name: amounts[place] for name, amounts in self.available.items() if amounts[place] != NOT_THERE}
            for place in range(len(self.ids))
        ]

    def managed(self, manager: TopologyManager) -> "ZoneTable":
        """Return the same zones with another configuration."""
        if manager == self.manager:
            return self
        return ZoneTable(manager, self.ids, self.available, self.allocatable, self.distances)

    def less(self, taken: Requests) -> "ZoneTable":
        """Return the table with these amounts subtracted from every zone, down to zero."""
        if not any(name in self.available for name in taken):
            return self
        left = dict(self.available)
        for name in taken.keys() & left.keys():
            left[name] = tuple(max(0, have - taken[name]) if have != NOT_THERE else have for have in left[name])
        return ZoneTable(self.manager, self.ids, left, self.allocatable, self.distances)

    def more(self, given_back: Iterable[tuple[int, Requests]]) -> "ZoneTable | None":
        """Return the table with amounts released in zones by id; None if a zone would exceed its capacity."""
        left = {name: list(amounts) for name, amounts in self.available.items()}
        for number, amounts in given_back:
            if number not in self.ids:
                return None
            place = self.ids.index(number)
            for name in amounts.keys() & left.keys():
                if self._accounts_for(name, place):
                    left[name][place] += amounts[name]
                    if left[name][place] > self.allocatable[name][place]:
                        return None
        available = {name: tuple(amounts) for name, amounts in left.items()}
        return ZoneTable(self.manager, self.ids, available, self.allocatable, self.distances)

    def _accounts_for(self, resource: str, place: int) -> bool:
        """Return whether a zone tracks the usage of a resource; without a memory manager, all memory counts as free."""
        have = self.available[resource][place]
        unused = have == self.allocatable[resource][place]
        return have != NOT_THERE and not (unused and (resource == MEMORY or resource.startswith("hugepages-")))


def zone_id(zone: Zone) -> int | None:
    """Return the id of a zone that is a NUMA node, or None."""
    match = NAME.fullmatch(zone.name) if zone.type == "Node" else None
    return int(match[1]) if match and int(match[1]) < MOST_ZONES else None


def _columns(zones: list[dict[str, int]]) -> dict[str, tuple[int, ...]]:
    names = dict.fromkeys(name for zone in zones for name in zone)
    return {name: tuple(zone.get(name, NOT_THERE) for zone in zones) for name in names}


def _distances(zone: Zone, ordered: list[Zone]) -> tuple[int, ...]:
    known = {cost.name: cost.value for cost in zone.costs}
    return tuple(known.get(other.name, FAR) for other in ordered)


def _amount(node: str, resource: str, written: Quantity) -> int:
    """Return an amount, cpu in thousandths, rounded down; 0 for an invalid one."""
    try:
        nanos = parse(written).nanos
    except InvalidQuantity as error:
        _warn(node, resource, str(error))
        return 0
    return max(0, min(nanos // (NANOS_IN_MILLI if resource == CPU else NANOS), LARGEST))


@lru_cache(maxsize=1024)
def _warn(node: str, resource: str, error: str) -> None:
    """Log each problem once: reports arrive every few seconds."""
    log.warning("NodeResourceTopology %s: %s: %s; it counts as 0", node, resource, error)
