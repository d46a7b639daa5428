"""What is done for a StickyJob, from its first pod to its last, whatever happens to them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from pilotage.model.pod import Pod
from pilotage.testing import make_pod
from pilotage_operator.controllers.outcome import CreatePod, DeletePod, Outcome
from pilotage_operator.controllers.sticky_jobs import StoredStickyJob, decide, jobs_of, pod_manifest, status_events

NOW = datetime(2030, 1, 10, tzinfo=UTC)
TEMPLATE = {"spec": {"schedulerName": "sticky", "containers": [{"name": "main", "image": "x"}]}}


def job(*, suspend: bool = False, template: dict[str, Any] = TEMPLATE, **status: Any) -> StoredStickyJob:
    metadata = {"name": "j", "namespace": "team", "uid": "job-1", "generation": 2}
    document = {"metadata": metadata, "spec": {"template": template, "suspend": suspend}, "status": status}
    return msgspec.convert(document, StoredStickyJob)


def pod(phase: str, uid: str = "pod-1", *, owner: str = "job-1", node: str = "n1", going: bool = False) -> Pod:
    owners = [{"kind": "StickyJob", "name": "j", "uid": owner, "controller": True}]
    metadata = {"ownerReferences": owners} | ({"deletionTimestamp": "2030-01-10T00:00:00Z"} if going else {})
    return make_pod("j", uid=uid, namespace="team", node=node, metadata=metadata, status={"phase": phase})


def seconds_ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def reason(outcome: Outcome) -> tuple[str, str]:
    ready = outcome.status["conditions"][0]
    return ready["status"], ready["reason"]


FAILED_ONCE = {"phase": "Waiting", "podUID": "pod-1", "failures": 1, "lastFailureTime": seconds_ago(0)}
FAILED_LONG_AGO = FAILED_ONCE | {"lastFailureTime": seconds_ago(60)}


@pytest.mark.parametrize(
    ("given", "seen", "phase", "because", "done"),
    [
        pytest.param({}, None, "Waiting", "Creating", CreatePod, id="a new job gets its pod"),
        pytest.param({}, pod("Pending", node=""), "Pending", "Pending", None, id="the pod waits"),
        pytest.param({}, pod("Running"), "Running", "Running", None, id="the pod runs"),
        pytest.param({}, pod("Succeeded"), "Succeeded", "Succeeded", None, id="the pod has ended well"),
        pytest.param({"phase": "Succeeded"}, None, "Succeeded", "Succeeded", None, id="a job that is done stays done"),
        pytest.param(
            {"phase": "Succeeded", "suspend": True}, None, "Succeeded", "Succeeded", None, id="done, then suspended"
        ),
        pytest.param({"phase": "Running", "podUID": "pod-1"}, None, "Waiting", "PodLost", None, id="the pod is gone"),
        pytest.param(
            {"phase": "Running"}, pod("Failed"), "Waiting", "PodFailed", None, id="the pod failed: its time comes"
        ),
        pytest.param(FAILED_ONCE, pod("Failed"), "Waiting", "PodFailed", None, id="a failed pod stays for a while"),
        pytest.param(FAILED_LONG_AGO, pod("Failed"), "Waiting", "PodFailed", DeletePod, id="then it goes"),
        pytest.param(
            FAILED_LONG_AGO, pod("Failed", going=True), "Waiting", "PodFailed", None, id="it is going: once is enough"
        ),
        pytest.param(FAILED_LONG_AGO, None, "Waiting", "Creating", CreatePod, id="and another one comes"),
        pytest.param(FAILED_ONCE, None, "Waiting", "PodLost", None, id="a lost pod is made again in its time"),
        pytest.param(
            {"phase": "Running", "podUID": "pod-1"},
            pod("Running", going=True),
            "Running",
            "Terminating",
            None,
            id="somebody deletes the pod",
        ),
        pytest.param(
            {"suspend": True}, pod("Running"), "Suspended", "Suspended", DeletePod, id="suspended: the pod goes"
        ),
        pytest.param(
            {"suspend": True}, pod("Running", going=True), "Suspended", "Suspended", None, id="suspended: it is going"
        ),
        pytest.param({"suspend": True}, None, "Suspended", "Suspended", None, id="suspended: it is gone"),
        pytest.param({"phase": "Suspended"}, None, "Waiting", "Creating", CreatePod, id="resumed at once"),
        pytest.param({}, pod("Running", owner="somebody"), "Waiting", "NameTaken", None, id="the name is taken"),
        pytest.param(
            {"suspend": True},
            pod("Running", owner="x"),
            "Suspended",
            "NameTaken",
            None,
            id="nobody else's pod is deleted",
        ),
    ],
)
def test_step(given: dict[str, Any], seen: Pod | None, phase: str, because: str, done: type | None) -> None:
    outcome = decide(job(**given), [make_pod("other", namespace="team"), *([seen] if seen else [])], NOW)
    assert outcome.status["phase"] == phase
    assert reason(outcome) == ("True" if because == "Running" else "False", because)
    assert [type(action) for action in outcome.actions] == ([done] if done else [])
    complete = outcome.status["conditions"][1]
    assert (complete["type"], complete["status"]) == ("Complete", "True" if phase == "Succeeded" else "False")


def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    going = job()
    going.metadata.deletion_timestamp = seconds_ago(1)
    assert decide(going, [], NOW) == Outcome({})


def test_exactly_the_pod_that_was_seen_is_deleted() -> None:
    outcome = decide(job(suspend=True), [pod("Running", "pod-7")], NOW)
    assert outcome.actions == (DeletePod("team", "j", "pod-7"),)


def test_why_a_pod_waits_is_told() -> None:
    waiting = pod("Pending", node="")
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]
    waiting.status = msgspec.convert({"phase": "Pending", "conditions": conditions}, type(waiting.status))
    ready = decide(job(), [waiting], NOW).status["conditions"][0]
    assert (ready["reason"], ready["message"]) == ("Unschedulable", "no room")


def test_why_a_pod_was_refused_is_told_while_it_is_tried_again() -> None:
    outcome = decide(job(), [], NOW, refusal="403 Forbidden: exceeded quota")
    assert reason(outcome) == ("False", "PodRefused")
    assert outcome.status["conditions"][0]["message"] == "403 Forbidden: exceeded quota"
    assert [type(action) for action in outcome.actions] == [CreatePod]


@pytest.mark.parametrize(
    ("known", "seen", "restarts"),
    [
        pytest.param({}, pod("Running"), 0, id="the first pod is no restart"),
        pytest.param({"podUID": "pod-1"}, pod("Running"), 0, id="the same pod"),
        pytest.param({"podUID": "pod-0", "restarts": 4}, pod("Running"), 5, id="another pod"),
        pytest.param({"restarts": 4}, pod("Running"), 4, id="after a suspension"),
    ],
)
def test_restarts(known: dict[str, Any], seen: Pod, restarts: int) -> None:
    assert decide(job(**known), [seen], NOW).status["restarts"] == restarts


def test_the_node_is_remembered_until_there_is_another() -> None:
    assert decide(job(), [pod("Running", node="n7")], NOW).status["lastNode"] == "n7"
    assert "lastNode" not in decide(job(), [pod("Pending", node="")], NOW).status
    assert "lastNode" not in decide(job(phase="Running", podUID="pod-1"), [], NOW).status
    assert "lastNode" not in decide(job(suspend=True), [], NOW).status


@pytest.mark.parametrize(("failures", "seconds"), [(0, 1), (1, 2), (5, 32), (8, 256), (9, 300), (5000, 300)])
def test_each_failure_is_followed_by_a_longer_pause(failures: int, seconds: float) -> None:
    for seen in ([pod("Failed")], []):
        outcome = decide(job(phase="Running", podUID="pod-1", failures=failures), seen, NOW)
        assert outcome.status["failures"] == failures + 1
        assert outcome.again == NOW + timedelta(seconds=seconds)


def test_a_failure_after_a_good_run_is_the_first() -> None:
    ready = {"type": "Ready", "status": "True", "reason": "Running", "lastTransitionTime": seconds_ago(601)}
    outcome = decide(job(phase="Running", podUID="pod-1", failures=7, conditions=[ready]), [pod("Failed")], NOW)
    assert outcome.status["failures"] == 1


def test_a_failure_counts_once_however_often_it_is_seen() -> None:
    first = decide(job(phase="Running", podUID="pod-1"), [pod("Failed")], NOW)
    again = decide(job(**first.status), [pod("Failed")], NOW + timedelta(seconds=0.5))
    assert {key: again.status.get(key, first.status[key]) for key in first.status} == first.status


def test_a_view_that_lags_behind_counts_nothing_as_lost() -> None:
    """The pod was created and the watch has not told of it yet: creating it again is refused by its name."""
    known = job(phase="Waiting", podUID="pod-0", restarts=1)
    outcome = decide(known, [], NOW)
    assert "failures" not in outcome.status
    assert [type(action) for action in outcome.actions] == [CreatePod]


def test_the_pod_is_the_templates_and_the_jobs_own() -> None:
    template = {
        "metadata": {"labels": {"app": "x"}, "annotations": {"a": "b"}, "name": "ignored", "finalizers": ["x"]},
        "spec": {"restartPolicy": "Never", "schedulerName": "sticky", "containers": [{"name": "main"}]},
    }
    assert pod_manifest(job(template=template)) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "j",
            "namespace": "team",
            "labels": {"app": "x", "pilotage.dev/sticky-job": "j"},
            "annotations": {"a": "b"},
            "ownerReferences": [
                {
                    "apiVersion": "pilotage.dev/v1alpha1",
                    "kind": "StickyJob",
                    "name": "j",
                    "uid": "job-1",
                    "controller": True,
                }
            ],
        },
        "spec": {"restartPolicy": "Never", "schedulerName": "sticky", "containers": [{"name": "main"}]},
    }


@pytest.mark.parametrize("template", [{}, {"metadata": "x", "spec": []}, {"metadata": {"labels": 1}}])
def test_a_template_without_sense_is_for_the_api_server_to_refuse(template: dict[str, Any]) -> None:
    assert pod_manifest(job(template=template))["spec"] == {"restartPolicy": "OnFailure"}


@pytest.mark.parametrize(
    ("known", "seen", "expected"),
    [
        pytest.param({}, None, [], id="a new job is no story"),
        pytest.param({"phase": "Pending"}, pod("Running"), [("Normal", "Running")], id="it runs"),
        pytest.param({"phase": "Running"}, pod("Failed"), [("Warning", "PodFailed")], id="it failed"),
        pytest.param({"phase": "Running"}, None, [("Warning", "PodLost")], id="it is lost"),
        pytest.param({"phase": "Running"}, pod("Succeeded"), [("Normal", "Succeeded")], id="it is done"),
        pytest.param({}, pod("Running", owner="x"), [("Warning", "NameTaken")], id="its name is taken"),
    ],
)
def test_stories(known: dict[str, Any], seen: Pod | None, expected: list[tuple[str, str]]) -> None:
    given = job(**known)
    status = decide(given, [seen] if seen else [], NOW).status
    assert [(story.severity, story.reason) for story in status_events(given, status)] == expected
    told = job(**{**known, **status})
    assert status_events(told, decide(told, [seen] if seen else [], NOW).status) == []


def test_a_pod_concerns_the_job_of_its_name() -> None:
    assert jobs_of(pod("Running")) == ("team/j",)
