"""The rules about bindings: who bound which pod, in which state, how often."""

from collections import deque
from collections.abc import Iterator

from auditor.attempt import Attempt
from auditor.pod import Pod
from auditor.records import Record, Records, Span
from auditor.rules import Violation, clock, violation
from auditor.serves import Serves

HOLD = 90.0  # seconds; longer than a stalled watch goes unnoticed
SEEING_LAG = 1.0  # seconds; a state may have ended this much before its end was seen


class Bindings:
    """Judges each binding request once its pod is known.

    Granted in a state that forbids it: the pod's own versions tell that exactly, in `arrived`.
    """

    def __init__(self, records: Records, serves: Serves, grace: float) -> None:
        self._records = records
        self._serves = serves
        self._grace = grace
        self._slack = max(grace, SEEING_LAG)
        self._refused: deque[tuple[Attempt, float]] = deque()
        self.matched = 0
        self._held: dict[tuple[str, str], list[tuple[Attempt, float]]] = {}

    def take(self, attempt: Attempt, elapsed: float) -> Iterator[Violation]:
        """Judge a granted request, or hold it until its pod is known; keep a refused one until its pod's state is."""
        if attempt.refused:
            self._refused.append((attempt, elapsed))
        if not attempt.succeeded:
            return
        if record := self._records.meant_by(attempt):
            yield from self._granted(record, attempt)
        else:
            self._held.setdefault((attempt.namespace, attempt.pod), []).append((attempt, elapsed))

    def known(self, pod: Pod) -> Iterator[Violation]:
        """Judge the requests that waited for this pod to be known."""
        for attempt, elapsed in self._held.pop((pod.namespace, pod.name), ()):
            yield from self.take(attempt, elapsed)

    def ripe(self, elapsed: float) -> Iterator[Violation]:
        """Judge the refused requests for which the watch has had time to tell of the pod's state."""
        while self._refused and self._refused[0][1] + self._slack < elapsed:
            attempt, _ = self._refused.popleft()
            if record := self._records.meant_by(attempt):
                yield from self._refusal(record, attempt)

    def arrived(self, record: Record, old: Pod | None, now: float) -> Iterator[Violation]:
        """Judge a binding by the versions of the pod alone."""
        pod, last = record.pod, record.bindings[-1] if record.bindings else None
        binder = last.user if last else ""
        if old and old.node:
            yield violation("double-bind", now, pod, f"its node changed from {old.node} to {pod.node}", binder=binder)
        elif last and last.node != pod.node:
            yield violation("double-bind", now, pod, f"bound to {last.node}, but seen on {pod.node}", binder=binder)
        if pod.gated:
            yield violation("bound-gated", now, pod, "it was placed on a node while gated", binder=binder)
        if old and old.deleting:
            yield violation("bound-deleting", now, pod, "it was placed on a node while being deleted", binder=binder)

    def expired(self, elapsed: float) -> Iterator[Attempt]:
        """Give up and yield the granted requests whose pod did not become known in time."""
        for name, held in list(self._held.items()):
            self._held[name] = [(attempt, since) for attempt, since in held if elapsed - since < HOLD]
            yield from (attempt for attempt, since in held if elapsed - since >= HOLD)
            if not self._held[name]:
                del self._held[name]

    def _granted(self, record: Record, attempt: Attempt) -> Iterator[Violation]:
        if attempt.audit_id and attempt.audit_id in (earlier.audit_id for earlier in record.bindings):
            return  # a line that was read before, from a log that was cut and copied
        self.matched += 1
        yield from self._once(record, attempt)
        yield from self._by_whom(record, attempt)

    def _once(self, record: Record, attempt: Attempt) -> Iterator[Violation]:
        pod, earlier = record.pod, record.bindings[-1] if record.bindings else None
        record.bindings.append(attempt)
        if earlier:
            text = f"bound to {earlier.node} by {earlier.user} before, and to {attempt.node} now"
            yield breach("double-bind", record, attempt, text)
        elif record.bound.covers(attempt.received, settled=0, slack=SEEING_LAG):
            yield breach("bound-bound", record, attempt, f"bound although it already had the node {pod.node}")
        elif pod.node and pod.node != attempt.node:
            yield breach("double-bind", record, attempt, f"bound to {attempt.node}, but seen on {pod.node}")

    def _refusal(self, record: Record, attempt: Attempt) -> Iterator[Violation]:
        if not record.lived_at(attempt.received + SEEING_LAG):
            return
        for rule, span in states(record):
            if span.covers(attempt.received, settled=self._grace, slack=self._slack):
                visible = attempt.received - (span.since or 0.0)
                yield breach(rule, record, attempt, f"a bind was attempted {visible:.1f} s after this became visible")

    def _by_whom(self, record: Record, attempt: Attempt) -> Iterator[Violation]:
        scheduler = record.pod.scheduler
        if not self._serves.may_bind(attempt.user, scheduler):
            text = f"{attempt.user} does not serve pods of the scheduler {scheduler}"
            yield breach("foreign-binder", record, attempt, text)


def states(record: Record) -> tuple[tuple[str, Span], ...]:
    """Return the states in which a pod must not be bound, each with its rule."""
    return ("bound-gated", record.gated), ("bound-deleting", record.deleting), ("bound-bound", record.bound)


def breach(rule: str, record: Record, attempt: Attempt, message: str) -> Violation:
    """Return a violation that one request committed."""
    return violation(rule, attempt.received, record.pod, message, node=attempt.node, binder=attempt.user)


def unknown_pod(attempt: Attempt) -> Violation:
    """Return the violation of a binding whose pod was never seen."""
    text = "a binding was granted for a pod that was never seen; is this the audit log of this API server?"
    at = clock(attempt.received)
    return Violation("unknown-pod", at, attempt.namespace, attempt.pod, attempt.uid, attempt.node, attempt.user, text)
