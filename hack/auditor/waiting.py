"""The rule about waiting: a pod that fits all the time is bound in time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from auditor.nodes import Nodes
from auditor.occupancy import Occupancy, nomination
from auditor.pod import Pod
from auditor.repulsion import Repulsions
from auditor.room import Room
from auditor.rules import Violation, violation


@dataclass(slots=True)
class Waiter:
    """One waiting pod: since when it could be judged, when it was found overdue, and whether that was told."""

    pod: Pod
    since: float
    overdue: float | None = None
    told: bool = False


@dataclass(slots=True)
class Kind:
    """Pods that fit the same nodes; `since` tells from when on some node fitted without a break."""

    waiters: dict[str, Waiter] = field(default_factory=dict)
    fits_on: str | None = None
    since: float | None = None
    stale: bool = True
    looked: float = -1.0

    def depends_on(self, touched: set[str]) -> bool:
        """Return whether the answer may have changed with these nodes, or is missing."""
        return self.stale or (bool(touched) if self.fits_on is None else self.fits_on in touched)


class Waiting:
    """Follows the waiting pods on a clock that runs only while the API is seen."""

    def __init__(self, occupancy: Occupancy, nodes: Nodes, repulsions: Repulsions, limit: float) -> None:
        self._room = Room(occupancy, nodes)
        self._repulsions = repulsions
        self._limit = limit
        self._kinds: dict[tuple[object, ...], Kind] = {}
        self._touched: set[str] = set()
        self.longest = 0.0
        self.unjudged: set[str] = set()

    def place(self, old: Pod | None, new: Pod | None, elapsed: float) -> None:
        """Replace one version of a pod by the next; None stands for a pod that does not wait."""
        before = self._leave(old) if old else None
        if new and new.unjudged:
            self.unjudged.add(new.uid)
        elif new:
            kept = before or Waiter(new, elapsed)
            kept.pod = new
            self._kinds.setdefault(likeness(new), Kind()).waiters[new.uid] = kept

    def touch(self, names: Iterable[str]) -> None:
        """Record nodes whose room or nature changed."""
        self._touched.update(names)

    def check(self, elapsed: float, now: float, out_of_time: Callable[[], bool]) -> None:
        """Look for nodes for all kinds of waiting pods, the longest unlooked-at first, and mark overdue pods."""
        touched, self._touched = self._touched, set()
        if touched:
            self._room.refresh(touched)
        due = [kind for kind in self._kinds.values() if kind.depends_on(touched)]
        for kind in sorted(due, key=lambda kind: kind.looked):
            if out_of_time():
                kind.stale = True
            else:
                self._look(kind, touched, elapsed)
        for kind in self._kinds.values():
            self._mark(kind, elapsed, now)

    def overdue(self, as_of: float) -> Iterator[Violation]:
        """Yield the overdue pods that are still so in a view of the cluster taken after they were marked."""
        for kind in self._kinds.values():
            for waiter in kind.waiters.values():
                if waiter.overdue is not None and not waiter.told and waiter.overdue < as_of:
                    waiter.told = True
                    text = f"waits for more than {self._limit:g} s though it fits {kind.fits_on}"
                    yield violation("waits-though-fits", waiter.overdue, waiter.pod, text, node=kind.fits_on or "")

    def needs_view(self) -> bool:
        """Return whether a pod is overdue and only a fresh view of the cluster is missing."""
        waiters = (waiter for kind in self._kinds.values() for waiter in kind.waiters.values())
        return any(waiter.overdue is not None and not waiter.told for waiter in waiters)

    def _leave(self, pod: Pod) -> Waiter | None:
        key = likeness(pod)
        kind = self._kinds.get(key)
        if kind is None:
            return None
        waiter = kind.waiters.pop(pod.uid, None)
        if not kind.waiters:
            del self._kinds[key]
        return waiter

    def _look(self, kind: Kind, touched: set[str], elapsed: float) -> None:
        pod = next(iter(kind.waiters.values())).pod
        # Where nothing fitted, only a node that changed since can fit now.
        kind.fits_on = self._room.node_for(pod, touched if kind.fits_on is None and not kind.stale else None)
        kind.stale, kind.looked = False, elapsed
        if kind.fits_on is None:
            kind.since = None
        elif kind.since is None:
            kind.since = elapsed

    def _mark(self, kind: Kind, elapsed: float, now: float) -> None:
        for waiter in kind.waiters.values():
            if self._repulsions and self._repulsions.keep_away(waiter.pod.namespace, waiter.pod.labels):
                waiter.since = elapsed
                self.unjudged.add(waiter.pod.uid)
            waited = elapsed - max(waiter.since, kind.since) if kind.since is not None else 0.0
            self.longest = max(self.longest, waited)
            is_overdue = waited > self._limit and not kind.stale
            waiter.overdue = (waiter.overdue or now) if is_overdue else None


def likeness(pod: Pod) -> tuple[object, ...]:
    """Return what decides where a pod fits; one with a nominated node is unique."""
    return pod.demand, pod.ports, pod.placement, pod.priority, pod.uid if nomination(pod) else ""
