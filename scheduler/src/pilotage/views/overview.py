"""The state of the scheduler in one answer."""

from collections import Counter, deque
from dataclasses import dataclass, field

from pilotage.model.requests import PODS
from pilotage.scheduling.decision_log import DecisionLog
from pilotage.views.answers import (
    Alarm,
    Latency,
    NodeCounts,
    Overview,
    ProfileBrief,
    Reason,
    ReasonCount,
    Replica,
    Series,
    Use,
)
from pilotage.views.nodes import resources_of, unit_of
from pilotage.views.queue import counts
from pilotage.views.state import STEP, Stamp, State, Steps
from pilotage.views.viewer import Viewer, Words

SECONDS = 5  # of an interval
INTERVALS = 180
MOST_REASONS = 20
MOST_ATTEMPTS = 1_000  # from which latency is calculated


@dataclass(frozen=True)
class About:
    """What the process knows beyond its scheduling state."""

    version: str = ""
    leader: str = ""
    replicas: tuple[Replica, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    unready: dict[str, str] = field(default_factory=dict)  # why, by profile


class Beat:
    """Counts of the last quarter of an hour, in intervals of five seconds; `tick` ends an interval."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log
        self._last = self._totals()
        self.bound: deque[int] = deque(maxlen=INTERVALS)
        self.attempts: deque[int] = deque(maxlen=INTERVALS)
        self.failed: deque[int] = deque(maxlen=INTERVALS)
        self._bound_by: deque[Counter[str]] = deque(maxlen=60 // SECONDS)
        self._bound_before: Counter[str] = Counter()

    def tick(self) -> None:
        """Record what happened since the last call."""
        now, before = self._totals(), self._last
        self._last = now
        for series, new, old in zip((self.bound, self.attempts, self.failed), now, before, strict=True):
            series.append(new - old)
        self._bound_by.append(self._log.bound - self._bound_before)
        self._bound_before = Counter(self._log.bound)

    def per_minute(self, profile: str) -> int:
        """Return how many pods of a profile were bound in the last minute."""
        return sum(each[profile] for each in self._bound_by)

    def series(self) -> Series:
        """Return all counts."""
        return Series(seconds=SECONDS, bound=list(self.bound), attempts=list(self.attempts), failed=list(self.failed))

    def _totals(self) -> tuple[int, int, int]:
        return self._log.bound.total(), self._log.count, self._log.failed


def overview(state: State, viewer: Viewer, stamp: Stamp, about: About, beat: Beat) -> Steps[Overview]:
    """Return the overview."""
    yield from state.tally.settle()
    waiting = yield from counts(state, viewer)
    reasons, pending = yield from _reasons(state, viewer)
    every = state.cache.nodes()
    pods = every.pod_count
    yield
    return Overview(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        leader=about.leader,
        version=about.version,
        replicas=[each if viewer.nodes else _without_node(each) for each in about.replicas],
        profiles=[
            ProfileBrief(
                name=name,
                pending=pending[name],
                bound_per_minute=beat.per_minute(name),
                ready=name not in about.unready,
                reason=about.unready.get(name, ""),
            )
            for name in dict.fromkeys((*state.engines, *about.unready))
        ],
        queue=waiting,
        series=beat.series(),
        latency=_latency(state),
        nodes=NodeCounts(count=len(every), cordoned=int(every.unschedulable.sum()), empty=int((pods == 0).sum())),
        use={
            **{
                name: Use(
                    allocatable=int(every.allocatable(name).sum()),
                    requested=int(every.requested(name).sum()),
                    unit=unit_of(name),
                )
                for name in resources_of(state)
            },
            PODS: Use(allocatable=int(every.allowed_pods.sum()), requested=int(pods.sum()), unit="pieces"),
        },
        reasons=reasons,
        alarms=list(about.alarms),
    )


def _without_node(replica: Replica) -> Replica:
    return Replica(name=replica.name, leads=replica.leads, ready=replica.ready)


def _reasons(state: State, viewer: Viewer) -> Steps[tuple[list[ReasonCount], Counter[str]]]:
    """Return the most frequent reasons, and how many pods of each profile wait."""
    words, found, pending = Words(state, viewer), Counter[str](), Counter[str]()
    reasons: dict[str, Reason] = {}
    for number, cell in enumerate(list(state.tally.cells.values())):
        if number % STEP == STEP - 1:
            yield
        kind = cell.kind
        if not viewer.sees(kind.own.namespace):
            continue
        pending[kind.own.profile] += len(cell.members)
        if text := words(kind.text):
            reasons.setdefault(text, Reason(text=text, code=kind.code, tier=kind.tier))
            found[text] += len(cell.members)
    ranked = sorted(found.items(), key=lambda each: (-each[1], each[0]))[:MOST_REASONS]
    return [ReasonCount(reason=reasons[text], pods=number) for text, number in ranked], pending


def _latency(state: State) -> Latency:
    last = state.log.durations(MOST_ATTEMPTS)
    if not last:
        return Latency()
    last.sort()
    return Latency(p50=round(last[len(last) // 2], 6), p99=round(last[len(last) * 99 // 100], 6))
