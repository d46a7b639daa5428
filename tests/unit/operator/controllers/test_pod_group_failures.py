"""What is told of members that fail, and who is deleted so that the group starts again."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from kit.custom_api import CustomApi
from kit.running_controllers import quiet, running, until
from kit.small_api import small_api
from pilotage.model.match_policies import MATCH_POLICY
from pilotage.model.pod import Pod
from pilotage.testing import make_pod
from pilotage_operator.controllers.outcome import DeletePod, Outcome
from pilotage_operator.controllers.pod_group_failures import ANNOTATION
from pilotage_operator.controllers.pod_groups import LABEL, StoredPodGroup, decide, status_events

START = datetime(2030, 1, 10, tzinfo=UTC)
NOW = START + timedelta(seconds=100)
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job", "controller": True}
NOT_OWNER = {**OWNER, "controller": False}
RESTART = "RestartGroup"


def at(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(
    name: str, made: int = 0, failed: int | None = None, *, owner: Any = OWNER, phase: str = "Running", **metadata: Any
) -> Pod:
    ready = [] if failed is None else [{"type": "Ready", "status": "False", "lastTransitionTime": at(failed)}]
    status = {"phase": phase if failed is None else "Failed", "conditions": ready}
    metadata |= {"creationTimestamp": at(made), "ownerReferences": [owner] if owner else []}
    labels, node = {LABEL: "g"}, "" if phase == "Pending" else "n1"
    return make_pod(name, namespace="team", labels=labels, node=node, status=status, metadata=metadata)


def group(wish: str | None = RESTART, minimum: int = 3, **more: Any) -> StoredPodGroup:
    annotations = more.pop("annotations", {}) | ({} if wish is None else {ANNOTATION: wish})
    metadata = {"name": "g", "namespace": "team", "uid": "g", "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": {"minMember": minimum}, "status": more}, StoredPodGroup)


def said(outcome: Outcome, kind: str = "MemberFailed") -> tuple[str, str, str] | None:
    found = [each for each in outcome.status["conditions"] if each["type"] == kind]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


def deleted(outcome: Outcome) -> list[str]:
    return [action.name for action in outcome.actions if isinstance(action, DeletePod)]


A, B, FAILED = pod("a"), pod("b"), pod("c", failed=50)


@pytest.mark.parametrize(
    ("pods", "expected", "gone"),
    [
        pytest.param([A, B, pod("c")], None, [], id="nobody failed"),
        pytest.param(
            [A, B, FAILED],
            ("RestartingGroup", "c; deleting, to restart together: a, b"),
            ["a", "b"],
            id="the others start again",
        ),
        pytest.param(
            [A, B, FAILED, pod("d", 51)],
            ("RestartingGroup", "c; deleting, to restart together: a, b"),
            ["a", "b"],
            id="but not who came after the failure",
        ),
        pytest.param(
            [A, B, FAILED, pod("d", 50)],
            ("RestartingGroup", "c; deleting, to restart together: a, b"),
            ["a", "b"],
            id="nor who came in the same second",
        ),
        pytest.param(
            [A, pod("b", phase="Pending"), FAILED],
            ("RestartingGroup", "c; deleting, to restart together: a, b"),
            ["a", "b"],
            id="one that waits starts with the new ones",
        ),
        pytest.param([FAILED], ("MemberFailed", "c"), [], id="the others are gone, the new ones not there yet"),
        pytest.param([FAILED, pod("d", 51), pod("e", 52)], None, [], id="a failure that is made up for"),
        pytest.param(
            [FAILED, pod("d", 51), pod("e", 52), pod("f", 52, 60)],
            ("RestartingGroup", "f; deleting, to restart together: d, e"),
            ["d", "e"],
            id="one that failed before the new start is no reason for another one",
        ),
        pytest.param(
            [A, B, FAILED, pod("d", 51, 55)],
            ("RestartingGroup", "d, c; deleting, to restart together: a, b"),
            ["a", "b"],
            id="two that failed",
        ),
        pytest.param(
            [A, B, pod("c", failed=50, deletionTimestamp=at(49))], None, [], id="one that was deleted did not fail"
        ),
        pytest.param(
            [A, pod("b", owner=None), FAILED],
            (
                "RestartingGroup",
                "c; deleting, to restart together: a; not deleted, because no controller would recreate it: b",
            ),
            ["a"],
            id="one without an owner stays",
        ),
        pytest.param(
            [pod("a", owner=NOT_OWNER), pod("b", owner=None), FAILED],
            ("NobodyToRestart", "c; not deleted, because no controller would recreate it: a, b"),
            [],
            id="nobody has a controller",
        ),
        pytest.param(
            [A, pod("b", phase="Succeeded"), FAILED],
            ("TooFewToRestart", "c; only 2 of the 3 required members would be recreated"),
            [],
            id="who is done does not start again, and the rest are too few",
        ),
        pytest.param(
            [A, B, pod("c", failed=50, owner=None)],
            ("TooFewToRestart", "c; only 2 of the 3 required members would be recreated"),
            [],
            id="nobody takes the place of the one that failed",
        ),
        pytest.param(
            [A, pod("b", phase="Succeeded"), FAILED, pod("d", 51)],
            ("TooFewToRestart", "c; only 2 of the 3 required members would be recreated"),
            [],
            id="somebody has taken its place, and the rest are too few all the same",
        ),
    ],
)
def test_who_starts_again(pods: list[Pod], expected: tuple[str, str] | None, gone: list[str]) -> None:
    outcome = decide(group(), pods, NOW)
    assert said(outcome) == (("True", *expected) if expected else None)
    assert deleted(outcome) == gone
    assert outcome.again is None


def test_exactly_these_pods_are_deleted() -> None:
    found = decide(group(), [A, B, FAILED], NOW).actions
    assert found == tuple(DeletePod("team", each.name, each.uid) for each in (A, B))


def test_without_the_annotation_it_is_only_told() -> None:
    outcome = decide(group(None), [A, B, FAILED], NOW)
    assert said(outcome) == ("True", "MemberFailed", "c")
    assert outcome.actions == ()


def test_no_member_is_deleted_in_its_first_half_minute() -> None:
    pods = [pod("a", 40), pod("b", 45), pod("c", 40, 50)]
    early = decide(group(), pods, START + timedelta(seconds=74))
    assert (said(early), early.actions) == (("True", "MemberFailed", "c"), ())
    assert early.again == START + timedelta(seconds=75)
    assert deleted(decide(group(), pods, START + timedelta(seconds=75))) == ["a", "b"]


def test_a_refusal_is_told_and_it_is_tried_again() -> None:
    outcome = decide(group(), [A, B, FAILED], NOW, refusal="pods is forbidden")
    text = "c; pods is forbidden; controller.restartPodGroups=true of the chart grants `delete` on pods"
    assert said(outcome) == ("True", "RestartRefused", text)
    assert deleted(outcome) == ["a", "b"]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([A, B], ("False", "NotUnderstood", ""), id="before anybody failed"),
        pytest.param([A, B, FAILED], ("True", "NotUnderstood", "c; "), id="when somebody has"),
    ],
)
def test_a_wish_that_there_is_not_is_told(pods: list[Pod], expected: tuple[str, str, str]) -> None:
    given = group("restart")
    outcome = decide(given, pods, NOW)
    text = f"the annotation {ANNOTATION} is 'restart'; set it to RestartGroup, or remove it"
    assert said(outcome) == (*expected[:2], expected[2] + text)
    assert outcome.actions == ()
    assert "NotUnderstood" in [story.reason for story in status_events(given, outcome.status)]
    again = group("restart", conditions=outcome.status["conditions"])
    assert [story.reason for story in status_events(again, outcome.status) if story.reason not in PHASES] == []


@pytest.mark.parametrize(
    ("kind", "reason", "condition", "time"),
    [
        pytest.param("Ready", "PodFailed", "False", 50, id="it was ready until then"),
        pytest.param("DisruptionTarget", "TerminationByKubelet", "True", 50, id="the kubelet evicted it"),
        pytest.param("PodReadyToStartContainers", "", "False", 50, id="what was cleaned up later tells nothing"),
    ],
)
def test_when_a_pod_failed(kind: str, reason: str, condition: str, time: int) -> None:
    failed = pod("c", 10)
    known = {"type": kind, "status": condition, "reason": reason, "lastTransitionTime": at(time)}
    status = {"phase": "Failed", "conditions": [known]}
    failed.status = msgspec.convert(status, type(failed.status))
    outcome = decide(group(), [pod("a", 20), pod("b", 20), failed], NOW)
    assert deleted(outcome) == ([] if kind == "PodReadyToStartContainers" else ["a", "b"])


def test_a_group_that_starts_again_needs_its_quorum_again() -> None:
    reached = {"type": "QuorumReached", "status": "True", "reason": "MembersScheduled"}
    given = group(annotations={MATCH_POLICY: "OnceSatisfied"}, conditions=[reached])
    assert said(decide(given, [A, B, FAILED], NOW), "QuorumReached") == (
        "False",
        "GroupRestarts",
        "its members are restarted together",
    )


# ------------------------------------------------------------------------------------------------------------ events


def history(*looks: list[Pod], wish: str | None = None, keeps_conditions: bool = True) -> list[list[tuple[str, str]]]:
    """Return what is told at each look, by a controller that starts anew each time."""
    told: list[list[tuple[str, str]]] = []
    known: dict[str, Any] = {"phase": "Running"}
    for pods in looks:
        given = group(wish, **known)
        status = decide(given, pods, NOW).status
        told.append(
            [(story.reason, story.note) for story in status_events(given, status) if story.reason not in PHASES]
        )
        known = {key: value for key, value in status.items() if keeps_conditions or key != "conditions"}
    return told


PHASES = ("Pending", "Scheduling", "Running", "Failed")


@pytest.mark.parametrize("keeps_conditions", [True, False], ids=["our definition", "that of scheduler-plugins"])
def test_each_failure_is_told_once(keeps_conditions: bool) -> None:
    second = pod("d", 51, 60)
    looks = [A, B, FAILED], [A, B, FAILED], [A, B, FAILED, second], [A, B, FAILED, second, pod("e", 61)]
    told = history(*looks, keeps_conditions=keeps_conditions)
    assert told == [[("MemberFailed", "failed: c")], [], [("MemberFailed", "failed: d, c")], []]


def test_one_that_comes_while_another_is_cleaned_up_is_told() -> None:
    assert history([A, B, FAILED], [A, B, pod("d", 51, 60)])[-1] == [("MemberFailed", "failed: d")]


@pytest.mark.parametrize("gone", [14, 10, 0], ids=["the latest", "one that was named", "one that was not"])
def test_one_that_is_cleaned_up_is_not_told(gone: int) -> None:
    many = [pod(f"c{number:02}", 0, 50) for number in range(15)]
    first, second = history([A, B, *many], [A, B, *many[:gone], *many[gone + 1 :]])
    names = "c14, c13, c12, c11, c10, c09, c08, c07, c06, c05, and 5 more"
    assert first == [("MemberFailed", f"failed: {names}")]
    assert second == []


def test_a_new_start_is_told_once() -> None:
    told = history([A, B, FAILED], [A, B, FAILED], [FAILED], [FAILED, pod("d", 51)], wish=RESTART)
    restarting = "c; deleting, to restart together: a, b"
    assert told == [[("MemberFailed", "failed: c"), ("RestartingGroup", restarting)], [], [], []]


def test_members_that_the_restart_has_deleted_are_not_missed() -> None:
    told = history([A, B, FAILED], [B, FAILED], [FAILED], wish=RESTART)
    assert [reason for look in told for reason, _ in look] == ["MemberFailed", "RestartingGroup"]
    begun = group(
        conditions=[{"type": "MemberFailed", "status": "True", "reason": "RestartingGroup", "message": "c; ..."}]
    )
    assert deleted(decide(begun, [B, FAILED], NOW)) == ["b"]


# --------------------------------------------------------------------------------------------- on a small API server


@pytest.fixture
async def api() -> AsyncIterator[CustomApi]:
    async with small_api(served := CustomApi("podgroups")):
        yield served


def add(api: CustomApi, name: str, *, made: str = "2026-01-01T00:00:00Z", failed: str = "", owner: Any = OWNER) -> None:
    metadata = {"labels": {LABEL: "g"}, "creationTimestamp": made, "ownerReferences": [owner] if owner else []}
    ready = [{"type": "Ready", "status": "False", "lastTransitionTime": failed}] if failed else []
    status = {"phase": "Failed" if failed else "Running", "conditions": ready}
    api.make("pods", name, metadata=metadata, spec={"nodeName": "n1"}, status=status)


def reason(api: CustomApi) -> str:
    conditions = api.find("podgroups", "g").get("status", {}).get("conditions", ())
    return next((each["reason"] for each in conditions if each["type"] == "MemberFailed"), "")


@pytest.mark.usefixtures("quickly")
async def test_an_operator_without_the_right_says_so_until_it_has_it(api: CustomApi) -> None:
    api.refuses_pods = True
    api.make("podgroups", "g", metadata={"annotations": {ANNOTATION: RESTART}}, spec={"minMember": 2})
    add(api, "a")
    add(api, "b", failed="2026-01-01T01:00:00Z")
    async with running(api):
        await until(lambda: reason(api) == "RestartRefused")
        assert api.find("pods", "a")
        api.refuses_pods = False
        await until(lambda: not api.find("pods", "a"))


@pytest.mark.usefixtures("quickly")
async def test_a_group_starts_again_once(api: CustomApi) -> None:
    api.make("podgroups", "g", metadata={"annotations": {ANNOTATION: RESTART}}, spec={"minMember": 3})
    for name in ("a", "b", "c"):
        add(api, name)
    async with running(api):
        await until(lambda: api.find("podgroups", "g").get("status", {}).get("phase") == "Running")
        add(api, "c", failed="2026-01-01T01:00:00Z")
        await until(lambda: not api.find("pods", "a") and not api.find("pods", "b"))
        for name in ("d", "e", "f"):
            add(api, name, made="2026-01-01T01:00:01Z")
        await until(lambda: reason(api) == "NoFailure")
    async with running(api):  # another process
        await asyncio.sleep(0.2)
        await quiet(api)
    assert [path.rpartition("/")[2] for method, path in api.writes if method == "DELETE"] == ["a", "b"]
    told = [event["reason"] for event in api.events]
    assert [reason for reason in told if reason not in PHASES] == ["MemberFailed", "RestartingGroup"]
