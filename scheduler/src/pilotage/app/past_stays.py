"""Where the predecessors of a pod ran, as far as existing pods and events still show it.

A scheduler sees all pods over time. A single read finds only pods that run, terminate or have finished; of deleted
pods the Scheduled event remains, for an hour unless the cluster is configured otherwise.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import Struct

from pilotage.app.cluster_reading import ClusterReading
from pilotage.cluster.watch.resources import PODS, ApiResource
from pilotage.framework.api.stays import Stay
from pilotage.framework.api.vacant_places import STABLE_NAMES, lineage
from pilotage.model.metadata import Metadata
from pilotage.model.moments import seconds_of
from pilotage.model.pod import Pod

ASSIGNED = re.compile(r"Successfully assigned \S+ to (\S+)")  # the message of kube-scheduler's event, and of ours
GENERATED = "[a-z0-9]{5}"  # what the API server appends to generateName
TEMPLATE = "[a-z0-9]{1,10}"  # the hash between a deployment's name and that
ENDED = "Ready"  # the condition that becomes false when a pod ends


class Involved(Struct, frozen=True, gc=False, rename="camel"):
    """The object of an event."""

    name: str = ""
    uid: str = ""


class PodEvent(Struct, gc=False, rename="camel"):
    """An event about a pod."""

    metadata: Metadata
    involved_object: Involved = Involved()
    message: str = ""
    event_time: str | None = None
    first_timestamp: str | None = None

    @property
    def at(self) -> float:
        """Return when it was first recorded."""
        times = (self.event_time, self.first_timestamp, self.metadata.creation_timestamp)
        return next((found for each in times if (found := seconds_of(each)) is not None), 0.0)


def _events(namespace: str, reason: str) -> ApiResource[PodEvent]:
    selector = f"involvedObject.kind=Pod,reason={reason}"
    return ApiResource("", "v1", "events", PodEvent, lambda given: given, selector, namespace=namespace)


async def past_stays(reading: ClusterReading, pod: Pod, now: float) -> list[Stay]:
    """Return the stays of a pod and its predecessors; the pod's own stay, if it has not ended, ends now."""
    if lineage(pod) is None:
        return []
    all_pods = replace(PODS, field_selector="", namespace=pod.namespace)  # also finished ones
    known = (await reading.list(all_pods)).objects.values()
    scheduled = (await reading.list(_events(pod.namespace, "Scheduled"))).objects.values()
    killed = (await reading.list(_events(pod.namespace, "Killing"))).objects.values()
    kin = [each for each in known if lineage(each) == lineage(pod)]
    left = {each.involved_object.uid: each.at for each in sorted(killed, key=lambda each: -each.at)}
    there = [_stay(each, left, now if each.uid == pod.uid else None) for each in kin if each.node_name]
    return there + list(_gone(pod, {each.uid for each in known}, scheduled, left, _created(kin), now))


def _stay(pod: Pod, killed: dict[str, float], otherwise: float | None) -> Stay:
    """Return the stay of a pod that exists."""
    placed, ended = pod.status.condition("PodScheduled"), pod.status.condition(ENDED)
    times = (placed and placed.last_transition_time, pod.status.start_time, pod.metadata.creation_timestamp)
    came = next((found for each in times if (found := seconds_of(each)) is not None), 0.0)
    if pod.is_terminating:  # deletionTimestamp is the time by which it must be gone
        end = seconds_of(pod.metadata.deletion_timestamp) or came
        return Stay(pod.uid, pod.node_name, came, end - (pod.metadata.deletion_grace_period_seconds or 0))
    if pod.is_finished:
        end = seconds_of(ended and ended.last_transition_time) or killed.get(pod.uid) or came
        return Stay(pod.uid, pod.node_name, came, max(came, end))
    return Stay(pod.uid, pod.node_name, came, otherwise)


def _gone(
    pod: Pod,
    known: set[str],
    scheduled: Iterable[PodEvent],
    killed: dict[str, float],
    created: list[float],
    now: float,
) -> Iterator[Stay]:
    """Find the stays of deleted predecessors; without a known end, a stay ends when the next pod was created."""
    names, successors = _names(pod), sorted(created)
    for each in sorted(scheduled, key=lambda event: event.at):
        who, node = each.involved_object, ASSIGNED.fullmatch(each.message)
        if node is None or who.uid in known or not names.fullmatch(who.name):
            continue
        next_one = next((moment for moment in successors if moment >= each.at), now)
        if next_one in successors:
            successors.remove(next_one)
        yield Stay(who.uid, node[1], each.at, killed.get(who.uid, next_one))


def _names(pod: Pod) -> re.Pattern[str]:
    """Return the pattern of the predecessors' names: the pod's own name, or one generated from the same prefix."""
    kin = lineage(pod)
    if isinstance(kin, tuple) and kin[1:2] == ("Deployment",):
        return re.compile(f"{re.escape(kin[2])}-{TEMPLATE}-{GENERATED}")
    owner, generated = pod.metadata.controller, re.fullmatch(f"(.*-){GENERATED}", pod.name)
    if generated and owner is not None and owner.kind != STABLE_NAMES and owner.name != pod.name:
        return re.compile(f"{re.escape(generated[1])}{GENERATED}")
    return re.compile(re.escape(pod.name))


def _created(pods: Sequence[Pod]) -> list[float]:
    return [moment for pod in pods if (moment := seconds_of(pod.metadata.creation_timestamp)) is not None]
