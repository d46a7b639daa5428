"""A waiting pod, with the queue's records about it."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod


class Place(Protocol):
    """A part of the queue."""

    name: str  # as in metrics

    def add(self, queued: "QueuedPod") -> None:
        """Add a pod."""

    def remove(self, queued: "QueuedPod") -> None:
        """Remove a pod."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator["QueuedPod"]: ...


class QueuedPod:
    """A pod, its place in the queue, its attempts, and the plugins that rejected it."""

    __slots__ = (
        "again_at",
        "attempts",
        "backoff_expiration",
        "consecutive_errors",
        "flush_timestamp",
        "gang",
        "gate_reports_opening",
        "gating_plugin",
        "gating_reason",
        "initial_attempt_timestamp",
        "key",
        "moved_by",
        "overruns",
        "pending_plugins",
        "place",
        "pod",
        "rest",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, pod: Pod, timestamp: float) -> None:
        self.pod = pod
        self.key = pod.key
        self.gang: GangName | None = None  # the gang's pods in the queue
        self.place: Place | None = None  # None while it does not wait: in flight, bound or deleted
        self.moved_by = ""  # the event that moved it there
        self.timestamp = timestamp  # when it entered the queue, or returned from an attempt
        self.initial_attempt_timestamp: float | None = None  # when it was first ready, past all gates
        self.attempts = 0
        self.unschedulable_count = 0  # attempts that ended with a rejection
        self.consecutive_errors = 0  # attempts since then that ended with an error
        self.backoff_expiration: float | None = None  # None until it is computed
        self.unschedulable_plugins: set[str] = set()
        self.pending_plugins: set[str] = set()
        self.gating_plugin: str | None = None
        self.gating_reason = ""
        self.gate_reports_opening = False  # the plugin reports when its gate opens, so events need not check it
        self.again_at: float | None = None  # when it is retried even without an event
        self.rest = 0.0  # minimum wait in seconds after its last attempt
        self.overruns = 0  # attempts in which a plugin took too long
        self.was_flushed = False  # moved because it had waited too long, not by an event
        self.flush_timestamp = 0.0

    def __repr__(self) -> str:
        return f"QueuedPod({self.key}, {self.place.name if self.place else 'not waiting'})"

    @property
    def since(self) -> float:
        """Return since when the pod waits: when it was first ready, or came."""
        first = self.initial_attempt_timestamp
        return self.timestamp if first is None else first

    @property
    def is_gated(self) -> bool:
        """Return whether a plugin gates the pod."""
        return self.gating_plugin is not None

    @property
    def was_rejected(self) -> bool:
        """Return whether a plugin rejected the pod, so that an event can help; an error names no plugin."""
        return bool(self.unschedulable_plugins or self.pending_plugins)

    def forget_rest(self) -> None:
        """Leave only the usual back-off."""
        if self.rest:
            self.rest, self.backoff_expiration = 0.0, None

    def note_failure(self, now: float, unschedulable: Iterable[str], pending: Iterable[str], rest: float = 0.0) -> None:
        """Record a failed attempt, and the plugins that rejected the pod; none after an error."""
        self.rest = rest
        self.unschedulable_plugins, self.pending_plugins = set(unschedulable), set(pending)
        self.gating_plugin, self.gating_reason = None, ""
        if self.was_rejected:
            self.unschedulable_count += 1
            self.consecutive_errors = 0
        else:
            self.consecutive_errors += 1
        self.timestamp, self.backoff_expiration = now, None
        self.was_flushed, self.flush_timestamp = False, 0.0
