"""The full shape refuses to hide a network that the machine uses."""

import json

import pytest

from cluster import network
from cluster.errors import Problem


def machine_routes(monkeypatch: pytest.MonkeyPatch, *destinations: str) -> None:
    routes = [{"dst": destination, "dev": "eth0"} for destination in destinations]
    monkeypatch.setattr(network, "run", lambda *_: json.dumps(routes))


@pytest.mark.parametrize("destination", ["172.30.0.0/16", "10.0.0.0/8", "10.244.3.7", "10.96.0.0/12"])
def test_an_overlapping_route_is_refused(monkeypatch: pytest.MonkeyPatch, destination: str) -> None:
    machine_routes(monkeypatch, "default", destination)
    with pytest.raises(Problem, match=f"this machine routes {destination} to eth0"):
        network.check_ranges_are_free()


@pytest.mark.parametrize("destination", ["default", "172.17.0.0/16", "192.168.0.0/16", "10.97.0.0/16"])
def test_other_routes_are_fine(monkeypatch: pytest.MonkeyPatch, destination: str) -> None:
    machine_routes(monkeypatch, destination)
    network.check_ranges_are_free()


def test_nodes_and_pods_have_addresses_of_their_own() -> None:
    assert [network.node_address(number) for number in (1, 20)] == ["172.30.0.11", "172.30.0.30"]
    assert network.pod_range(2) == "10.244.2.0/24"
