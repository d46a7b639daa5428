"""What the lines of a watch say."""

from typing import Any

import msgspec
import pytest

from pilotage.cluster.watch.resources import NODES, PODS
from pilotage.cluster.watch.watch_events import (
    Bookmark,
    Deletion,
    EventReader,
    ObjectIdentity,
    ServerError,
    UndecodableObject,
)
from pilotage.cluster.watch.watch_lines import BrokenStream
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodObject

pods = EventReader(PODS)


def pod(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "x", "uid": "1", "resourceVersion": "7"}
    spec = {"nodeName": "n", "schedulerName": "s", "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": metadata, "spec": spec | changes}


def line(kind: str, thing: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": thing})


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED"])
@pytest.mark.parametrize(
    "spell",
    [
        pytest.param(lambda text: text, id="as the API server writes it"),
        pytest.param(lambda text: text.replace(b":", b": ").replace(b",", b", "), id="with spaces"),
        pytest.param(
            lambda text: b'{"object":%s,%s}' % (text[:-1].split(b',"object":')[1], text[1:].split(b",")[0]),
            id="type last",
        ),
        pytest.param(lambda text: text.replace(b'"image":"i"', b'"image":null'), id="with a null"),
        pytest.param(lambda text: text.replace(b'"image":"i"', b'"image":"i","new":[{}]'), id="with an unknown field"),
    ],
)
def test_a_change_is_the_new_state_of_the_object(kind: str, spell: Any) -> None:
    found = pods.event(spell(line(kind, pod())))
    assert isinstance(found, Pod)
    assert (found.key, found.uid, found.node_name, found.metadata.resource_version) == ("x/a", "1", "n", "7")


def test_a_node_is_a_node() -> None:
    found = EventReader(NODES).event(
        line("ADDED", {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2"}}})
    )
    assert isinstance(found, Node)
    assert found.allocatable == {"cpu": 2000}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param(
            {"priority": "high"}, "Expected `int | null`, got `str` - at `$.spec.priority`", id="a wrong type"
        ),
        pytest.param(
            {"containers": [{"resources": {"requests": {"cpu": "1e999x"}}}]}, "is not a quantity", id="a wrong quantity"
        ),
        pytest.param({"overhead": {"memory": "lots"}}, "is not a quantity", id="a wrong overhead"),
    ],
)
def test_an_object_that_cannot_be_decoded_is_still_somebody(changes: dict[str, Any], reason: str) -> None:
    found = pods.event(line("ADDED", pod(**changes)))
    assert isinstance(found, UndecodableObject)
    assert found.metadata == ObjectIdentity("a", "x", "1", "7", "n", "s", "pods", PodObject)
    assert reason in found.reason


def test_who_an_object_is_is_read_leniently() -> None:
    found = pods.event(line("ADDED", {"metadata": {"name": "a", "uid": 5, "labels": 3}, "spec": []}))
    assert isinstance(found, UndecodableObject)
    assert found.metadata == ObjectIdentity("a", resource="pods", shape=PodObject)


def test_the_reason_is_short_however_long_the_object() -> None:
    found = pods.event(line("ADDED", pod(overhead={"cpu": "x" * 5000})))
    assert isinstance(found, UndecodableObject)
    assert len(found.reason) <= 300


@pytest.mark.parametrize(
    "thing", [pytest.param(pod(), id="a good one"), pytest.param(pod(priority="high"), id="one that cannot be decoded")]
)
def test_of_what_is_gone_only_the_name_counts(thing: dict[str, Any]) -> None:
    found = pods.event(line("DELETED", thing))
    assert isinstance(found, Deletion)
    assert (found.metadata.name, found.metadata.namespace) == ("a", "x")
    assert (found.metadata.uid, found.metadata.resource_version) == ("1", "7")


@pytest.mark.parametrize(
    ("annotations", "ends_list"),
    [
        pytest.param({}, False, id="an ordinary one"),
        pytest.param({"annotations": None}, False, id="with a null"),
        pytest.param({"annotations": {"k8s.io/initial-events-end": "true"}}, True, id="the end of the list"),
        pytest.param({"annotations": {"k8s.io/initial-events-end": "false"}}, False, id="not the end of the list"),
    ],
)
def test_bookmarks(annotations: dict[str, Any], ends_list: bool) -> None:
    # A bookmark of pods has a null where a pod must have containers.
    metadata = {"resourceVersion": "12", "creationTimestamp": None, **annotations}
    thing = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": None}, "status": {}}
    assert pods.event(line("BOOKMARK", thing)) == Bookmark("12", ends_list)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(
            {
                "kind": "Status",
                "metadata": {},
                "status": "Failure",
                "message": "too old",
                "reason": "Expired",
                "code": 410,
            },
            (410, "Expired", "too old", None),
            id="an expired version",
        ),
        pytest.param(
            {"message": "wait", "reason": "TooManyRequests", "code": 429, "details": {"retryAfterSeconds": 4}},
            (429, "TooManyRequests", "wait", 4.0),
            id="too many requests",
        ),
        pytest.param({"message": "m"}, (500, "", "m", None), id="no code"),
        pytest.param("boom", (500, "", '"boom"', None), id="no status at all"),
    ],
)
def test_errors(status: Any, expected: tuple[Any, ...]) -> None:
    found = pods.event(line("ERROR", status))
    assert isinstance(found, ServerError)
    error = found.error
    assert (error.status, error.reason, error.message, error.retry_after) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"", id="an empty line"),
        pytest.param(b"garbage", id="no JSON"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(line("ADDED", pod())[:-20], id="half an event"),
        pytest.param(b'{"type":"ADDED"}', id="no object"),
        pytest.param(b'{"type":"ADDED","object":' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="very deep"),
        pytest.param(line("ADDED", {"spec": {}}), id="an object without metadata"),
        pytest.param(line("ADDED", {"metadata": {}}), id="an object without a name"),
        pytest.param(line("ADDED", {"metadata": {"name": None}}), id="an object whose name is null"),
        pytest.param(line("DELETED", {"metadata": {"name": 3}}), id="a deletion of nothing"),
        pytest.param(line("BOOKMARK", {"metadata": {}}), id="a bookmark without a version"),
        pytest.param(line("SURPRISE", pod()), id="an unknown type"),
        pytest.param(b"[1]", id="an array"),
    ],
)
def test_what_is_no_event_breaks_the_stream(text: bytes) -> None:
    with pytest.raises(BrokenStream):
        pods.event(text)
