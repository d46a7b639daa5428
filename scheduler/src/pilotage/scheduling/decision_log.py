"""The last decisions: one tuple each, formatted only on request."""

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from itertools import islice
from time import perf_counter
from typing import NamedTuple

from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.binding import Bindings
from pilotage.scheduling.loop import Loop
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Counted, Outcome, Placed, Unplaced

MOST_DECISIONS = 20_000
MOST_ATTEMPTS = 20  # of one waiting pod
MOST_KEPT = 40_000  # attempts of all waiting pods together
A_STEP = 500  # pods

Made = tuple[object, ...]  # a decision as a plain tuple, which is cheaper to create


class Decision(NamedTuple):
    """The outcome of one attempt; times are those of `perf_counter`."""

    ended: float
    started: float
    key: str  # namespace/name
    uid: str
    profile: str
    attempt: int
    first: float | None  # when the pod was first ready, by the queue's clock
    hash: str  # of the configuration
    node: str  # where it was placed, or the node nominated for it
    feasible: int  # 0 if it was not placed
    nodes: int  # in the cluster
    ties: int
    reason: str  # as in the condition; "" if it was placed
    message: str
    victims: int
    counted: Counted
    fits: int | None  # how many pods of its gang fit; None if that was not tried

    @property
    def namespace(self) -> str:
        """Return the pod's namespace."""
        return self.key.partition("/")[0]

    @property
    def outcome(self) -> str:
        """Return placed, error, nominated or waits."""
        if self.feasible:
            return "placed"
        if self.reason == SCHEDULER_ERROR:
            return "error"
        return "nominated" if self.node else "waits"


class Expired(Exception):
    """The decisions are no longer kept."""


class DecisionLog:
    """The newest decisions by number, and the last attempts of each pending pod."""

    def __init__(self, *, most: int = MOST_DECISIONS, most_kept: int = MOST_KEPT) -> None:
        self.count = 0  # decisions so far; the number of the next one
        self.failed = 0  # attempts that did not place the pod
        self.bound: Counter[str] = Counter()  # pods, by profile
        self.hash = ""  # of the running configuration
        self._ring: deque[Made] = deque(maxlen=most)
        self._attempts: OrderedDict[str, list[Made]] = OrderedDict()  # by uid; the pod with the newest attempt is last
        self._several: OrderedDict[str, None] = OrderedDict()  # pods with more than one
        self._kept, self._most_kept = 0, most_kept
        self._wall = time.time() - perf_counter()

    def watch(self, loop: Loop, bindings: Bindings) -> None:
        """Subscribe to decisions and binds."""
        loop.on_decided.connect(self.decided)
        bindings.on_bound.connect(self._bound)
        bindings.on_failed.connect(lambda queued, outcome, started: self.decided(queued, outcome, started, None))

    def decided(self, queued: QueuedPod, outcome: Outcome, started: float, ended: float | None) -> None:
        """Record a decision."""
        pod = queued.pod
        self.count += 1
        ended = perf_counter() if ended is None else ended
        about = ended, started, queued.key, pod.uid, pod.scheduler_name, queued.attempts
        since = queued.initial_attempt_timestamp, self.hash
        if isinstance(outcome, Placed):
            found = outcome.pod.node_name, outcome.feasible, outcome.cycle.node_count, outcome.ties
            self._ring.append((*about, *since, *found, "", "", 0, (), None))
        else:
            self._unplaced((*about, *since), outcome)

    def _unplaced(self, about: tuple[object, ...], outcome: Unplaced) -> None:
        self.failed += 1
        text, counted = outcome.note or outcome.message, outcome.counted
        made = (
            *about,
            outcome.nominate or "",
            0,
            0,
            0,
            outcome.reason,
            text,
            len(outcome.victims),
            counted,
            outcome.gang_fits,
        )
        self._ring.append(made)
        uid: str = about[3]  # type: ignore[assignment]
        attempts = self._attempts.get(uid)
        self._kept += 1
        if attempts is None:
            self._attempts[uid] = [made]
        else:
            attempts.append(made)
            self._attempts.move_to_end(uid)
            self._several[uid] = None
            self._several.move_to_end(uid)
            if len(attempts) > MOST_ATTEMPTS:
                del attempts[0]
                self._kept -= 1
        if self._kept > self._most_kept:
            self._make_room()

    def _bound(self, queued: QueuedPod, _placed: Placed, _started: float) -> None:
        pod = queued.pod
        self.bound[pod.scheduler_name] += 1
        self._forget(pod.uid)

    def _make_room(self) -> None:
        """Drop old attempts of the pod that was tried longest ago, but its last one only if no pod has several."""
        if not self._several:
            self._forget(next(iter(self._attempts)))
            return
        uid = next(iter(self._several))
        attempts = self._attempts[uid]
        gone = len(attempts) // 2
        del attempts[:gone]
        self._kept -= gone
        if len(attempts) == 1:
            del self._several[uid]

    def _forget(self, uid: str) -> None:
        self._kept -= len(self._attempts.pop(uid, ()))
        self._several.pop(uid, None)

    def forget_all_but(self, is_waiting: Callable[[str], bool]) -> Iterator[None]:
        """Drop the attempts of pods that are no longer pending, in steps."""
        for number, (uid, attempts) in enumerate(list(self._attempts.items())):
            if number % A_STEP == A_STEP - 1:
                yield
            if attempts and not is_waiting(str(attempts[-1][2])):
                self._forget(uid)

    # ------------------------------------------------------------------------------------------------------- reading

    def __len__(self) -> int:
        return len(self._ring)

    @property
    def oldest(self) -> int:
        """Return the number of the oldest decision that is kept."""
        return self.count - len(self._ring)

    @property
    def pods(self) -> int:
        """Return the number of pods with attempts."""
        return len(self._attempts)

    @property
    def kept(self) -> int:
        """Return the number of attempts of pending pods."""
        return self._kept

    def moment(self, when: float) -> float:
        """Return a time of `perf_counter` as seconds since 1970."""
        return self._wall + when

    def newest_first(self, before: int | None = None) -> Iterator[tuple[int, Decision]]:
        """Return decisions with their numbers, the newest first, or those before a number."""
        end = self.count if before is None else min(before, self.count)
        if end < self.oldest:
            raise Expired
        kept = list(
            islice(reversed(self._ring), self.count - end, None)
        )  # new ones are added while the caller iterates
        return ((end - 1 - place, Decision._make(made)) for place, made in enumerate(kept))

    def durations(self, most: int) -> list[float]:
        """Return the durations of the last attempts in seconds."""
        return [made[0] - made[1] for made in islice(reversed(self._ring), most)]  # type: ignore[operator]

    def since(self, number: int) -> list[tuple[int, Decision]]:
        """Return the decisions from a number on, the oldest first; Expired if some are no longer kept."""
        if number < self.oldest:
            raise Expired
        found = islice(reversed(self._ring), max(0, self.count - number))
        newest = list(found)
        return [(self.count - 1 - place, Decision._make(newest[place])) for place in range(len(newest) - 1, -1, -1)]

    def attempts(self, uid: str) -> list[Decision]:
        """Return the attempts of a pending pod, the newest first."""
        return [Decision._make(made) for made in reversed(self._attempts.get(uid, ()))]

    def newest(self, uid: str) -> Made | None:
        """Return the last attempt of a pending pod; the same object until the next attempt."""
        attempts = self._attempts.get(uid)
        return attempts[-1] if attempts else None

    def last(self, uid: str) -> Decision | None:
        """Return the last attempt of a pending pod."""
        made = self.newest(uid)
        return None if made is None else Decision._make(made)


def said_by(made: Made) -> tuple[str, str, Counted]:
    """Return the reason, the message and the rejections of a decision."""
    *_, reason, message, _victims, counted, _fits = made
    return reason, message, counted  # type: ignore[return-value]
