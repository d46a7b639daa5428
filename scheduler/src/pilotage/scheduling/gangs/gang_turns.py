"""Shares the time of the loop between a gang that is being decided about and everybody else.

a gang is popped ── slice ── slice ── ... ── decided ── its pods are told, in slices ── who stood aside queues again
                       │
                       └── once it has had its GRACE: a slice for others. Who finds a place gets it; who does not, or is
                           of another gang, stands aside: it may be the gang that is in the way, and it may let go again

Pods of gangs stand aside for as long as pods of any gang are in neither hand: those that are not told yet, or not back
in the queue, are not counted as members, and a gang that seems to lack members does not hear of room.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter, thread_time

from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.gangs.gang_cycle import GangScheduler, Steps
from pilotage.scheduling.gangs.gang_places import Gap
from pilotage.scheduling.gangs.gang_words import Decision
from pilotage.scheduling.outcome import Outcome, Placed, Unplaced

GRACE = (
    0.05  # seconds of work for a gang before others get every second slice: most gangs need less, and keep their order
)

Take = Callable[[QueuedPod, Outcome, float, float], None]  # a pod, its outcome, when it began, and what it cost


class GangTurns:
    """The gang that is being decided about, if there is one, and who waits for the end of that."""

    def __init__(self, gangs: GangScheduler, queue: SchedulingQueue, take: Take) -> None:
        self._gangs = gangs
        self._queue = queue
        self._take = take
        self._steps: Steps | None = None
        self._gap = Gap.DECIDE
        self._started = self._seconds = 0.0
        self._decided: deque[Decision] = deque()  # and not told yet
        self._nominations = False  # what is decided are nominations, of which nobody else knows yet
        self._aside: deque[QueuedPod] = deque()
        self._over = asyncio.Event()
        self._over.set()
        self._awaited = 0  # by how many

    @property
    def is_deciding(self) -> bool:
        """Return whether places are held, or pods hidden, about which it is not decided yet."""
        return self._steps is not None

    @property
    def is_telling(self) -> bool:
        """Return whether a gang is decided about, and not all of its pods know."""
        return bool(self._decided)

    @property
    def is_awaited(self) -> bool:
        """Return whether somebody waits for a moment without a decision: gangs may come one after the other forever."""
        return self._awaited > 0

    @property
    def is_busy(self) -> bool:
        """Return whether there is something to go on with."""
        return self._steps is not None or bool(self._decided) or bool(self._aside)

    async def over(self) -> None:
        """Wait until no gang is being decided about."""
        self._awaited += 1
        try:
            while self._steps is not None or self._decided:
                await self._over.wait()
        finally:
            self._awaited -= 1

    def begin(self, queued: QueuedPod, started: float, until: float) -> bool:
        """Begin to decide about the gang of a pod; False if it is for itself."""
        steps = self._gangs.steps(queued)
        if steps is None:
            return False
        self._steps, self._gap = steps, Gap.DECIDE
        self._started, self._seconds = started, 0.0
        self._queue.doubts.begin()  # whoever asks what is free sees the gang's places taken
        self._over.clear()
        self.go_on(until)
        return True

    def close(self) -> None:
        """Let everything be as if the gang that is being decided about had not been tried."""
        if self._steps is not None:
            self._steps.close()

    def stand_aside(self, queued: QueuedPod) -> None:
        """Let a pod have its turn when the decision is over."""
        self._aside.append(queued)

    def go_on(self, until: float) -> bool:
        """Go on with the gang up to a moment; True if others may have their turn then."""
        if self._steps is not None and not self._advance(self._steps, until):
            return self._gap is Gap.DECIDE and self._seconds >= GRACE
        self._tell(until)
        if not self._decided:
            self._call_back(until)
            return not self._aside
        return not self._nominations

    def _advance(self, steps: Steps, until: float) -> bool:
        """Take steps up to a moment, at least one; True if that was the last."""
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
            self._queue.doubts.end()  # what they saw taken is taken
        else:
            self._queue.ask_again()
        if self._decided and not placed and not self._nominations:
            self._gangs.slow_down(self._decided[0][0].pod, self._seconds)

    def _tell(self, until: float) -> None:
        while self._decided:
            member, outcome = self._decided.popleft()
            self._take(member, outcome, self._started, self._seconds)
            if perf_counter() >= until:
                break
        if not self._decided:
            self._over.set()

    def _call_back(self, until: float) -> None:
        """Let those who stood aside have their places in the queue again."""
        while self._aside:
            self._queue.put_back(self._aside.popleft())
            if perf_counter() >= until:
                break
