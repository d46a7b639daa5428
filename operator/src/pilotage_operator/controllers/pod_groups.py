"""The desired status of a PodGroup.

too few pods ──► Pending ──► Scheduling ──► Running ──► Finished
                    ▲            │ ▲           │
                    │            ▼ │           ▼
                    └───────── Failed ◄────────┘      ends when the failed pods are replaced
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from pilotage.kinds.pod_groups import FINISHED, QUORUM_REACHED, RUNNING, PodGroupSpec
from pilotage.model.match_policies import MatchPolicy, match_policy
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage_operator.controllers import pod_group_failures
from pilotage_operator.controllers.conditions import ConditionState, StoredCondition, conditions, find, moment
from pilotage_operator.controllers.outcome import Outcome, StatusEvent
from pilotage_operator.controllers.pod_group_failures import MEMBER_FAILED, Aftermath, aftermath

LABEL = "scheduling.x-k8s.io/pod-group"
PENDING, SCHEDULING, FAILED = "Pending", "Scheduling", "Failed"
SCHEDULED = "Scheduled"
TIMEOUT = "Timeout"
# Coscheduling's message to every member of a gang.
TURNED_DOWN = re.compile(
    r"PodGroup \S+ gets rejected due to Pod (?P<pod>\S+) is (unschedulable even after PostFilter: )?(?P<why>.+)",
    re.DOTALL,
)
LONGEST_WAIT = timedelta(hours=48)
TOO_LONG = "schedule time longer than 48 hours"


class PodGroupStatus(Struct, frozen=True, rename="camel"):
    """The stored status of a group."""

    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str = ""
    conditions: tuple[StoredCondition, ...] = ()


class StoredPodGroup(Struct, rename="camel"):
    """A PodGroup with its complete status."""

    metadata: Metadata
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def quorum(self) -> int:
        """Return the number of required members; with zero, every group would count as finished."""
        return max(self.spec.min_member, 1)


class Tally:
    """The members of a group, oldest first, and their counts by phase."""

    def __init__(self, group: StoredPodGroup, pods: Iterable[Pod]) -> None:
        own = [pod for pod in pods if is_member(pod, group)]
        self.members = sorted(own, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
        self.running = sum(pod.status.phase == "Running" for pod in own)
        self.succeeded = sum(pod.status.phase == "Succeeded" for pod in own)
        self.failed = sum(pod.status.phase == "Failed" for pod in own)
        self.scheduled = sum(bool(pod.node_name) for pod in own)
        self.lasting = sum(bool(pod.node_name) and pod.status.phase != "Failed" for pod in own)
        self.waiting = [pod for pod in self.members if not pod.node_name and not pod.is_finished]
        self.active = sum(not pod.is_finished for pod in own)

    @property
    def counts(self) -> dict[str, int]:
        """Return the counts of the status."""
        return {
            "scheduled": self.scheduled,
            "pending": len(self.waiting),
            "running": self.running,
            "succeeded": self.succeeded,
            "failed": self.failed,
        }


def is_member(pod: Pod, group: StoredPodGroup) -> bool:
    """Return whether a pod counts for a group; one that is deleted before it finishes does not."""
    is_own = pod.namespace == group.metadata.namespace and pod.labels.get(LABEL) == group.metadata.name
    return is_own and (pod.is_finished or not pod.is_terminating)


def groups_of(pod: Pod) -> tuple[str, ...]:
    """Return the group that a change of a pod concerns."""
    name = pod.labels.get(LABEL)
    return (f"{pod.namespace}/{name}",) if name else ()


def decide(group: StoredPodGroup, pods: Iterable[Pod], now: datetime, refusal: str = "") -> Outcome:
    """Return the status fields that the controller owns, and the pods to delete.

    `pods` may contain pods of other groups; `refusal` is why the API server rejected the last deletion.
    """
    tally, past = Tally(group, pods), group.status
    generation = {"observedGeneration": group.metadata.generation}
    if past.phase in (FINISHED, FAILED) and not tally.active and (not tally.members or past.phase == FINISHED):
        return Outcome(generation)  # its pods were cleaned up, and there are no new ones
    is_late = _waits_too_long(group, tally, now)
    after = aftermath(group.metadata, group.quorum, find(past.conditions, MEMBER_FAILED), tally.members, now, refusal)
    state = {SCHEDULED: _scheduled(group, tally, is_late=is_late), **_quorum_reached(group, tally, after)}
    if after.state is not None:
        state[MEMBER_FAILED] = after.state
    status = {
        "phase": (past.phase or PENDING) if is_late else _phase(group.quorum, tally),
        "occupiedBy": _owners(tally.members) if len(tally.members) >= group.quorum else past.occupied_by,
        **tally.counts,
        **generation,
        "conditions": conditions(past.conditions, state, group.metadata.generation, now),
    }
    return Outcome(status, actions=after.actions, again=after.again)


def _quorum_reached(group: StoredPodGroup, tally: Tally, after: Aftermath) -> dict[str, ConditionState]:
    """Return the condition that the quorum was once reached, for the scheduler; it stays true until a restart."""
    if match_policy(group.metadata) is not MatchPolicy.ONCE_SATISFIED:
        return {}
    if after.restarts:
        return {QUORUM_REACHED: ConditionState(False, "GroupRestarts", "its members are restarted together")}
    if find(group.status.conditions, QUORUM_REACHED).is_true or tally.lasting < group.quorum:
        return {}
    return {
        QUORUM_REACHED: ConditionState(True, "MembersScheduled", f"{tally.lasting} members had a node at the same time")
    }


def _phase(quorum: int, tally: Tally) -> str:
    done = tally.running + tally.succeeded
    if len(tally.members) < quorum:
        return PENDING
    if tally.succeeded >= quorum:
        return FINISHED
    if done >= quorum:
        return RUNNING  # regardless of failures: enough members run
    if tally.failed and tally.active + tally.succeeded < quorum:
        return FAILED  # too few are left
    return SCHEDULING


def _waits_too_long(group: StoredPodGroup, tally: Tally, now: datetime) -> bool:
    """Return whether no member runs although the group has waited for two days."""
    past = group.status
    if past.phase not in (PENDING, SCHEDULING) or tally.running or tally.succeeded or not tally.waiting:
        return False
    if start := moment(past.schedule_start_time):
        created = moment(group.metadata.creation_timestamp) or start
        return max(start - created, now - start) > LONGEST_WAIT
    first = moment(tally.waiting[0].metadata.creation_timestamp)
    is_whole = len(tally.members) >= group.quorum
    return is_whole and first is not None and now - first > LONGEST_WAIT


def _scheduled(group: StoredPodGroup, tally: Tally, *, is_late: bool) -> ConditionState:
    quorum, there = group.quorum, len(tally.members)
    if tally.scheduled >= quorum:
        return ConditionState(True, "MembersScheduled", f"{tally.scheduled} members have a node, {quorum} are needed")
    if is_late:
        return ConditionState(False, TIMEOUT, TOO_LONG)
    if there < quorum:
        return ConditionState(False, "NotEnoughMembers", f"{there} of {quorum} members exist")
    blocker = _blocker(tally.waiting)
    return blocker or ConditionState(False, "Waiting", f"{tally.scheduled} of {quorum} members have a node")


def _blocker(waiting: Sequence[Pod]) -> ConditionState | None:
    """Return the condition of the member that fits no node, which all members of a rejected gang repeat."""
    names, others = {pod.name for pod in waiting}, None
    for pod in waiting:
        told = pod.status.condition("PodScheduled")
        if told is None or told.status != "False" or not told.message:
            continue
        reason = told.reason or "Unschedulable"
        if (found := TURNED_DOWN.match(told.message)) and found["pod"] in names:
            return ConditionState(False, reason, f"pod {found['pod']}: {found['why']}")
        others = others or ConditionState(False, reason, f"pod {pod.name}: {told.message}")
    return others


def _owners(members: Sequence[Pod]) -> str:
    """Return the owner of the oldest owned member; all members have the same owner, or owners of one kind."""
    for pod in members:
        if owners := pod.metadata.owner_references:
            return ",".join(sorted(f"{pod.namespace}/{owner.name}" for owner in owners))
    return ""


def status_events(group: StoredPodGroup, status: Mapping[str, Any]) -> list[StatusEvent]:
    """Return the events for a change to this status."""
    told = []
    phase = status.get("phase", group.status.phase)
    if phase != group.status.phase and phase != PENDING:
        done = f"{status['running']} run, {status['succeeded']} succeeded, {status['failed']} failed"
        note = f"{done}; {group.quorum} members are needed"
        told.append(StatusEvent("Warning" if phase == FAILED else "Normal", phase, note))
    now_late = any(each["reason"] == TIMEOUT for each in status.get("conditions", ()))
    if now_late and find(group.status.conditions, SCHEDULED).reason != TIMEOUT:
        told.append(StatusEvent("Warning", TIMEOUT, TOO_LONG))
    failure = find(group.status.conditions, MEMBER_FAILED)
    return [*told, *pod_group_failures.status_events(failure, group.status.failed, status)]
