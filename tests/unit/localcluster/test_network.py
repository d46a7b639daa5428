"""The full shape takes what is free on a machine, and gives back what is its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localcluster import cgroups, isolation, limits, network
from localcluster.address_plan import Network

OWN = Network("pilotage0", "172.30.0.0/24", "10.244.0.0/19", "10.96.0.0/24")
SECOND = Network("pilotage1", "172.30.1.0/24", "10.244.32.0/19", "10.96.1.0/24")


class Machine:
    """A machine of routes, links, control groups and living folders; remembers what was done to it."""

    def __init__(self, routes: list[str], links: dict[str, str], groups: list[str]) -> None:
        self.routes, self.links, self.groups = routes, links, groups
        self.done: list[str] = []
        self.folders_removed = False

    def run(self, *command: str) -> str:
        if command[1:2] == ("-json",):
            return json.dumps(self._links() if "link" in command else self._routes())
        if command[0] == "sh":
            self.links.pop(command[2].split()[3])
        self.done.append(" ".join(command))
        return ""

    def _links(self) -> list[dict[str, Any]]:
        return [{"ifname": name, **({"ifalias": alias} if alias else {})} for name, alias in self.links.items()]

    def _routes(self) -> list[dict[str, str]]:
        return [{"dst": "default", "dev": "eth0"}, *({"dst": route, "dev": "eth0"} for route in self.routes)]

    def remove_groups(self, bridge: str) -> None:
        self.groups = [group for group in self.groups if not group.startswith(f"{bridge}-")]

    def remove_folders(self) -> None:
        self.folders_removed = True


Make = Callable[..., Machine]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(*routes: str, links: dict[str, str] | None = None, groups: tuple[str, ...] = ()) -> Machine:
        made = Machine(list(routes), {"eth0": "", **(links or {})}, list(groups))
        monkeypatch.setattr(network, "run", made.run)
        monkeypatch.setattr(cgroups, "names", lambda: set(made.groups))
        monkeypatch.setattr(cgroups, "remove", made.remove_groups)
        monkeypatch.setattr(isolation, "make_folders", lambda: None)
        monkeypatch.setattr(isolation, "remove_made_folders", made.remove_folders)
        monkeypatch.setattr(limits, "raise_them", lambda: made.done.append("limits raised"))
        monkeypatch.setattr(limits, "put_them_back", lambda: made.done.append("limits put back"))
        monkeypatch.setattr(network, "processes_of", lambda folder: {1: ""} if folder.name == "runs" else {})
        return made

    return make


def test_the_first_cluster_takes_the_first_of_everything(machine: Make) -> None:
    machine("192.168.0.0/16")
    assert network.find_free([]) == OWN


@pytest.mark.parametrize(
    ("links", "groups", "routes", "recorded"),
    [
        pytest.param({"pilotage0": "/runs"}, (), (OWN.nodes, OWN.pods, OWN.services), [], id="one of another user"),
        pytest.param({}, (), (), [OWN], id="one of ours that has not taken it yet, or has lost it"),
        pytest.param({}, ("pilotage0-1",), (OWN.nodes, OWN.pods, OWN.services), [], id="control groups and routes"),
    ],
)
def test_what_another_cluster_has_is_not_taken(
    machine: Make, links: dict[str, str], groups: tuple[str, ...], routes: tuple[str, ...], recorded: list[Network]
) -> None:
    made = machine(*routes, links=links, groups=groups)
    assert network.find_free(recorded) == SECOND
    assert made.done == []


def test_taking_it_makes_it_visible_to_everybody_and_says_whose_it_is(machine: Make) -> None:
    made = machine()
    network.take(OWN, Path("/state/x"))
    assert made.done == [
        "ip link add pilotage0 type bridge",
        "ip link set pilotage0 alias /state/x",
        "ip address add 172.30.0.1/24 dev pilotage0",
        "ip link set pilotage0 up",
        "ip route add 10.244.0.0/19 dev pilotage0",
        "ip route add 10.96.0.0/24 dev pilotage0",
        "limits raised",
    ]


@pytest.mark.parametrize(
    ("links", "left"),
    [
        pytest.param({"pilotage0": "/none/gone"}, [], id="neither its folder nor a process is there"),
        pytest.param({"pilotage0": "/none/runs"}, ["pilotage0"], id="its folder is gone but it runs"),
        pytest.param({"pilotage0": "/"}, ["pilotage0"], id="its folder is there"),
        pytest.param({"pilotage0": ""}, [], id="nobody said whose it is, and no node is on it"),
        pytest.param({"pilotage0": "", "pilotage0-1": ""}, ["pilotage0", "pilotage0-1"], id="a node is on it"),
        pytest.param({"pilotage-mine": ""}, ["pilotage-mine"], id="a bridge of somebody else with a similar name"),
    ],
)
def test_what_nobody_has_any_more_is_removed_by_the_next(machine: Make, links: dict[str, str], left: list[str]) -> None:
    made = machine(links=links)
    network.find_free([])
    assert [name for name in made.links if name != "eth0"] == left


def test_one_gives_back_its_own_and_nothing_of_the_others(machine: Make) -> None:
    links = {"pilotage1": "/a", "pilotage1-1": "", "pilotage10": "/b", "pilotage10-1": "", "pilotage0": "/c"}
    made = machine(links=links, groups=("pilotage1-1", "pilotage10-1", "pilotage0-1"))
    network.give_back(SECOND, Path("/a"))
    assert sorted(made.links) == ["eth0", "pilotage0", "pilotage10", "pilotage10-1"]
    assert made.groups == ["pilotage10-1", "pilotage0-1"]
    assert not made.folders_removed, "a cluster that runs has mounts there"
    assert "limits put back" not in made.done


def test_the_last_one_also_removes_the_mount_points(machine: Make) -> None:
    made = machine(links={"pilotage0": "/a"})
    network.give_back(OWN, Path("/a"))
    assert list(made.links) == ["eth0"]
    assert made.folders_removed
    assert made.done[-1] == "limits put back"


def test_giving_back_twice_is_no_error_and_what_another_has_taken_meanwhile_stays(machine: Make) -> None:
    made = machine(links={}, groups=("pilotage0-1",))
    network.give_back(OWN, Path("/a"))
    assert made.groups == [], "no bridge: what is left of the groups is nobody's"
    network.give_back(OWN, Path("/a"))
    taken = machine(links={"pilotage0": "/b", "pilotage0-1": ""}, groups=("pilotage0-1",))
    network.give_back(OWN, Path("/a"))
    assert (sorted(taken.links), taken.groups) == (["eth0", "pilotage0", "pilotage0-1"], ["pilotage0-1"])
