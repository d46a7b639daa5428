"""The events of a profile, one for each change."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pilotage.scheduler_profiles.resource import Condition
from pilotage_operator.profiles.actions import WriteEvent
from pilotage_operator.profiles.past import Past
from pilotage_operator.profiles.world import StoredProfile

# The status of each condition that is normal; the opposite is worth a warning.
_GOOD_NEWS = {
    **dict.fromkeys(("Accepted", "Applied", "Ready"), "True"),
    **dict.fromkeys(("RolledBack", "Warning", "Contended"), "False"),
}
# These follow from another condition with more details.
_TOLD_ELSEWHERE = {
    *("NotAccepted", "LastGoodRunning", "RolledBack", "NotRolledBack", "Waiting", "NoWarning", "NotContended"),
}


def events(stored: StoredProfile, before: Past, status: Mapping[str, Any]) -> Iterator[WriteEvent]:
    """Yield an event for each condition that changed."""
    for condition in status["conditions"]:
        old = before.conditions.get(condition["type"])
        is_news = old is None or (old.status, old.reason) != (condition["status"], condition["reason"])
        is_other_fault = old is not None and condition["type"] == "Accepted" and old.message != condition["message"]
        is_new_spec = old is not None and condition["type"] in ("Applied", "Accepted") and _is_later(old, condition)
        if condition["reason"] in _TOLD_ELSEWHERE or not (is_news or is_other_fault or is_new_spec):
            continue
        good = condition["status"] == _GOOD_NEWS[condition["type"]]
        severity: Literal["Normal", "Warning"] = "Normal" if good else "Warning"
        note = f"generation {stored.metadata.generation}: {condition['message']}"
        yield WriteEvent(stored.name, stored.metadata.uid, severity, condition["reason"], note)


def _is_later(old: Condition, condition: Mapping[str, Any]) -> bool:
    return (old.observed_generation or 0) < int(condition["observedGeneration"])
