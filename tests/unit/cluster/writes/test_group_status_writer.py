import logging
from typing import Any

import msgspec
import pytest

from pilotage.cluster.write.group_status_writer import GroupStatusWriter
from pilotage.kinds.pod_groups import NativePodGroup
from pilotage.model.gangs import NATIVE, GangName

pytestmark = pytest.mark.looptime

GANG = GangName(NATIVE, "default", "gang")
PATH = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups/gang/status"
WAITS = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
SCHEDULED = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}


def group(*conditions: Any, uid: str = "one") -> NativePodGroup:
    metadata = {"name": "gang", "namespace": "default", "uid": uid, "generation": 3}
    return msgspec.convert({"metadata": metadata, "status": {"conditions": conditions}}, NativePodGroup)


def said(call: Any) -> tuple[str, str, str]:
    (condition,) = call.body["status"]["conditions"]
    return condition["status"], condition["reason"], condition["message"]


async def test_what_is_sent(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    writer = GroupStatusWriter(api, lambda gang: group(), clock=lambda: 0.0)
    writer.waits(GANG, "Unschedulable", "no room")
    await while_running(writer, writer.flush())
    (call,) = api.calls
    since = {"observedGeneration": 3, "lastTransitionTime": "1970-01-01T00:00:00Z"}
    assert (call.verb, call.path) == ("PATCH", PATH)
    assert call.body == {"metadata": {"uid": "one"}, "status": {"conditions": [{**WAITS, **since}]}}


@pytest.mark.parametrize(
    ("shown", "reason", "message", "expected"),
    [
        pytest.param([WAITS], "Unschedulable", "no room", [], id="the same as before"),
        pytest.param([WAITS], "Unschedulable", "other", [("False", "Unschedulable", "other")], id="something else"),
        pytest.param([WAITS], "Scheduled", "", [("True", "Scheduled", "")], id="the group is scheduled"),
        pytest.param([SCHEDULED], "Unschedulable", "no room", [], id="it stays scheduled"),
        pytest.param([SCHEDULED], "Scheduled", "", [], id="it is scheduled already"),
    ],
)
async def test_what_the_group_says_already(
    fake_api: Any, while_running: Any, shown: list[Any], reason: str, message: str, expected: list[Any]
) -> None:
    api = fake_api()
    writer = GroupStatusWriter(api, lambda gang: group(*shown))
    tell(writer, reason, message)
    await while_running(writer, writer.flush())
    assert [said(call) for call in api.calls] == expected


async def test_what_was_written_counts_before_the_watch_shows_it(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    writer = GroupStatusWriter(api, lambda gang: group())
    for reason, message in (("Unschedulable", "a"), ("Unschedulable", "a"), ("Scheduled", ""), ("Unschedulable", "b")):
        tell(writer, reason, message)
        await while_running(writer, writer.flush())
    assert [said(call)[0] for call in api.calls] == ["False", "True"]


async def test_only_the_newest_is_written_and_scheduled_is_the_last_word(fake_api: Any, while_running: Any) -> None:
    api = fake_api()
    writer = GroupStatusWriter(api, lambda gang: group())
    for reason, message in (("Unschedulable", "a"), ("Unschedulable", "b"), ("Scheduled", ""), ("Unschedulable", "c")):
        tell(writer, reason, message)
    await while_running(writer, writer.flush())
    assert [said(call) for call in api.calls] == [("True", "Scheduled", "")]


async def test_a_group_that_is_gone(fake_api: Any, refusal: Any, while_running: Any, caplog: Any) -> None:
    known: list[NativePodGroup | None] = [None, group()]
    api = fake_api(refusal(404))
    writer = GroupStatusWriter(api, lambda gang: known.pop(0))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            writer.waits(GANG, "Unschedulable", "no room")
            await while_running(writer, writer.flush())
    assert len(api.calls) == 1
    assert caplog.messages == []


async def test_failures_that_pass_are_tried_again(fake_api: Any, refusal: Any, while_running: Any) -> None:
    api = fake_api(refusal(503), refusal(409))
    writer = GroupStatusWriter(api, lambda gang: group())
    writer.scheduled(GANG)
    await while_running(writer, writer.flush())
    assert [said(call)[0] for call in api.calls] == ["True"] * 3


async def test_what_is_not_allowed_is_told_once(fake_api: Any, refusal: Any, while_running: Any, caplog: Any) -> None:
    api = fake_api(refusal(403, "may not patch podgroups/status"))
    writer = GroupStatusWriter(api, lambda gang: group())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            writer.waits(GANG, "Unschedulable", "no room")
            await while_running(writer, writer.flush())
    assert len(api.calls) == 1
    assert caplog.messages == ["the status of PodGroup default/gang was not written: may not patch podgroups/status"]


def tell(writer: GroupStatusWriter, reason: str, message: str) -> None:
    if reason == "Scheduled":
        writer.scheduled(GANG)
    else:
        writer.waits(GANG, reason, message)
