"""The full shape refuses to hide a network that the machine uses."""

import json

import pytest

from cluster import network
from cluster.errors import Problem


def machine(monkeypatch: pytest.MonkeyPatch, routes: list[str], links: list[str]) -> list[str]:
    """A machine with these routes and links; gives the links that are deleted on it."""
    answers = {
        "route": json.dumps([{"dst": destination, "dev": "eth0"} for destination in routes]),
        "link": json.dumps([{"ifname": link} for link in links]),
    }
    deleted: list[str] = []

    def run(*command: str) -> str:
        if command[0] == "sh":
            deleted.append(command[2].split()[3])
        return answers.get(command[2], "")

    monkeypatch.setattr(network, "run", run)
    return deleted


@pytest.mark.parametrize("destination", ["172.30.0.0/16", "10.0.0.0/8", "10.244.3.7/32", "10.96.0.0/12"])
def test_an_overlapping_route_is_refused(monkeypatch: pytest.MonkeyPatch, destination: str) -> None:
    machine(monkeypatch, ["default", destination], ["eth0"])
    with pytest.raises(Problem, match=f"this machine routes {destination} to eth0"):
        network.check_free()


@pytest.mark.parametrize("destination", ["default", "172.17.0.0/16", "192.168.0.0/16", "10.97.0.0/16"])
def test_other_routes_are_fine(monkeypatch: pytest.MonkeyPatch, destination: str) -> None:
    assert machine(monkeypatch, [destination], ["eth0"]) == []
    network.check_free()


def test_the_bridge_of_a_killed_cluster_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    deleted = machine(monkeypatch, ["default"], ["eth0", "pilotage0"])
    network.check_free()
    assert deleted == ["pilotage0"]


def test_the_network_of_a_running_cluster_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    deleted = machine(monkeypatch, ["default"], ["eth0", "pilotage0", "pilotage0-1"])
    with pytest.raises(Problem, match="One full cluster fits on a machine, and one that is not in"):
        network.check_free()
    assert deleted == []


def test_nodes_and_pods_have_addresses_of_their_own() -> None:
    assert [network.node_address(number) for number in (1, 20)] == ["172.30.0.11", "172.30.0.30"]
    assert network.pod_range(2) == "10.244.2.0/24"
