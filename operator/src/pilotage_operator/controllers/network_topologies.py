"""Computes a set of costs of a NetworkTopology from measured latencies, beside those of its author."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from pilotage.model.metadata import Metadata
from pilotage.model.node import Node
from pilotage.plugins.network._shared.costs import REGION, ZONE, Place, place_of
from pilotage_operator.controllers.conditions import ConditionState, StoredCondition, conditions, moment, turns
from pilotage_operator.controllers.outcome import Outcome, StatusEvent
from pilotage_operator.controllers.shortest_paths import Costs, shortest_paths
from pilotage_operator.profiles.world import written

NETPERF_COSTS = "NetperfCosts"
CALCULATED = "Calculated"
PREFIX, BETWEEN = "netperf.p90.latency.milliseconds.origin.", ".destination."
MILLISECONDS = re.compile("[0-9]{1,9}")
PAUSE = timedelta(minutes=5)  # between two updates: each one retries all waiting pods
MOST_COMPLAINTS = 3  # in one message


class NetworkTopologySpec(Struct, frozen=True, rename="camel"):
    """The ConfigMap with measurements, and all sets of costs, unmodified: those of others must not be changed."""

    configmap_name: str = ""
    weights: tuple[dict[str, Any], ...] = ()


class NetworkTopologyStatus(Struct, frozen=True, rename="camel"):
    """The stored status."""

    node_count: int = 0
    weight_calculation_time: str = ""
    conditions: tuple[StoredCondition, ...] = ()


class StoredNetworkTopology(Struct, rename="camel"):
    """A NetworkTopology as stored."""

    metadata: Metadata
    spec: NetworkTopologySpec = NetworkTopologySpec()
    status: NetworkTopologyStatus = NetworkTopologyStatus()


@dataclass
class Measurements:
    """The costs between places, from measurements between nodes."""

    regions: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    zones: dict[str, dict[tuple[str, str], list[int]]] = field(default_factory=dict)  # by region
    nodes: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def add(self, start: Place, end: Place, latency: int) -> None:
        """Add one measurement; measurements within a zone are ignored."""
        if start.region != end.region:
            if start.region and end.region:
                self.regions.setdefault((start.region, end.region), []).append(latency)
        elif start.zone != end.zone and start.zone and end.zone:
            between = self.zones.setdefault(start.region, {})
            between.setdefault((start.zone, end.zone), []).append(latency)


def decide(
    topology: StoredNetworkTopology, measured: Mapping[str, str] | None, nodes: Iterable[Node], now: datetime
) -> Outcome:
    """Return the desired spec and status; `measured` is the data of the ConfigMap, None if it does not exist."""
    found = _read(measured or {}, {node.name: place_of(node.labels) for node in nodes})
    if not found.nodes:
        return Outcome(_status(topology, _nothing(topology, measured, found), now))  # earlier measurements stay
    entry = {"name": NETPERF_COSTS, "topologyList": _topology_list(found)}
    weights = [entry if each.get("name") == NETPERF_COSTS else each for each in topology.spec.weights]
    weights += [] if entry in weights else [entry]
    if weights == list(topology.spec.weights):
        time = topology.status.weight_calculation_time or written(now)
        return Outcome(_status(topology, _calculated(found), now, len(found.nodes), time))
    last = moment(topology.status.weight_calculation_time)
    if last is not None and now - last < PAUSE:
        return Outcome({}, again=last + PAUSE)
    status = _status(topology, _calculated(found), now, len(found.nodes), written(now))
    return Outcome(status, spec={"weights": weights})


def status_events(topology: StoredNetworkTopology, status: Mapping[str, Any]) -> list[StatusEvent]:
    """Return the events for a change to this status."""
    return turns(topology.status.conditions, status, {CALCULATED: True})


def _status(
    topology: StoredNetworkTopology, state: ConditionState, now: datetime, nodes: int | None = None, time: str = ""
) -> dict[str, Any]:
    generation = topology.metadata.generation
    told = conditions(topology.status.conditions, {CALCULATED: state}, generation, now)
    status: dict[str, Any] = {"observedGeneration": generation, "conditions": told}
    return status if nodes is None else {"nodeCount": nodes, "weightCalculationTime": time, **status}


def _calculated(found: Measurements) -> ConditionState:
    return ConditionState(True, "Measured", _with_complaints(f"{len(found.nodes)} nodes were measured", found))


def _nothing(
    topology: StoredNetworkTopology, measured: Mapping[str, str] | None, found: Measurements
) -> ConditionState:
    name = f"ConfigMap {topology.metadata.namespace}/{topology.spec.configmap_name}"
    if measured is None:
        text = f"{name} not found: without it there are no measurements, and {NETPERF_COSTS} stay unchanged"
        return ConditionState(False, "ConfigMapNotFound", text)
    text = f"{name} has no latency between two nodes under {PREFIX}<node>{BETWEEN}<node>"
    return ConditionState(False, "NothingMeasured", _with_complaints(text, found))


def _with_complaints(text: str, found: Measurements) -> str:
    more = len(found.complaints) - MOST_COMPLAINTS
    told = [text, *found.complaints[:MOST_COMPLAINTS], *([f"and {more} more"] if more > 0 else [])]
    return "; ".join(told)


# ------------------------------------------------------------------------------------------------------------- reading


def _read(measured: Mapping[str, str], places: Mapping[str, Place]) -> Measurements:
    found = Measurements()
    for key, value in sorted(measured.items()):
        if not key.startswith(PREFIX):
            continue
        ends = _ends(key.removeprefix(PREFIX), places)
        if ends is None:
            found.complaints.append(f"{key[:200]} is ignored: no such nodes")
        elif not MILLISECONDS.fullmatch(value.strip()):
            found.complaints.append(f"{key[:200]} is ignored: {value[:40]!r} is not an integer (milliseconds)")
        else:
            start, end = ends
            found.nodes |= {start, end}
            found.add(places[start], places[end], int(value))
    return found


def _ends(text: str, places: Mapping[str, Place]) -> tuple[str, str] | None:
    """Return the two nodes of a key; their names may contain dots, and even the separator."""
    words = text.split(BETWEEN)
    for count in range(1, len(words)):
        start, end = BETWEEN.join(words[:count]), BETWEEN.join(words[count:])
        if start in places and end in places:
            return start, end
    return None


def _topology_list(found: Measurements) -> list[dict[str, Any]]:
    zones: Costs = {}
    for between in found.zones.values():
        for way, cost in shortest_paths(between).items():
            zones[way] = max(cost, zones.get(way, 0))  # for zones of one name in two regions, the larger cost
    return [
        {"topologyKey": REGION, "originList": _origin_list(shortest_paths(found.regions))},
        {"topologyKey": ZONE, "originList": _origin_list(zones)},
    ]


def _origin_list(costs: Costs) -> list[dict[str, Any]]:
    origins: dict[str, list[dict[str, Any]]] = {}
    for (start, end), cost in sorted(costs.items()):
        origins.setdefault(start, []).append({"destination": end, "networkCost": cost})
    return [{"origin": origin, "costList": listed} for origin, listed in origins.items()]
