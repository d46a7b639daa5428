"""The network costs between regions and zones of a cluster."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pilotage.kinds.app_network import NetworkTopology

REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"


class Place(NamedTuple):
    """The region and zone of a node; "" if it lacks the label."""

    region: str = ""
    zone: str = ""


NOWHERE = Place()


def place_of(labels: Mapping[str, str]) -> Place:
    """Return region and zone of a node with these labels."""
    return Place(labels.get(REGION, ""), labels.get(ZONE, ""))


class NetworkCosts:
    """One set of costs of a NetworkTopology; regions and zones may share names."""

    def __init__(self, topology: NetworkTopology, weights: str) -> None:
        self.complaints: list[str] = []
        names = [entry.name for entry in topology.spec.weights]
        if weights not in names:
            given = ", ".join(dict.fromkeys(names)) or "none"
            self.complaints.append(f"it has no weights named {weights!r:.80} (there are: {given:.200})")
        self._by_key: dict[str, dict[tuple[str, str], int]] = {REGION: {}, ZONE: {}}
        for key, origin, destination, cost in _entries(topology, weights):
            if cost < 0:
                self.complaints.append(f"the cost from {origin!r:.80} to {destination!r:.80} is {cost}, below zero")
            elif key in self._by_key:
                self._by_key[key][origin, destination] = cost

    def between(self, start: Place, end: Place) -> int | None:
        """Return the cost between two zones of a region, or between two regions; None if it is not listed."""
        if start.region == end.region:
            return self._by_key[ZONE].get((start.zone, end.zone))
        return self._by_key[REGION].get((start.region, end.region))


def _entries(topology: NetworkTopology, weights: str) -> Iterator[tuple[str, str, str, int]]:
    for entry in topology.spec.weights:
        if entry.name == weights:
            for listed in entry.topology_list:
                for origin in listed.origin_list:
                    for cost in origin.cost_list:
                        yield listed.topology_key, origin.origin, cost.destination, cost.network_cost
