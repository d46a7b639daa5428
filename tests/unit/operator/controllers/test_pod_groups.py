"""What the status of a PodGroup says, for every way in which its pods can be."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from pilotage.model.match_policies import MATCH_POLICY
from pilotage.model.pod import Pod
from pilotage.testing import make_pod
from pilotage_operator.controllers.conditions import StoredCondition
from pilotage_operator.controllers.outcome import StatusEvent
from pilotage_operator.controllers.pod_groups import LABEL, StoredPodGroup, decide, groups_of, status_events

NOW = datetime(2030, 1, 10, tzinfo=UTC)

NO_PLACE = (
    "the 2 pods that are needed at once do not all fit, this one does not: 0/3 nodes are available: 3 Insufficient cpu."
)
BRIEFLY = "PodGroup team/g gets rejected due to Pod b is unschedulable even after PostFilter"
TURNED_DOWN = f"{BRIEFLY}: {NO_PLACE}"


def group(
    min_member: int = 2, phase: str = "", created: timedelta = timedelta(hours=1), **status: Any
) -> StoredPodGroup:
    metadata = {"name": "g", "namespace": "team", "generation": 3, "creationTimestamp": time(created)}
    document = {"metadata": metadata, "spec": {"minMember": min_member}, "status": {"phase": phase, **status}}
    return msgspec.convert(document, StoredPodGroup)


def status_of(given: StoredPodGroup, pods: list[Pod], now: datetime) -> Mapping[str, Any]:
    return decide(given, pods, now).status


def time(ago: timedelta) -> str:
    return (NOW - ago).strftime("%Y-%m-%dT%H:%M:%SZ")


def member(name: str, phase: str, *, ago: timedelta = timedelta(minutes=5), **more: Any) -> Pod:
    told = more.pop("told", None)
    status = {"phase": phase, "conditions": [{"type": "PodScheduled", "status": "False", **told}] if told else []}
    metadata = {"creationTimestamp": time(ago), "ownerReferences": more.pop("owners", [])}
    node = "" if phase == "Pending" else "n1"
    more = {"labels": {LABEL: "g"}, "namespace": "team", "node": node} | more
    return make_pod(name, status=status, metadata=metadata, **more)


def members(**phases: int) -> list[Pod]:
    return [member(f"{phase.lower()}-{number}", phase) for phase, count in phases.items() for number in range(count)]


def unschedulable(name: str, message: str, reason: str = "Unschedulable") -> Pod:
    return member(name, "Pending", told={"reason": reason, "message": message})


@pytest.mark.parametrize(
    ("min_member", "pods", "before", "after"),
    [
        pytest.param(2, {}, "", "Pending", id="a new group waits for its pods"),
        pytest.param(2, {"Running": 2}, "Scheduling", "Running", id="all members run"),
        pytest.param(2, {"Running": 4}, "Scheduling", "Running", id="more members run than are needed"),
        pytest.param(2, {"Failed": 2}, "Scheduling", "Failed", id="all members failed"),
        pytest.param(2, {"Succeeded": 2}, "Scheduling", "Finished", id="all members succeeded"),
        pytest.param(2, {"Pending": 2}, "Pending", "Scheduling", id="all members exist"),
        pytest.param(3, {"Running": 2}, "Pending", "Pending", id="a member is missing, though the others run"),
        pytest.param(4, {"Pending": 2}, "Running", "Pending", id="a running group has lost members"),
        pytest.param(2, {"Succeeded": 2}, "Pending", "Finished", id="from Pending to Finished in one look"),
        pytest.param(3, {"Running": 2, "Failed": 1}, "Running", "Failed", id="those that are left are too few"),
        pytest.param(3, {"Running": 2, "Succeeded": 1}, "Running", "Running", id="some are ready before the others"),
        pytest.param(2, {"Running": 2, "Failed": 1}, "Running", "Running", id="a failure beyond the quorum is none"),
        pytest.param(
            3, {"Running": 2, "Failed": 1, "Pending": 1}, "Failed", "Scheduling", id="a failed one is replaced"
        ),
        pytest.param(3, {"Running": 3, "Failed": 1}, "Failed", "Running", id="its replacement runs"),
        pytest.param(2, {"Pending": 2}, "Failed", "Scheduling", id="all that failed were replaced"),
        pytest.param(2, {}, "Failed", "Failed", id="failed and cleaned up"),
        pytest.param(2, {}, "Finished", "Finished", id="finished and cleaned up"),
        pytest.param(2, {"Succeeded": 1}, "Finished", "Finished", id="finished and half cleaned up"),
        pytest.param(2, {"Pending": 2}, "Finished", "Scheduling", id="a finished group is run again"),
        pytest.param(0, {}, "Pending", "Pending", id="no minMember is a minMember of one: nobody is no group"),
        pytest.param(0, {"Running": 1}, "Pending", "Running", id="no minMember, and one runs"),
        pytest.param(2, {"Running": 1, "Pending": 1}, "Running", "Scheduling", id="too few run"),
        pytest.param(2, {"Unknown": 2}, "Running", "Scheduling", id="nobody knows whether they run"),
    ],
)
def test_phase(min_member: int, pods: dict[str, int], before: str, after: str) -> None:
    status = status_of(group(min_member, before), members(**pods), NOW)
    assert status.get("phase", before) == after


def test_from_pending_to_finished_as_its_pods_go() -> None:
    found, seen = "Pending", []
    for phase in ("Pending", "Running", "Succeeded"):
        found = status_of(group(2, found), members(**{phase: 2}), NOW)["phase"]
        seen.append(found)
    assert seen == ["Scheduling", "Running", "Finished"]


def test_counts() -> None:
    status = status_of(group(2), members(Pending=3, Running=2, Succeeded=1, Failed=1), NOW)
    counts = {key: status[key] for key in ("scheduled", "pending", "running", "succeeded", "failed")}
    assert counts == {"scheduled": 4, "pending": 3, "running": 2, "succeeded": 1, "failed": 1}
    assert status["observedGeneration"] == 3


@pytest.mark.parametrize(
    "stranger",
    [
        pytest.param({"namespace": "other"}, id="a pod of another namespace"),
        pytest.param({"labels": {LABEL: "h"}}, id="a pod of another group"),
        pytest.param({"labels": {}}, id="a pod of no group"),
    ],
)
def test_strangers_do_not_count(stranger: dict[str, Any]) -> None:
    pods = [member("a", "Running"), member("b", "Running", **stranger)]
    status = status_of(group(2, "Running"), pods, NOW)
    assert (status["phase"], status["running"]) == ("Pending", 1)


def test_a_pod_that_goes_does_not_count_unless_it_has_ended() -> None:
    pods = members(Running=1, Succeeded=1)
    for pod in pods:
        pod.metadata.deletion_timestamp = time(timedelta(0))
    status = status_of(group(1, "Running"), pods, NOW)
    assert (status["phase"], status["running"], status["succeeded"]) == ("Finished", 0, 1)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(members(Running=2), ("True", "MembersScheduled", "2 members have a node, 2 are needed"), id="all"),
        pytest.param(members(Pending=1), ("False", "NotEnoughMembers", "1 of 2 members exist"), id="too few exist"),
        pytest.param(
            members(Pending=1, Running=1), ("False", "Waiting", "1 of 2 members have a node"), id="too few placed"
        ),
        pytest.param(
            [member("a", "Pending"), unschedulable("b", "0/3 nodes are available: 3 Insufficient cpu.")],
            ("False", "Unschedulable", "pod b: 0/3 nodes are available: 3 Insufficient cpu."),
            id="the member that cannot be placed says why",
        ),
        pytest.param(
            [unschedulable("b", "waiting for gates", "SchedulingGated"), member("a", "Running")],
            ("False", "SchedulingGated", "pod b: waiting for gates"),
            id="a member behind a gate",
        ),
        pytest.param(
            [unschedulable("a", TURNED_DOWN), unschedulable("b", TURNED_DOWN)],
            ("False", "Unschedulable", f"pod b: {NO_PLACE}"),
            id="a gang that was turned down: all say it, one is why",
        ),
        pytest.param(
            [unschedulable("a", "waits for its siblings"), unschedulable("b", TURNED_DOWN)],
            ("False", "Unschedulable", f"pod b: {NO_PLACE}"),
            id="who blocks comes before who waits",
        ),
        pytest.param(
            [unschedulable("a", TURNED_DOWN), unschedulable("c", "0/3 nodes are available.")],
            ("False", "Unschedulable", f"pod a: {TURNED_DOWN}"),
            id="a gang that was turned down for a member that is gone",
        ),
        pytest.param(
            [unschedulable("a", BRIEFLY), member("b", "Pending")],
            ("False", "Unschedulable", "pod b: unschedulable even after PostFilter"),
            id="a gang that scheduler-plugins turned down",
        ),
        pytest.param(
            [unschedulable("a", "x" * 5000), member("b", "Pending")],
            ("False", "Unschedulable", ("pod a: " + "x" * 5000)[:1024]),
            id="a message without end is cut",
        ),
    ],
)
def test_condition(pods: list[Pod], expected: tuple[str, str, str]) -> None:
    (found,) = status_of(group(2), pods, NOW)["conditions"]
    assert (found["status"], found["reason"], found["message"]) == expected
    assert (found["type"], found["observedGeneration"]) == ("Scheduled", 3)


@pytest.mark.parametrize(
    ("before", "expected"),
    [("False", "2029-01-01T00:00:00Z"), ("True", "2030-01-10T00:00:00Z")],
    ids=["it stays while the status does", "it changes with the status"],
)
def test_the_time_of_a_condition(before: str, expected: str) -> None:
    known = {"type": "Scheduled", "status": before, "reason": "x", "lastTransitionTime": "2029-01-01T00:00:00Z"}
    (found,) = status_of(group(2, "Pending", conditions=[known]), [], NOW)["conditions"]
    assert found["lastTransitionTime"] == expected


def test_conditions_of_others_stay() -> None:
    other = {"type": "Theirs", "status": "Unknown", "reason": "R", "message": "", "lastTransitionTime": "x"}
    found = status_of(group(2, "Pending", conditions=[other]), [], NOW)["conditions"]
    assert [each["type"] for each in found] == ["Theirs", "Scheduled"]
    assert found[0] == other


def test_saying_it_again_changes_nothing() -> None:
    pods = [*members(Running=2, Failed=1), unschedulable("z", "no room")]
    first = status_of(group(4), pods, NOW)
    stored = group(4, **first)
    assert status_of(stored, list(reversed(pods)), NOW + timedelta(hours=1)) == first


# ------------------------------------------------------------------------------------------------- once satisfied

REACHED = {"type": "QuorumReached", "status": "True", "reason": "MembersScheduled", "message": "as it was"}


@pytest.mark.parametrize(
    ("policy", "known", "pods", "expected"),
    [
        pytest.param("OnceSatisfied", [], {"Running": 1, "Pending": 1}, None, id="too few have a node"),
        pytest.param(
            "OnceSatisfied", [], {"Running": 2}, ("True", "2 members had a node at the same time"), id="enough have"
        ),
        pytest.param(
            "OnceSatisfied",
            [],
            {"Running": 1, "Succeeded": 1},
            ("True", "2 members had a node at the same time"),
            id="one is done",
        ),
        pytest.param("OnceSatisfied", [], {"Running": 1, "Failed": 5}, None, id="those of earlier tries do not count"),
        pytest.param("OnceSatisfied", [REACHED], {"Pending": 1}, ("True", "as it was"), id="it stays so"),
        pytest.param("OnceSatisfied", [REACHED], {"Running": 3}, ("True", "as it was"), id="and is said once"),
        pytest.param(None, [], {"Running": 2}, None, id="a group that does not ask for it"),
    ],
)
def test_that_the_quorum_was_reached(
    policy: str | None, known: list[dict[str, str]], pods: dict[str, int], expected: tuple[str, str] | None
) -> None:
    given = group(2, conditions=known)
    if policy:
        given.metadata.annotations = {MATCH_POLICY: policy}
    found = [each for each in status_of(given, members(**pods), NOW)["conditions"] if each["type"] == "QuorumReached"]
    assert [(each["status"], each["message"]) for each in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("owners", "before", "expected"),
    [
        pytest.param([[{"name": "job"}]], "", "team/job", id="the owner of the first"),
        pytest.param([[{"name": "b"}, {"name": "a"}]], "", "team/a,team/b", id="several owners, sorted"),
        pytest.param([[], [{"name": "job"}]], "", "team/job", id="the first that has one"),
        pytest.param([[]], "", "", id="nobody"),
    ],
)
def test_who_occupies_it(owners: list[list[dict[str, str]]], before: str, expected: str) -> None:
    pods = [member(f"p{number}", "Pending", owners=given) for number, given in enumerate(owners)]
    assert status_of(group(1, occupiedBy=before), pods, NOW)["occupiedBy"] == expected


def test_who_occupied_it_stays_while_members_are_missing() -> None:
    assert status_of(group(2, "Running", occupiedBy="team/job"), [], NOW)["occupiedBy"] == "team/job"


LATE = {"scheduleStartTime": time(timedelta(0)), "created": timedelta(hours=72)}


@pytest.mark.parametrize(
    ("known", "pods", "phase", "late"),
    [
        pytest.param(LATE, members(Pending=2), "Pending", True, id="created 72 h before its start: unchanged"),
        pytest.param(
            LATE | {"phase": "Scheduling"}, members(Pending=2), "Scheduling", True, id="the same while Scheduling"
        ),
        pytest.param(LATE, members(Pending=1, Running=1), "Scheduling", False, id="one runs"),
        pytest.param(
            {"created": timedelta(hours=72)}, members(Pending=2), "Scheduling", False, id="an old group, new pods"
        ),
        pytest.param(
            {},
            [member(n, "Pending", ago=timedelta(hours=49)) for n in "ab"],
            "Pending",
            True,
            id="pods that wait for two days",
        ),
        pytest.param({"created": timedelta(hours=72)}, [], "Pending", False, id="nobody waits"),
        pytest.param(
            {"scheduleStartTime": "soon"},
            members(Pending=2),
            "Scheduling",
            False,
            id="a start that cannot be read is none",
        ),
    ],
)
def test_a_group_that_waits_for_two_days(known: dict[str, Any], pods: list[Pod], phase: str, late: bool) -> None:
    given = group(**({"phase": "Pending"} | known))
    status = status_of(given, pods, NOW)
    assert status["phase"] == phase
    told = StatusEvent("Warning", "Timeout", "schedule time longer than 48 hours")
    assert (told in status_events(given, status)) is late
    known_condition = msgspec.convert(status["conditions"][-1], StoredCondition)
    again = msgspec.structs.replace(given, status=msgspec.structs.replace(given.status, conditions=(known_condition,)))
    assert told not in status_events(again, status)


@pytest.mark.parametrize(
    ("before", "pods", "expected"),
    [
        pytest.param("", {}, [], id="a new group is no story"),
        pytest.param("Pending", {"Pending": 2}, [("Normal", "Scheduling")], id="it is tried"),
        pytest.param("Scheduling", {"Running": 2}, [("Normal", "Running")], id="it runs"),
        pytest.param("Running", {"Running": 2}, [], id="it still runs"),
        pytest.param("Running", {"Failed": 2}, [("Warning", "Failed"), ("Warning", "MemberFailed")], id="it failed"),
        pytest.param("Running", {"Succeeded": 2}, [("Normal", "Finished")], id="it is finished"),
        pytest.param("Finished", {}, [], id="it is still finished"),
    ],
)
def test_stories(before: str, pods: dict[str, int], expected: list[tuple[str, str]]) -> None:
    given = group(2, before)
    told = status_events(given, status_of(given, members(**pods), NOW))
    assert [(story.severity, story.reason) for story in told] == expected


def test_a_pod_concerns_the_group_of_its_label() -> None:
    assert groups_of(member("a", "Pending")) == ("team/g",)
    assert groups_of(make_pod("b")) == ()
