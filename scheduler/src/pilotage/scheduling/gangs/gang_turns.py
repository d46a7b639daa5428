"""Shares the loop's time between the gang that is being decided and all other pods.

a gang is popped ── slice ── slice ── ... ── decided ── its pods are handled, in slices ── deferred pods queue again
                       │
                       └── after its GRACE: a slice for others. A pod that fits is placed; one that does not, or is
                           of another gang, is deferred: the gang may be in its way, and may still be rolled back

Pods of gangs are deferred while pods of any gang are decided and not handled yet, or not back in the queue: such pods
do not count as members, and a gang that seems to lack members is not woken by freed resources.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter, thread_time

from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.gangs.gang_cycle import GangScheduler, Steps
from pilotage.scheduling.gangs.gang_outcomes import Decision
from pilotage.scheduling.gangs.gang_places import Gap
from pilotage.scheduling.outcome import Outcome, Placed, Unplaced

GRACE = 0.05  # seconds of work for a gang before others get every second slice: most gangs need less, and stay in order

Take = Callable[[QueuedPod, Outcome, float, float], None]  # the pod, its outcome, when its attempt began, and its cost


class GangTurns:
    """The gang that is being decided, if there is one, and the pods that are deferred until then."""

    def __init__(self, gangs: GangScheduler, queue: SchedulingQueue, take: Take) -> None:
        self._gangs = gangs
        self._queue = queue
        self._take = take
        self._steps: Steps | None = None
        self._gap = Gap.DECIDE
        self._started = self._seconds = 0.0
        self._decided: deque[Decision] = deque()  # decided and not handled yet
        self._nominations = False  # the decision nominates nodes, and the nominations are not visible yet
        self._deferred: deque[QueuedPod] = deque()
        self._over = asyncio.Event()
        self._over.set()
        self._awaited = 0  # the number of waiting callers

    @property
    def is_deciding(self) -> bool:
        """Return whether the cache contains tentative reservations, or hides pods."""
        return self._steps is not None

    @property
    def is_reporting(self) -> bool:
        """Return whether a gang is decided and some of its pods are not handled yet."""
        return bool(self._decided)

    @property
    def is_awaited(self) -> bool:
        """Return whether a caller waits for `over`: no further gang starts until then, or it could wait forever."""
        return self._awaited > 0

    @property
    def is_busy(self) -> bool:
        """Return whether there is work to continue."""
        return self._steps is not None or bool(self._decided) or bool(self._deferred)

    async def over(self) -> None:
        """Wait until no gang is being decided."""
        self._awaited += 1
        try:
            while self._steps is not None or self._decided:
                await self._over.wait()
        finally:
            self._awaited -= 1

    def begin(self, queued: QueuedPod, started: float, until: float) -> bool:
        """Start deciding the gang of a pod; False if it has none."""
        steps = self._gangs.steps(queued)
        if steps is None:
            return False
        self._steps, self._gap = steps, Gap.DECIDE
        self._started, self._seconds = started, 0.0
        self._queue.tentative_skips.begin()  # hints see the gang's reservations as used
        self._over.clear()
        self.run_slice(until)
        return True

    def close(self) -> None:
        """Undo the gang that is being decided."""
        if self._steps is not None:
            self._steps.close()

    def defer(self, queued: QueuedPod) -> None:
        """Defer a pod until the decision is over."""
        self._deferred.append(queued)

    def run_slice(self, until: float) -> bool:
        """Continue with the gang up to a time; True if other pods may be scheduled then."""
        if self._steps is not None and not self._advance(self._steps, until):
            return self._gap is Gap.DECIDE and self._seconds >= GRACE
        self._report(until)
        if not self._decided:
            self._requeue_deferred(until)
            return not self._deferred
        return not self._nominations

    def _advance(self, steps: Steps, until: float) -> bool:
        """Take steps up to a time, at least one; True if that was the last."""
        begun = thread_time()
        try:
            while True:
                self._gap = next(steps)
                if perf_counter() >= until:
                    return False
        except StopIteration as end:
            self._decided.extend(end.value)
            self._steps = None
        finally:
            self._seconds += thread_time() - begun
        self._settle()
        return True

    def _settle(self) -> None:
        outcomes = [outcome for _, outcome in self._decided]
        placed = any(isinstance(outcome, Placed) for outcome in outcomes)
        self._nominations = any(isinstance(outcome, Unplaced) and outcome.nominate for outcome in outcomes)
        if placed:
            self._queue.tentative_skips.end()  # the hints were right
        else:
            self._queue.retry_skipped()
        if self._decided and not placed and not self._nominations:
            self._gangs.slow_down(self._decided[0][0].pod, self._seconds)

    def _report(self, until: float) -> None:
        while self._decided:
            member, outcome = self._decided.popleft()
            self._take(member, outcome, self._started, self._seconds)
            if perf_counter() >= until:
                break
        if not self._decided:
            self._over.set()

    def _requeue_deferred(self, until: float) -> None:
        """Put deferred pods back into the queue."""
        while self._deferred:
            self._queue.put_back(self._deferred.popleft())
            if perf_counter() >= until:
                break
