"""Checks whether the release's own replicas placed its test pods, by the reporters of events."""

from collections.abc import Iterable, Sequence

import msgspec

from pilotage_operator.profiles.world import Metadata
from pilotage_operator.settings import Settings
from pilotage_operator.verification.findings import Finding, well

_LONGEST_INSTANCE = 128  # of the reporter of an event


class PodSpec(msgspec.Struct, rename="camel"):
    """The schedulerName and the node of a pod."""

    scheduler_name: str = ""
    node_name: str = ""


class PodCondition(msgspec.Struct):
    """A condition of a pod."""

    type: str = ""
    status: str = ""
    message: str = ""


class PodStatus(msgspec.Struct):
    """The status of a pod."""

    conditions: list[PodCondition] = msgspec.field(default_factory=list)


class TestPod(msgspec.Struct):
    """A pod that `helm test` created for one scheduler."""

    __test__ = False  # not a test class, despite its name

    metadata: Metadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class Regarding(msgspec.Struct):
    """The object of an event."""

    uid: str = ""


class Event(msgspec.Struct, rename="camel"):
    """An event and its reporter."""

    reason: str = ""
    reporting_instance: str = ""
    regarding: Regarding = msgspec.field(default_factory=Regarding)


def about_placements(
    schedulers: Sequence[str],
    pods: Sequence[TestPod],
    events: Iterable[Event],
    replicas: Sequence[str],
    settings: Settings,
) -> list[Finding]:
    """Return for each scheduler whether its test pod was placed by one of these replicas."""
    placers = {event.regarding.uid: event.reporting_instance for event in events if event.reason == "Scheduled"}
    alive = [pod for pod in pods if not pod.metadata.deletion_timestamp]
    newest = {pod.spec.scheduler_name: pod for pod in sorted(alive, key=lambda pod: pod.metadata.creation_timestamp)}
    return [
        _about(newest[name], placers, replicas, settings)
        if name in newest
        else Finding(False, f"there is no test pod of scheduler {name} yet", "Run the test with helm.", may_pass=True)
        for name in schedulers
    ]


def _about(pod: TestPod, placers: dict[str, str], replicas: Sequence[str], settings: Settings) -> Finding:
    who = f"pod {pod.metadata.name} of scheduler {pod.spec.scheduler_name}"
    if not pod.spec.node_name:
        said = [each.message for each in pod.status.conditions if each.type == "PodScheduled" and each.message]
        text = f"{who} is pending: {said[0] if said else 'no scheduler has tried it'}"
        return Finding(False, text, "Follow the message; " + _look(settings), may_pass=True)
    placer = placers.get(pod.metadata.uid)
    if placer is None:
        text = f"{who} is on {pod.spec.node_name}, and there is no Scheduled event yet"
        return Finding(False, text, _look(settings), may_pass=True)
    for replica in replicas:
        if placer == f"{pod.spec.scheduler_name}-{replica}"[:_LONGEST_INSTANCE]:
            return well(f"{who} was placed on {pod.spec.node_name} by {replica}")
    text = f"{who} was placed on {pod.spec.node_name} by {placer}, which is not a replica of this release"
    return Finding(False, text, "Another scheduler serves this name; set a different scheduler.name.")


def _look(settings: Settings) -> str:
    place = f"kubectl -n {settings.namespace}"
    return f"see the scheduler's log: {place} logs deployment/{settings.scheduler_deployment}"
