"""Handles failed members of a PodGroup: reports them, and restarts the others if the group requests it.

A member is restarted because of a failure only if it existed before. A newer one is already part of the restart, even
if the failed pod still exists: no state is needed, and no failure restarts a group twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage_operator.controllers.conditions import ConditionState, StoredCondition, moment
from pilotage_operator.controllers.outcome import DeletePod, StatusEvent

ANNOTATION = "pod-group.pilotage.dev/when-a-member-fails"
RESTART_GROUP = "RestartGroup"
MEMBER_FAILED = "MemberFailed"
RESTARTING, REFUSED, TOO_FEW, NO_OWNER = "RestartingGroup", "RestartRefused", "TooFewToRestart", "NobodyToRestart"
NOT_UNDERSTOOD, NO_FAILURE = "NotUnderstood", "NoFailure"
# The minimum age of a member for deletion: a group that fails immediately restarts at most twice a minute.
YOUNGEST = timedelta(seconds=30)
MOST_NAMES = 10
# Their times are not after the failure. PodReadyToStartContainers changes later, when new members may exist already.
TELLING = ("PodScheduled", "Ready", "DisruptionTarget")
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Aftermath:
    """The condition about failures, and the members to delete because of them."""

    state: ConditionState | None = None  # None: no condition
    actions: tuple[DeletePod, ...] = ()
    again: datetime | None = None

    @property
    def restarts(self) -> bool:
        """Return whether the group is restarted."""
        return self.state is not None and self.state.reason == RESTARTING


class Failures:
    """The failed members of a group since its last restart, the latest first."""

    def __init__(self, members: Sequence[Pod]) -> None:
        self.active = [pod for pod in members if not pod.is_finished]
        # A deleted pod also ends as failed, but that is not a failure.
        ended = [pod for pod in members if pod.status.phase == "Failed" and not pod.is_terminating]
        self.pods = self._current(ended, members) if ended else []
        latest = failed_at(self.pods[0]) if self.pods else LONG_AGO
        self.older = [pod for pod in self.active if created_at(pod) < latest] if self.pods else []

    def _current(self, ended: Sequence[Pod], members: Sequence[Pod]) -> list[Pod]:
        """Return the failures without newer members, or with running members that existed before."""
        newest = max(map(created_at, members))
        oldest = min(map(created_at, self.active), default=datetime.max.replace(tzinfo=UTC))
        found = [(failed, pod) for pod in ended if newest <= (failed := failed_at(pod)) or oldest < failed]
        return [pod for _, pod in sorted(found, key=lambda each: (each[0], each[1].name), reverse=True)]

    @property
    def names(self) -> str:
        """Return the names of failed pods, for messages."""
        return _names(self.pods)

    @property
    def after_a_restart(self) -> int:
        """Return the number of members after a restart: running ones, and replacements of failed ones."""
        first = failed_at(self.pods[-1])
        followed = sum(created_at(pod) > first for pod in self.active)
        return len(self.active) + max(0, sum(_is_owned(pod) for pod in self.pods) - followed)


def aftermath(
    metadata: Metadata, quorum: int, stored: StoredCondition, members: Sequence[Pod], now: datetime, refusal: str = ""
) -> Aftermath:
    """Return the reaction to failures; `refusal` is why the API server rejected the last deletion."""
    failures, wish = Failures(members), metadata.annotations.get(ANNOTATION)
    if wish not in (None, RESTART_GROUP):
        text = f"the annotation {ANNOTATION} is {wish!r}; set it to {RESTART_GROUP}, or remove it"
        return Aftermath(
            ConditionState(bool(failures.pods), NOT_UNDERSTOOD, "; ".join(filter(None, (failures.names, text))))
        )
    if not failures.pods:
        return Aftermath(ConditionState(False, NO_FAILURE, "") if stored.status else None)
    if wish is None or not failures.older:
        return Aftermath(ConditionState(True, MEMBER_FAILED, failures.names))
    return _restart(failures, quorum, stored, now, refusal)


def _restart(failures: Failures, quorum: int, stored: StoredCondition, now: datetime, refusal: str) -> Aftermath:
    owned = [pod for pod in failures.older if _is_owned(pod)]
    left = [pod for pod in failures.older if not _is_owned(pod)]
    spared = f"; not deleted, because no controller would recreate it: {_names(left)}" if left else ""
    if not owned:
        return Aftermath(ConditionState(True, NO_OWNER, failures.names + spared))
    # Members already deleted by this restart are missing: there were enough when it started.
    is_under_way = stored.reason == RESTARTING and stored.message.startswith(f"{failures.names};")
    if failures.after_a_restart < quorum and not is_under_way:
        text = f"only {failures.after_a_restart} of the {quorum} required members would be recreated"
        return Aftermath(ConditionState(True, TOO_FEW, f"{failures.names}; {text}"))
    due = max(created_at(pod) for pod in owned) + YOUNGEST
    if now < due:
        return Aftermath(ConditionState(True, MEMBER_FAILED, failures.names), again=due)
    actions = tuple(DeletePod(pod.namespace, pod.name, pod.uid) for pod in owned)
    if refusal:
        text = f"{refusal}; controller.restartPodGroups=true of the chart grants `delete` on pods"
        return Aftermath(ConditionState(True, REFUSED, f"{failures.names}; {text}"), actions)
    text = f"{failures.names}; deleting, to restart together: {_names(owned)}{spared}"
    return Aftermath(ConditionState(True, RESTARTING, text), actions)


def status_events(stored: StoredCondition, failed: int, status: Mapping[str, Any]) -> list[StatusEvent]:
    """Return the events; `failed` is the number of members that had failed before."""
    (state,) = [each for each in status.get("conditions", ()) if each["type"] == MEMBER_FAILED] or [None]
    if state is None:
        return []
    told, reason, message = [], state["reason"], state["message"]
    if state["status"] == "True" and _is_new(message, stored, more=status["failed"] > failed):
        told.append(StatusEvent("Warning", MEMBER_FAILED, f"failed: {message.partition('; ')[0]}"))
    if reason not in (MEMBER_FAILED, NO_FAILURE, stored.reason):
        told.append(StatusEvent("Normal" if reason == RESTARTING else "Warning", reason, message))
    return told


def _is_new(message: str, stored: StoredCondition, *, more: bool) -> bool:
    """Return whether there is a new failure."""
    if not stored.status:
        return more  # a CRD of another project may drop conditions, but has counts
    (latest, *others), known = _failed_in(message), _failed_in(stored.message)
    # If too many failed to name all of them, older ones appear when others are cleaned up.
    return latest not in known or (len(known) < MOST_NAMES and not set(others) <= set(known))


def failed_at(pod: Pod) -> datetime:
    """Return when a pod failed, or an earlier time of its life if that is unknown."""
    times = (moment(each.last_transition_time) for each in pod.status.conditions if each.type in TELLING)
    return max((time for time in times if time), default=created_at(pod))


def created_at(pod: Pod) -> datetime:
    """Return when a pod was created."""
    return moment(pod.metadata.creation_timestamp) or LONG_AGO


def _is_owned(pod: Pod) -> bool:
    return pod.metadata.controller is not None


def _names(pods: Sequence[Pod]) -> str:
    more = [f"and {len(pods) - MOST_NAMES} more"] if len(pods) > MOST_NAMES else []
    return ", ".join([*(pod.name for pod in pods[:MOST_NAMES]), *more])


def _failed_in(message: str) -> list[str]:
    return [name for name in message.partition("; ")[0].split(", ") if " " not in name]
