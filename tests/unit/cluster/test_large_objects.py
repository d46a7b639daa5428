"""Objects that are decoded in steps, or known by their beginning alone."""

from typing import Any

import msgspec
import pytest

from pilotage.cluster.watch.large_objects import TOO_LONG, LargeReader
from pilotage.cluster.watch.resources import PODS
from pilotage.cluster.watch.watch_events import (
    Bookmark,
    Deletion,
    EventReader,
    ObjectIdentity,
    Skipped,
    UndecodableObject,
)
from pilotage.cluster.watch.watch_lines import BrokenStream, TooLong
from pilotage.model.pod import Pod, PodObject

reader = LargeReader(EventReader(PODS))
METADATA = {"name": "a", "generateName": "a-", "namespace": "x", "uid": "1", "resourceVersion": "7"}
IDENTITY = ObjectIdentity("a", "x", "1", "7", resource="pods", shape=PodObject)


async def give_way() -> None:
    pass


def pod(metadata: dict[str, Any] = METADATA, **spec: Any) -> dict[str, Any]:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def line(kind: str, thing: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": thing})


async def test_what_can_be_decoded_is() -> None:
    for found in (
        await reader.event(line("ADDED", pod(nodeName="n")), give_way),
        await reader.object(msgspec.json.encode(pod(nodeName="n")), give_way),
    ):
        assert isinstance(found, Pod)
        assert (found.key, found.node_name) == ("x/a", "n")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"priority": "high"}, id="a wrong type"),
        pytest.param({"overhead": {"memory": "lots"}}, id="a wrong quantity"),
    ],
)
async def test_what_cannot_is_still_somebody(changes: dict[str, Any]) -> None:
    broken = pod(nodeName="n", schedulerName="s", **changes)
    for found in (
        await reader.event(line("MODIFIED", broken), give_way),
        await reader.object(msgspec.json.encode(broken), give_way),
    ):
        assert isinstance(found, UndecodableObject)
        assert found.metadata == ObjectIdentity("a", "x", "1", "7", "n", "s", "pods", PodObject)


async def test_other_events_are_what_they_are() -> None:
    assert await reader.event(line("BOOKMARK", {"metadata": {"resourceVersion": "9"}}), give_way) == Bookmark("9")
    assert isinstance(await reader.event(line("DELETED", pod()), give_way), Deletion)


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param({"metadata": {"name": ""}, "spec": {"priority": "x"}}, id="no name"),
        pytest.param({"metadata": {"name": 5}}, id="a name that is none"),
    ],
)
async def test_nobody(thing: dict[str, Any]) -> None:
    with pytest.raises(BrokenStream):
        await reader.event(line("ADDED", thing), give_way)


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        pytest.param(line("ADDED", pod()), UndecodableObject(IDENTITY, TOO_LONG), id="as the API server begins it"),
        pytest.param(
            line("MODIFIED", {"metadata": {k: v for k, v in METADATA.items() if k != "generateName"}}),
            UndecodableObject(IDENTITY, TOO_LONG),
            id="without what is not always there",
        ),
        pytest.param(line("DELETED", pod()), Deletion(IDENTITY), id="one that is gone"),
        pytest.param(
            line("ADDED", pod({"name": "n", "uid": "1", "resourceVersion": "7"})),
            UndecodableObject(ObjectIdentity("n", "", "1", "7", resource="pods", shape=PodObject), TOO_LONG),
            id="one in no namespace",
        ),
    ],
)
async def test_who_is_too_long_is_told_by_the_beginning(beginning: bytes, expected: Any) -> None:
    assert await reader.event(TooLong(beginning), give_way) == expected


@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(
            line("ADDED", {"spec": {"x": '{"metadata":{"name":"b","uid":"1","resourceVersion":"7"'}}),
            id="what stands in the text of another one",
        ),
        pytest.param(line("ADDED", pod({"labels": {"name": "b"}, "name": "a"})), id="a label called name"),
        pytest.param(line("ADDED", pod({"name": 'a"', "uid": "1", "resourceVersion": "7"})), id="a name with a quote"),
        pytest.param(line("BOOKMARK", pod()), id="no object"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_nobody_else_is_taken_for_it(beginning: bytes) -> None:
    assert isinstance(await reader.event(TooLong(beginning), give_way), Skipped)
