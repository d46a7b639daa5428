"""The operator's events in events.k8s.io/v1, and their rate limit."""

from collections.abc import Mapping
from datetime import UTC, datetime
from time import monotonic
from typing import Any
from uuid import uuid4

from pilotage.cluster.write.event_objects import shortened
from pilotage.cluster.write.microtime import format_microtime
from pilotage.scheduler_profiles.resource import API_VERSION, GROUP, KIND
from pilotage_operator.profiles.actions import WriteEvent, WriteFileEvent
from pilotage_operator.settings import FIELD_MANAGER


def event_manifest(event: WriteEvent) -> dict[str, Any]:
    """Return an event of events.k8s.io/v1 about a profile."""
    about = {"apiVersion": API_VERSION, "kind": KIND, "name": event.name, "uid": event.uid}
    return _event("default", about, event.severity, event.reason, event.note)


def file_event_manifest(event: WriteFileEvent, namespace: str) -> dict[str, Any]:
    """Return an event about a ConfigMap with an invalid plugin file."""
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": event.name, "namespace": namespace, "uid": event.uid}
    return _event(namespace, about, "Warning", "BrokenPlugin", event.note)


def _event(namespace: str, about: Mapping[str, str], severity: str, reason: str, note: str) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{about['name'][:200]}.{uuid4().hex[:16]}", "namespace": namespace},
        "eventTime": format_microtime(datetime.now(UTC)),
        "reportingController": f"{GROUP}/operator",
        "reportingInstance": FIELD_MANAGER,
        "action": "Reconciling",
        "reason": reason,
        "regarding": dict(about),
        "note": shortened(note),
        "type": severity,
    }


class EventBudget:
    """A token bucket of events; events above the limit are dropped."""

    def __init__(self, burst: int, seconds: float) -> None:
        self._burst, self._seconds = burst, seconds
        self._left, self._at = float(burst), monotonic()

    def take(self) -> bool:
        """Return whether one more event may be written."""
        now = monotonic()
        self._left = min(self._burst, self._left + (now - self._at) / self._seconds)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
