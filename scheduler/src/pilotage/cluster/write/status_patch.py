"""Patches of pod and group statuses: conditions and nominated nodes."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from pilotage.model.pod import Pod
from pilotage.model.pod_status import Condition, PodStatus

POD_SCHEDULED = "PodScheduled"
DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTED = "PreemptionByScheduler"


class Conditioned(Protocol):
    """A status that has conditions."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Return all of them."""

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of this type."""


@dataclass(frozen=True, slots=True)
class NewCondition:
    """A desired condition; the generation is that of the observed object."""

    type: str
    status: str
    reason: str
    message: str
    generation: int

    def is_set_on(self, status: Conditioned) -> bool:
        """Return whether an object already has this condition, regardless of an older observed generation."""
        old = status.condition(self.type)
        return old is not None and (old.status, old.reason, old.message) == (self.status, self.reason, self.message)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A condition, a nominated node, or both; None keeps the current one, "" clears the nomination."""

    condition: NewCondition | None = None
    nominate: str | None = None

    def over(self, older: "StatusChange") -> "StatusChange":
        """Return this change merged over an older one."""
        return StatusChange(
            older.condition if self.condition is None else self.condition,
            older.nominate if self.nominate is None else self.nominate,
        )

    def beyond(self, status: PodStatus) -> "StatusChange":
        """Return the part that a pod's status does not have yet."""
        said = self.condition is None or self.condition.is_set_on(status)
        return StatusChange(
            None if said else self.condition, None if self.nominate == status.nominated_node_name else self.nominate
        )

    def __bool__(self) -> bool:
        """Return whether there is anything to write."""
        return self.condition is not None or self.nominate is not None


def waiting_condition(pod: Pod, reason: str, message: str) -> NewCondition:
    """Return the condition of a pod that was not placed."""
    return NewCondition(POD_SCHEDULED, "False", reason, message, pod.metadata.generation)


def eviction_condition(victim: Pod, scheduler: str, preemptor: str) -> NewCondition:
    """Return the condition of a pod that is evicted for another pod or a group."""
    message = f"{scheduler}: preempting to accommodate a higher priority {preemptor}"
    return NewCondition(DISRUPTION_TARGET, "True", PREEMPTED, message, victim.metadata.generation)


def patch_body(uid: str, change: StatusChange, status: Conditioned, now: float) -> bytes:
    """Return the strategic merge patch of a change; the server rejects it for an object with another UID."""
    patched: dict[str, Any] = {}
    if change.condition is not None:
        patched["conditions"] = [_condition(change.condition, status, now)]
        if status.conditions and status.condition(change.condition.type) is None:
            # Without an explicit order the server inserts it first; conditions should read like a history.
            types = (*(each.type for each in status.conditions), change.condition.type)
            patched["$setElementOrder/conditions"] = [{"type": each} for each in types]
    if change.nominate is not None:
        patched["nominatedNodeName"] = change.nominate or None
    return msgspec.json.encode({"metadata": {"uid": uid}, "status": patched})


def _condition(new: NewCondition, status: Conditioned, now: float) -> dict[str, Any]:
    written: dict[str, Any] = {"type": new.type, "status": new.status, "reason": new.reason, "message": new.message}
    if new.generation:
        written["observedGeneration"] = new.generation
    old = status.condition(new.type)
    if old is None or old.status != new.status:  # fields that a patch omits stay
        written["lastTransitionTime"] = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return written
