"""The read API of real replicas against a real API server: who sees what, and what a change of leader does to it."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kit.admin import Admin
from kit.api_door import PATIENCE, Door
from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.looking_glass import free_port
from kit.replicas import LEADS, Replica, Replicas, replicas
from pilotage.app.read_api.serving import LEADS as LEADING
from pilotage.testing import node_manifest, pod_manifest

SECRET = "the-secret"


@dataclass(frozen=True)
class Cast:
    """Two replicas, two users, and two namespaces."""

    leader: Replica
    standby: Replica
    ports: tuple[int, int]
    scheduler: str
    viewer: str
    admin: str
    namespaces: tuple[str, str]
    nodes: tuple[str, ...]

    def door(self, token: str, place: int = 0) -> Door:
        """Return the API of a replica, as somebody sees it."""
        return Door(self.ports[place], token)


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait for something, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline, f"this did not happen: {what}"
        time.sleep(0.05)
    return found


@pytest.fixture
def cast(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path) -> Iterator[Cast]:
    """A viewer of one namespace, an admin, and pods that wait and that are placed in both namespaces."""
    kubectl, other = control_plane.kubectl, f"{namespace}-other"
    nodes = tuple(f"{namespace}-n{number}" for number in range(2))
    fake_nodes(*(node_manifest(node, cpu="4") for node in nodes))
    kubectl("create", "namespace", other)
    admins = f"{namespace}-admin"
    try:
        with replicas(control_plane, namespace, tmp_path, 2) as found:
            yield _cast(control_plane, found, (namespace, other), nodes, admins)
    finally:
        kubectl("delete", "namespace", other, "--wait=false")
        kubectl("delete", "clusterrolebinding", admins, "--ignore-not-found")


def _cast(
    control_plane: ControlPlane, found: Replicas, namespaces: tuple[str, str], nodes: tuple[str, ...], admins: str
) -> Cast:
    kubectl, (namespace, other) = control_plane.kubectl, namespaces
    there = ("-n", other)  # all accounts of the other one may do what a scheduler may
    for name in ("viewer", "admin"):
        kubectl(*there, "create", "serviceaccount", name)
    account = f"--serviceaccount={other}"
    kubectl("-n", namespace, "create", "rolebinding", "view", "--clusterrole=view", f"{account}:viewer")
    kubectl("create", "clusterrolebinding", admins, "--clusterrole=cluster-admin", f"{account}:admin")
    # A token that is worth nothing at the API server, and one for everything.
    viewer = kubectl(*there, "create", "token", "viewer", "--audience=pilotage").strip()
    admin = kubectl(*there, "create", "token", "admin").strip()
    ports = free_port(), free_port()
    started = []
    for number, port in enumerate(ports):
        started.append(found.start(number, f"--secure-port={free_port()}", f"--api-port={port}"))
        started[0].until_said(LEADS)
    pods = [
        ("placed", namespace, "100m"),
        ("waits", namespace, "64"),
        (SECRET, other, "64"),
        (f"{SECRET}-2", other, "1m"),
    ]
    control_plane.create(
        [pod_manifest(name, namespace=where, scheduler=found.scheduler, cpu=cpu) for name, where, cpu in pods]
    )
    made = Cast(started[0], started[1], ports, found.scheduler, viewer, admin, namespaces, nodes)
    until(lambda: len(made.door(admin).get("/decisions")["items"]) >= len(pods), "all pods are decided")
    return made


def test_each_user_sees_what_their_rights_allow_and_the_next_leader_answers(
    cast: Cast, control_plane: ControlPlane, namespace: str
) -> None:
    sees_what_the_rights_allow(cast, namespace)
    sees_a_pod_being_bound(cast, control_plane, namespace)
    takes_a_label_with_a_status(control_plane, namespace)
    goes_on_with_the_next_leader(cast)


def sees_what_the_rights_allow(cast: Cast, namespace: str) -> None:
    viewer, admin = cast.door(cast.viewer), cast.door(cast.admin)
    assert viewer.get("/access")["namespaces"] == [namespace]
    assert [each["name"] for each in viewer.get("/queue")["items"]] == ["waits"]
    explained = viewer.get(f"/pods/{namespace}/waits/explain")
    assert explained["groups"][0]["reasons"] == ["Insufficient cpu"]
    paths = ["/queue", "/decisions", f"/pods/{namespace}/placed", f"/pods/{namespace}/waits/explain", "/gangs"]
    seen = json.dumps([viewer.get(path) for path in paths])
    assert [name for name in (SECRET, *cast.namespaces[1:], *cast.nodes) if name in seen] == []
    assert viewer.ask(f"/pods/{cast.namespaces[1]}/{SECRET}")[0] == 403
    assert viewer.ask("/nodes")[0] == 403
    assert cast.door("").ask("/queue")[0] == cast.door("no-token").ask("/queue")[0] == 401
    assert {SECRET, "waits"} <= {each["name"] for each in admin.get("/queue")["items"]}
    assert set(cast.nodes) <= set(admin.get("/nodes")["names"])
    assert admin.get("/overview")["queue"]["unschedulable"] >= 2


def sees_a_pod_being_bound(cast: Cast, control_plane: ControlPlane, namespace: str) -> None:
    with closing(cast.door(cast.viewer).open(f"/events?topics=decisions&namespace={namespace}")) as connection:
        events = connection.getresponse()
        assert events.readline().startswith(b"id: ")
        control_plane.create([pod_manifest("followed", namespace=namespace, scheduler=cast.scheduler, cpu="1m")])
        told = next(line for line in iter(events.readline, b"") if b"followed" in line)
    (decision,) = json.loads(told.removeprefix(b"data: "))["decisions"]
    assert (decision["pod"], decision["outcome"]) == (f"{namespace}/followed", "placed")


def takes_a_label_with_a_status(control_plane: ControlPlane, namespace: str) -> None:
    """The leader labels its pod by the only right to pods that it has."""
    with closing(Admin(control_plane.cluster)) as admin:
        path = f"/api/v1/namespaces/{namespace}/pods/placed"
        for value in ("true", None):
            admin.patch(f"{path}/status", {"metadata": {"labels": {LEADING: value}}})
            assert admin.get(path)["metadata"].get("labels", {}).get(LEADING) == value


def goes_on_with_the_next_leader(cast: Cast) -> None:
    standby = cast.door(cast.admin, 1)
    status, body = standby.ask("/queue")
    assert (status, bool(body["details"]["name"])) == (503, True)
    assert standby.get(f"/pods/{cast.namespaces[0]}/waits/explain")["kind"] == "Explanation"
    cast.leader.running.process.send_signal(signal.SIGKILL)
    cast.standby.until_said(LEADS)
    until(lambda: standby.ask("/queue")[0] == 200, "the next leader answers")
    assert {SECRET, "waits"} <= {each["name"] for each in standby.get("/queue")["items"]}
