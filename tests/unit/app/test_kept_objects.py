"""Whole objects for extenders: exactly those that are there, as they came."""

import json
from typing import Any

import pytest

from pilotage.app.kept_objects import KeptObjects
from pilotage.cluster.watch.known_objects import KnownObjects
from pilotage.cluster.watch.resources import NODES, PODS
from pilotage.cluster.watch.watch_events import Deletion, EventReader, UndecodableObject
from pilotage.model.node import Node
from pilotage.model.pod import Pod


class Sink:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def added(self, new: Any) -> None:
        self.said.append(("added", new))

    def updated(self, old: Any, new: Any) -> None:
        self.said.append(("updated", old, new))

    def deleted(self, last: Any) -> None:
        self.said.append(("deleted", last))

    def undecodable(self, metadata: Any, reason: str) -> None:
        self.said.append(("undecodable", metadata.name, reason))

    def vanished(self, metadata: Any) -> None:
        self.said.append(("vanished", metadata.name))


class World:
    """Pods that come over a watch."""

    def __init__(self) -> None:
        self.sink = Sink()
        self.kept: KeptObjects[Pod] = KeptObjects(PODS, self.sink)
        self.known = KnownObjects(self.kept)
        self._reader = EventReader(self.kept.resource)

    def event(self, kind: str, version: int, *, uid: str = "u", **fields: Any) -> None:
        metadata = {"name": "a", "namespace": "x", "uid": uid, "resourceVersion": str(version)}
        given = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}, **fields}
        event = self._reader.event(json.dumps({"type": kind, "object": given}).encode())
        if isinstance(event, UndecodableObject):
            self.known.lose(event)
        elif isinstance(event, Deletion):
            self.known.remove(event.metadata)
        else:
            assert isinstance(event, Pod)
            self.known.put(event)

    def json(self, uid: str = "u") -> Any:
        found = self.kept.json(uid)
        return None if found is None else json.loads(found)


@pytest.fixture
def world() -> World:
    return World()


def test_everything_is_there_but_the_type(world: World) -> None:
    world.event("ADDED", 1, status={"nobody": "reads this"})
    assert world.json() == {
        "metadata": {"name": "a", "namespace": "x", "uid": "u", "resourceVersion": "1"},
        "spec": {"containers": []},
        "status": {"nobody": "reads this"},
    }
    [(word, pod)] = world.sink.said
    assert (word, pod.key) == ("added", "x/a")


def test_the_newest_counts(world: World) -> None:
    world.event("ADDED", 1)
    world.event("MODIFIED", 2, status={"phase": "Pending"})
    assert world.json()["status"] == {"phase": "Pending"}
    assert [word for word, *_ in world.sink.said] == ["added", "updated"]


def test_what_is_gone_is_let_go(world: World) -> None:
    world.event("ADDED", 1)
    world.event("DELETED", 2)
    assert world.json() is None
    assert world.kept._bytes == {}
    assert world.sink.said[-1][0] == "deleted"


def test_a_successor_has_bytes_of_its_own(world: World) -> None:
    world.event("ADDED", 1)
    world.event("ADDED", 2, uid="successor")
    assert world.json() is None
    assert world.json("successor")["metadata"]["uid"] == "successor"
    assert [word for word, *_ in world.sink.said] == ["added", "deleted", "added"]


def test_what_cannot_be_understood_is_passed_on_and_not_kept(world: World) -> None:
    world.event("ADDED", 1)
    world.event("MODIFIED", 2, spec={"containers": "none"})
    assert world.kept._bytes == {}
    assert world.sink.said[1][0] == "deleted"
    assert world.sink.said[2] == ("undecodable", "a", "Expected `array`, got `str` - at `$.spec.containers`")
    world.event("DELETED", 3, spec={"containers": "none"})
    assert world.sink.said[3:] == [("vanished", "a")]


def test_nulls_are_as_good_as_nothing(world: World) -> None:
    world.event("ADDED", 1, spec={"containers": [], "tolerations": None})
    assert world.json()["spec"] == {"containers": []}
    assert world.sink.said[0][0] == "added"


def test_nodes_too() -> None:
    kept: KeptObjects[Node] = KeptObjects(NODES, Sink())
    node = EventReader(kept.resource).object(
        b'{"kind":"Node","metadata":{"name":"n1","uid":"n"},"spec":{"podCIDR":"x"}}'
    )
    assert isinstance(node, Node)
    found = kept.json("n")
    assert found is not None
    assert json.loads(found) == {"metadata": {"name": "n1", "uid": "n"}, "spec": {"podCIDR": "x"}}
    assert kept.json("unknown") is None
