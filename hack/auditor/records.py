"""Records of all pods, including recently deleted ones."""

from collections import deque
from dataclasses import dataclass, field

from auditor.attempt import Attempt
from auditor.pod import Pod

CREATION_STEP = 1.0  # creationTimestamp is written in whole seconds
KEPT_AFTER_END = 900.0  # seconds; a late audit line still finds its pod


@dataclass(slots=True)
class Span:
    """A state of a pod: when it was first seen, and when it was seen to have ended."""

    since: float | None = None
    until: float | None = None

    def see(self, active: bool, now: float) -> None:
        """Record whether the state holds now."""
        if active and (self.since is None or self.until is not None):
            self.since, self.until = now, None
        elif not active and self.since is not None and self.until is None:
            self.until = now

    def covers(self, at: float, settled: float, slack: float) -> bool:
        """Return whether the state had been visible for `settled` seconds at a time, and lasted `slack` beyond it."""
        if self.since is None or self.since + settled >= at:
            return False
        return self.until is None or at < self.until - slack


@dataclass(slots=True)
class Record:
    """The observed life of one pod."""

    pod: Pod
    gone: float | None = None
    gated: Span = field(default_factory=Span)
    deleting: Span = field(default_factory=Span)
    bound: Span = field(default_factory=Span)
    bindings: list[Attempt] = field(default_factory=list)

    def see(self, pod: Pod, now: float) -> None:
        """Record the pod's next version."""
        self.pod = pod
        self.gated.see(pod.gated, now)
        self.deleting.see(pod.deleting, now)
        self.bound.see(bool(pod.node), now)

    def end(self, now: float) -> None:
        """Record that the pod was deleted."""
        self.gone = now

    def lived_at(self, at: float) -> bool:
        """Return whether the pod can have existed at a time."""
        return self.pod.created <= at + CREATION_STEP and (self.gone is None or at <= self.gone)


class Records:
    """All pods that exist, or existed recently."""

    def __init__(self) -> None:
        self.by_uid: dict[str, Record] = {}
        self._by_name: dict[tuple[str, str], list[Record]] = {}
        self._ended: deque[Record] = deque()

    def alive(self) -> list[str]:
        """Return the uids of the pods that exist."""
        return [uid for uid, record in self.by_uid.items() if record.gone is None]

    def see(self, pod: Pod, now: float) -> Record:
        """Record a pod's version and return its record."""
        record = self.by_uid.get(pod.uid)
        if record is None:
            record = self.by_uid[pod.uid] = Record(pod)
            self._by_name.setdefault((pod.namespace, pod.name), []).append(record)
        record.see(pod, now)
        return record

    def end(self, uid: str, now: float) -> Pod | None:
        """Record that a pod is gone, and return its last version if that is news."""
        record = self.by_uid.get(uid)
        if record is None or record.gone is not None:
            return None
        record.end(now)
        self._ended.append(record)
        return record.pod

    def meant_by(self, attempt: Attempt) -> Record | None:
        """Return the pod that a binding request was about, if it is known."""
        if attempt.uid:
            return self.by_uid.get(attempt.uid)
        namesakes = self._by_name.get((attempt.namespace, attempt.pod), ())
        return next((record for record in reversed(namesakes) if record.lived_at(attempt.received)), None)

    def forget(self, now: float) -> None:
        """Drop pods that were deleted long ago."""
        while self._ended and (self._ended[0].gone or 0.0) < now - KEPT_AFTER_END:
            record = self._ended.popleft()
            del self.by_uid[record.pod.uid]
            name = (record.pod.namespace, record.pod.name)
            self._by_name[name].remove(record)
            if not self._by_name[name]:
                del self._by_name[name]
