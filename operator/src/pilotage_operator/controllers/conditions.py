"""Conditions of custom resources, with the times of their last transitions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType, to_builtins

from pilotage_operator.controllers.outcome import StatusEvent
from pilotage_operator.profiles.world import written

LONGEST_MESSAGE = 1024  # characters; some quote a scheduler's message


class StoredCondition(Struct, frozen=True, rename="camel"):
    """A condition as in the API."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int | UnsetType = UNSET

    @property
    def is_true(self) -> bool:
        """Return whether its status is True."""
        return self.status == "True"

    @property
    def since(self) -> datetime | None:
        """Return the time of its last transition."""
        return moment(self.last_transition_time)


@dataclass(frozen=True)
class ConditionState:
    """The desired state of a condition."""

    holds: bool
    reason: str
    message: str


def conditions(
    stored: Iterable[StoredCondition], state: Mapping[str, ConditionState], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """Return all conditions with these states; conditions of other controllers are unchanged."""
    known = {condition.type: condition for condition in stored}
    wanted = {kind: _answered(kind, answer, known.get(kind), generation, now) for kind, answer in state.items()}
    kept = {kind: to_builtins(condition) for kind, condition in known.items()}
    return list((kept | wanted).values())


def with_times(stored: Mapping[str, Any], wanted: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    """Return a status whose conditions have the correct transition times."""
    if not isinstance(wanted.get("conditions"), list):
        return wanted
    since = {
        (each.get("type"), each.get("status")): each.get("lastTransitionTime") for each in stored.get("conditions", ())
    }
    kept = [(each, since.get((each["type"], each["status"]))) for each in wanted["conditions"]]
    timed = [
        each | {"lastTransitionTime": time or each.get("lastTransitionTime") or written(now)} for each, time in kept
    ]
    return {**wanted, "conditions": timed}


def find(stored: Iterable[StoredCondition], kind: str) -> StoredCondition:
    """Return the condition of a type; one without a status if it does not exist."""
    return next((condition for condition in stored if condition.type == kind), StoredCondition(kind))


def turns(stored: Iterable[StoredCondition], status: Mapping[str, Any], good: Mapping[str, bool]) -> list[StatusEvent]:
    """Return an event for each condition that becomes bad or good again; `good` are the good statuses."""
    before = tuple(stored)
    told = []
    for each in status.get("conditions", ()):
        kind, was = each["type"], find(before, each["type"])
        if kind not in good or (was.status, was.reason) == (each["status"], each["reason"]):
            continue
        is_good = (each["status"] == "True") == good[kind]
        if not is_good or (was.status and was.is_true != good[kind]):
            told.append(StatusEvent("Normal" if is_good else "Warning", each["reason"], each["message"]))
    return told


def moment(text: str | None) -> datetime | None:
    """Parse a time of the API; None if it is missing or invalid."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _answered(
    kind: str, state: ConditionState, stored: StoredCondition | None, generation: int, now: datetime
) -> dict[str, Any]:
    status = "True" if state.holds else "False"
    is_old = stored is not None and stored.status == status and stored.since is not None
    return {
        "type": kind,
        "status": status,
        "reason": state.reason,
        "message": state.message[:LONGEST_MESSAGE],
        "lastTransitionTime": stored.last_transition_time if stored and is_old else written(now),
        "observedGeneration": generation,
    }
