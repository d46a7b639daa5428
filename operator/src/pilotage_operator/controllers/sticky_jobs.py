"""The controller of StickyJobs: one pod with the job's name, recreated when it fails or is lost.

Waiting ──► Pending ──► Running ──► Succeeded
   ▲           │           │
   └───────────┴───────────┘     Suspended, if spec.suspend is set

The pod has the job's name, so the API server prevents duplicates. Phases other than Waiting and Suspended require an
observed pod, so that a lagging watch never counts a pod as lost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, field

from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.scheduler_profiles.resource import API_VERSION
from pilotage_operator.controllers.conditions import ConditionState, StoredCondition, conditions, find, moment
from pilotage_operator.controllers.outcome import CreatePod, DeletePod, Outcome, PodAction, StatusEvent
from pilotage_operator.profiles.world import written

KIND = "StickyJob"
LABEL = "pilotage.dev/sticky-job"
WAITING, PENDING, RUNNING, SUSPENDED, SUCCEEDED = "Waiting", "Pending", "Running", "Suspended", "Succeeded"
READY, COMPLETE = "Ready", "Complete"
POD_FAILED, POD_LOST = "PodFailed", "PodLost"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0  # seconds before a pod is recreated
RAN_WELL_AFTER = timedelta(minutes=10)  # a later failure counts as the first one again


class StickyJobSpec(Struct, frozen=True, rename="camel"):
    """The pod to run."""

    template: dict[str, Any] = field(default_factory=dict)
    suspend: bool = False


class StickyJobStatus(Struct, frozen=True, rename="camel"):
    """The stored status of a job."""

    phase: str = ""
    pod_uid: str = field(default="", name="podUID")
    restarts: int = 0
    failures: int = 0
    last_failure_time: str = ""
    conditions: tuple[StoredCondition, ...] = ()


class StoredStickyJob(Struct, rename="camel"):
    """A StickyJob as stored."""

    metadata: Metadata
    spec: StickyJobSpec = StickyJobSpec()
    status: StickyJobStatus = StickyJobStatus()


@dataclass(frozen=True)
class Step:
    """The next state of a job: its phase, its Ready condition, and further actions."""

    phase: str
    state: ConditionState
    status: Mapping[str, Any]
    actions: tuple[PodAction, ...] = ()
    again: datetime | None = None


def jobs_of(pod: Pod) -> tuple[str, ...]:
    """Return the job that a change of a pod concerns, even a pod of another owner, which may block the name."""
    return (pod.key,)


def decide(job: StoredStickyJob, pods: Iterable[Pod], now: datetime, refusal: str = "") -> Outcome:
    """Return the outcome; `refusal` is why the API server rejected the last pod."""
    if job.metadata.deletion_timestamp:
        return Outcome({})  # its pod is deleted with it
    step = _step(job, next((pod for pod in pods if pod.name == job.metadata.name), None), now, refusal)
    is_over = step.phase == SUCCEEDED
    complete = ConditionState(
        is_over, "Succeeded" if is_over else "NotSucceeded", "the pod succeeded" if is_over else ""
    )
    generation, state = job.metadata.generation, {READY: step.state, COMPLETE: complete}
    status = {
        "phase": step.phase,
        **step.status,
        "observedGeneration": generation,
        "conditions": conditions(job.status.conditions, state, generation, now),
    }
    return Outcome(status, actions=step.actions, again=step.again)


def _step(job: StoredStickyJob, pod: Pod | None, now: datetime, refusal: str) -> Step:
    if job.status.phase == SUCCEEDED:
        return Step(SUCCEEDED, ConditionState(False, "Succeeded", "the pod succeeded"), {})
    if pod is not None and not _is_own(pod, job):
        taken = ConditionState(
            False, "NameTaken", f"pod {pod.name} belongs to another owner; delete it, or rename the job"
        )
        return Step(SUSPENDED if job.spec.suspend else WAITING, taken, {"podName": None})
    if job.spec.suspend:
        return _suspended(pod)
    return _without_pod(job, now, refusal) if pod is None else _with_pod(job, pod, now)


def _is_own(pod: Pod, job: StoredStickyJob) -> bool:
    owner = pod.metadata.controller
    return owner is not None and owner.uid == job.metadata.uid


def _suspended(pod: Pod | None) -> Step:
    """Suspend the job: a pod deleted on purpose is not lost, and the next one is not a restart."""
    state = ConditionState(False, "Suspended", "spec.suspend is true")
    seen = {"podUID": None, "failures": 0, "lastFailureTime": None}
    if pod is None:
        return Step(SUSPENDED, state, {"podName": None, **seen})
    gone = () if pod.is_terminating else (DeletePod(pod.namespace, pod.name, pod.uid),)
    return Step(SUSPENDED, state, {"podName": pod.name, **_node(pod), **seen}, gone)


def _without_pod(job: StoredStickyJob, now: datetime, refusal: str) -> Step:
    past, name = job.status, job.metadata.name
    seen: dict[str, Any] = {"podName": None}
    failures, failed_at = past.failures, moment(past.last_failure_time)
    reason, message = "Creating", f"pod {name} is being created"
    if past.phase in (PENDING, RUNNING):
        failures, failed_at = _failures(job, now), now
        seen |= {"failures": failures, "lastFailureTime": written(now)}
        reason, message = POD_LOST, f"pod {name} is gone"
    due = failed_at + _pause(failures) if failures and failed_at else now
    if now < due:
        if reason == "Creating":
            kept = find(past.conditions, READY)
            reason, message = kept.reason or POD_LOST, kept.message
        return Step(WAITING, ConditionState(False, reason, message), seen, again=due)
    if refusal:
        reason, message = "PodRefused", refusal
    return Step(WAITING, ConditionState(False, reason, message), seen, (CreatePod(pod_manifest(job)),))


def _with_pod(job: StoredStickyJob, pod: Pod, now: datetime) -> Step:
    past, is_new = job.status, pod.uid != job.status.pod_uid
    seen = {"podName": pod.name, "podUID": pod.uid, **_node(pod)}
    seen["restarts"] = past.restarts + bool(is_new and past.pod_uid)
    if pod.status.phase == "Succeeded":
        return Step(SUCCEEDED, ConditionState(False, "Succeeded", "the pod succeeded"), seen)
    if pod.status.phase == "Failed":
        return _failed(job, pod, seen, now, is_counted=not is_new and past.phase == WAITING)
    phase = RUNNING if pod.status.phase == "Running" else PENDING
    if pod.is_terminating:
        return Step(phase, ConditionState(False, "Terminating", f"pod {pod.name} is being deleted"), seen)
    if phase == RUNNING:
        return Step(RUNNING, ConditionState(True, "Running", f"pod {pod.name} runs on {pod.node_name}"), seen)
    told = pod.status.condition("PodScheduled")
    if told is not None and told.status == "False" and told.message:
        return Step(PENDING, ConditionState(False, told.reason or "Unschedulable", told.message), seen)
    return Step(PENDING, ConditionState(False, "Pending", f"pod {pod.name} has not started yet"), seen)


def _failed(job: StoredStickyJob, pod: Pod, seen: dict[str, Any], now: datetime, *, is_counted: bool) -> Step:
    """Keep a failed pod for its logs until it is replaced."""
    failures, failed_at = job.status.failures, moment(job.status.last_failure_time)
    if not is_counted or failed_at is None:
        failures, failed_at = _failures(job, now), now
        seen |= {"failures": failures, "lastFailureTime": written(now)}
    due = failed_at + _pause(failures)
    state = ConditionState(False, POD_FAILED, f"pod {pod.name} failed on {pod.node_name or 'no node'}")
    if now < due or pod.is_terminating:
        return Step(WAITING, state, seen, again=None if pod.is_terminating else due)
    return Step(WAITING, state, seen, (DeletePod(pod.namespace, pod.name, pod.uid),))


def _failures(job: StoredStickyJob, now: datetime) -> int:
    """Return the number of consecutive failed pods, including this one."""
    ready = find(job.status.conditions, READY)
    ran_well = ready.is_true and ready.since is not None and now - ready.since >= RAN_WELL_AFTER
    return 1 if ran_well else job.status.failures + 1


def _pause(failures: int) -> timedelta:
    return timedelta(seconds=min(FIRST_PAUSE * 2.0 ** min(failures - 1, 32), LONGEST_PAUSE))


def _node(pod: Pod) -> dict[str, Any]:
    """Return the node to return to; a pod without a node does not clear the last one."""
    return {"lastNode": pod.node_name} if pod.node_name else {}


def pod_manifest(job: StoredStickyJob) -> dict[str, Any]:
    """Return the pod of a job: its template, with the job's name and owner."""
    given, name = _map(job.spec.template, "metadata"), job.metadata.name
    owner = {"apiVersion": API_VERSION, "kind": KIND, "name": name, "uid": job.metadata.uid, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": job.metadata.namespace,
            "labels": _map(given, "labels") | {LABEL: name},
            "annotations": _map(given, "annotations"),
            "ownerReferences": [owner],
        },
        "spec": {"restartPolicy": "OnFailure"} | _map(job.spec.template, "spec"),
    }


def _map(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = given.get(key)
    return found if isinstance(found, dict) else {}


def status_events(job: StoredStickyJob, status: Mapping[str, Any]) -> list[StatusEvent]:
    """Return the events for a change to this status."""
    phase, before = status.get("phase", job.status.phase), job.status.phase
    (ready,) = [each for each in status.get("conditions", ()) if each["type"] == READY] or [None]
    if ready is None or (phase == before and ready["reason"] == find(job.status.conditions, READY).reason):
        return []
    if ready["reason"] in (POD_FAILED, POD_LOST, "PodRefused", "NameTaken"):
        return [StatusEvent("Warning", ready["reason"], ready["message"])]
    return [StatusEvent("Normal", phase, ready["message"])] if phase != before and phase != WAITING else []
