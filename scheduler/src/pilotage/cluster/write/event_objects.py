"""Events as API objects: of events.k8s.io/v1, or of core/v1 if that is not served."""

from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote
from uuid import NAMESPACE_OID, uuid5

import msgspec

from pilotage.cluster.write.microtime import format_microtime

NORMAL, WARNING = "Normal", "Warning"

_LONGEST_NOTE = 1024  # bytes, as the API server counts
_MARK = " ..."
_LONGEST_INSTANCE = 128
_LONGEST_NAME = 253


class Subject(NamedTuple):
    """The identity of an event series: everything except the note."""

    severity: str
    reason: str
    action: str
    controller: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    kind: str = "Pod"
    api_version: str = "v1"


class EventContent(Protocol):
    """The content of an event; times are nanoseconds since 1970."""

    subject: Subject
    note: str
    first: int
    last: int
    count: int


class EventApi(Protocol):
    """One of the two APIs for events."""

    def path(self, namespace: str) -> str:
        """Return the path for creating events."""

    def creation(self, event: EventContent) -> dict[str, Any]:
        """Return the first event of a series."""

    def repetition(self, event: EventContent) -> dict[str, Any]:
        """Return the patch for a repeated event."""


class EventsV1:
    """The API events.k8s.io/v1, which the server validates strictly."""

    def __init__(self, hostname: str) -> None:
        self._hostname = hostname

    def path(self, namespace: str) -> str:
        """Return the path for creating events."""
        return f"/apis/events.k8s.io/v1/namespaces/{quote(namespace, safe='')}/events"

    def creation(self, event: EventContent) -> dict[str, Any]:
        """Return a new event; one that was already repeated has a series from the start."""
        subject = event.subject
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": event_name(event), "namespace": subject.namespace},
            "eventTime": _microtime(event.first),
            "reportingController": subject.controller,
            "reportingInstance": f"{subject.controller}-{self._hostname}"[:_LONGEST_INSTANCE],
            "action": subject.action,
            "reason": subject.reason,
            "regarding": _reference(subject),
            "note": shortened(event.note),
            "type": subject.severity,
            **(self.repetition(event) if event.count > 1 else {}),
        }

    def repetition(self, event: EventContent) -> dict[str, Any]:
        """Return the patch for a repeated event."""
        return {"series": {"count": event.count, "lastObservedTime": _microtime(event.last)}}


class CoreV1:
    """The API core/v1, for old API servers and for leader election."""

    def path(self, namespace: str) -> str:
        """Return the path for creating events."""
        return f"/api/v1/namespaces/{quote(namespace, safe='')}/events"

    def creation(self, event: EventContent) -> dict[str, Any]:
        """Return the first event of a series."""
        subject = event.subject
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event_name(event), "namespace": subject.namespace},
            "involvedObject": _reference(subject),
            "reason": subject.reason,
            "message": shortened(event.note),
            "source": {"component": subject.controller},
            "reportingComponent": subject.controller,
            "firstTimestamp": _seconds(event.first),
            "type": subject.severity,
            **self.repetition(event),
        }

    def repetition(self, event: EventContent) -> dict[str, Any]:
        """Return the patch for a repeated event."""
        return {"count": event.count, "lastTimestamp": _seconds(event.last)}


def event_name(event: EventContent) -> str:
    """Return the event's name: its object's name and the time, or a digest of both if that is too long."""
    name = f"{event.subject.name}.{event.first:x}"
    return name if len(name) <= _LONGEST_NAME else str(uuid5(NAMESPACE_OID, name))


def shortened(note: str) -> str:
    """Return the note, cut to the server's limit with a mark at the end."""
    if len(note) * 4 <= _LONGEST_NOTE:  # no character takes more than four bytes
        return note
    text = note.encode(errors="replace")
    if len(text) <= _LONGEST_NOTE:
        return note
    # kube-scheduler cuts between bytes, which leaves invalid UTF-8.
    return text[: _LONGEST_NOTE - len(_MARK)].decode(errors="ignore") + _MARK


def encoded(manifest: dict[str, Any]) -> bytes:
    """Return an event as JSON."""
    return msgspec.json.encode(manifest)


def _reference(subject: Subject) -> dict[str, str]:
    return {
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "uid": subject.uid,
        "apiVersion": subject.api_version,
        "resourceVersion": subject.resource_version,
    }


def _moment(nanoseconds: int) -> datetime:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


def _microtime(nanoseconds: int) -> str:
    return format_microtime(_moment(nanoseconds))


def _seconds(nanoseconds: int) -> str:
    return _moment(nanoseconds).strftime("%Y-%m-%dT%H:%M:%SZ")
