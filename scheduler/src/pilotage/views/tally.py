"""Counts pending pods by what they have in common; only those that changed are counted again.

queue ──changed──> settle, in steps ──> cells: pods that are alike in all that an answer groups or filters by
                       └──────────────> news: pods that came, changed or left, for streams of events
"""

from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

from pilotage.model.gangs import gang_of
from pilotage.model.pod import Pod
from pilotage.queue.changed_pods import ChangedPods
from pilotage.queue.queued_pod import Place as Part
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.decision_log import DecisionLog, Made, said_by
from pilotage.views.answers import Place, Tier
from pilotage.views.reasons import NO_REASON, Why, plugins_of, why
from pilotage.views.state import Steps, owner_of

LOOKS = 25  # pods in one step
SCAN = 1_000  # pods in one step, to find the oldest of a cell
MOST_CHANGES = 50_000  # that are kept; beyond that, everything is counted again
KEPT_FOR = 60.0  # seconds without a request
MOST_REASONS = 4096
FREED_AT_ONCE = 1_000  # entries


class Own(NamedTuple):
    """What does not change while a pod waits."""

    namespace: str
    profile: str
    owner: str  # "" for none
    gang: str
    shape: str


class Kind(NamedTuple):
    """What the pods of a cell have in common."""

    own: Own
    place: Place
    plugins: tuple[str, ...]
    text: str  # of the reason, the same for all; "" if it is unknown
    code: str
    tier: Tier


class Cell:
    """Pending pods of one kind."""

    __slots__ = ("_oldest", "kind", "members")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.members: dict[str, float] = {}  # since when each waits, by namespace/name
        self._oldest = ""  # "" if it must be searched for

    def put(self, key: str, since: float) -> None:
        """Add a pod, or update since when it waits."""
        if key == self._oldest:
            self._oldest = ""
        elif not self.members or (self._oldest and since < self.members[self._oldest]):
            self._oldest = key
        self.members[key] = since

    def drop(self, key: str) -> None:
        """Remove a pod."""
        del self.members[key]
        if key == self._oldest:
            self._oldest = ""

    def oldest(self) -> Steps[str]:
        """Return the pod that has waited longest."""
        if not self._oldest:
            best, found = float("inf"), ""
            for number, (key, since) in enumerate(list(self.members.items())):
                if number % SCAN == SCAN - 1:
                    yield
                if since < best:
                    best, found = since, key
            if found not in self.members:  # it has left
                return found
            self._oldest = found
        return self._oldest


@dataclass(slots=True)
class _Seen:
    """A pod as it was counted."""

    cell: Cell
    pod: Pod
    place: Part | None
    made: Made | None
    gate: str


class _Reasons:
    """Reasons by message: thousands of pods have the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Why] = {}

    def of(self, queued: QueuedPod, made: Made | None, plugins: tuple[str, ...]) -> Why:
        """Return why a pod is pending."""
        if made is None or queued.is_gated:
            return why(queued, made) or NO_REASON
        reason, message, _ = said_by(made)
        found = self._known.get((reason, message, plugins))
        if found is None:
            if len(self._known) >= MOST_REASONS:
                self._known.clear()
            found = self._known[reason, message, plugins] = why(queued, made) or NO_REASON
        return found


class Tally:
    """The cells; counting starts with the first request."""

    def __init__(self, queue: SchedulingQueue, log: DecisionLog) -> None:
        self._queue, self._log = queue, log
        self.cells: dict[Kind, Cell] = {}
        self.news: dict[str, None] | None = None  # by namespace/name; None while there is no stream
        self._where: dict[str, _Seen] = {}
        self._pending: dict[str, None] = {}  # pods to count
        self._reasons = _Reasons()
        self._asked_at, self._beginning = 0.0, 0
        self._past: list[dict[str, Any]] = []  # to be freed

    @property
    def is_counting(self) -> bool:
        """Return whether changes are recorded, or old ones are still being freed."""
        return self._queue.changed is not None or bool(self._past)

    def settle(self) -> Steps[None]:
        """Count what has changed."""
        self._asked_at, beginning = monotonic(), self._beginning
        changed, self._queue.changed = self._queue.changed, ChangedPods(self._where)
        if changed is None:
            self._pending = dict.fromkeys(self._queue.keys())
        else:
            self._pending |= changed.keys
        number = 0
        while self._pending:  # another answer may count the rest
            self._look(self._pending.popitem()[0])
            number += 1
            if number % LOOKS == 0:
                yield
        if beginning != self._beginning:
            yield from self.settle()

    def tend(self) -> None:
        """Free everything after a while without a request, a little at a time."""
        changed = self._queue.changed
        if changed is not None and (len(changed.keys) > MOST_CHANGES or monotonic() - self._asked_at > KEPT_FOR):
            self._queue.changed = None
            self._past = [*self._past, self._where, changed.keys]
            self.cells, self._where, self._pending = {}, {}, {}
            self._beginning += 1
        if self._past:
            oldest = self._past[-1]
            for _ in range(min(FREED_AT_ONCE, len(oldest))):
                oldest.popitem()
            if not oldest:
                self._past.pop()

    def _look(self, key: str) -> None:
        seen, queued = self._where.get(key), self._queue.find(key)
        if queued is None:
            if seen is not None:
                self._leave(key, seen)
                self._note(key)
            return
        made = self._log.newest(queued.pod.uid)
        if (
            seen is not None
            and seen.pod is queued.pod
            and seen.place is queued.place
            and seen.made is made
            and seen.gate == queued.gating_reason
        ):
            return
        self._note(key)
        cell = self._cell(self._kind(queued, made, seen))
        if seen is not None and seen.cell is not cell:
            self._leave(key, seen)
        cell.put(key, queued.since)
        self._where[key] = _Seen(cell, queued.pod, queued.place, made, queued.gating_reason)

    def _note(self, key: str) -> None:
        if self.news is not None:
            self.news[key] = None

    def _leave(self, key: str, seen: _Seen) -> None:
        del self._where[key]
        seen.cell.drop(key)
        if not seen.cell.members:
            self.cells.pop(seen.cell.kind, None)

    def _cell(self, kind: Kind) -> Cell:
        found = self.cells.get(kind)
        if found is None:
            found = self.cells[kind] = Cell(kind)
        return found

    def _kind(self, queued: QueuedPod, made: Made | None, seen: _Seen | None) -> Kind:
        pod, plugins = queued.pod, tuple(sorted(plugins_of(queued)))
        reason = self._reasons.of(queued, made, plugins)
        place: Place = "inFlight" if queued.place is None else queued.place.name  # type: ignore[assignment]
        own = seen.cell.kind.own if seen is not None and seen.pod is pod else _own(pod)
        return Kind(own, place, plugins, reason.text, reason.code, reason.tier)


def _own(pod: Pod) -> Own:
    gang = gang_of(pod)
    shape = ", ".join(f"{name}={amount}" for name, amount in sorted(pod.requests.items())) or "nothing"
    return Own(pod.namespace, pod.scheduler_name, owner_of(pod), "" if gang is None else gang.name, shape)
