"""How much of the event loop answers may take: little while pods are to be placed, anything while the loop rests."""

import asyncio
from collections.abc import Callable
from time import monotonic, thread_time
from typing import TypeVar

from pilotage.views.state import Steps

Answered = TypeVar("Answered")

SHARE = 0.02  # of the thread's CPU time, while pods are active; sending costs about as much again
SAVED = 0.05  # seconds of work that can be done at once after a rest
PAUSE = 0.02  # seconds between two looks whether there is some budget again
LONGEST = 10.0  # seconds that an answer may take in all


class Busy(Exception):
    """There is no time for this now."""


class Budget:
    """Counts the CPU time that answers take, and allows for a share of what the thread has.

    By the time on the wall a machine that is busy with something else would give answers what scheduling needs.
    """

    def __init__(
        self,
        is_active: Callable[[], bool],
        worked: Callable[[], float] = thread_time,
        clock: Callable[[], float] = monotonic,
        is_tentative: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_active = is_active
        self._is_tentative = is_tentative  # the state of the cluster, while a gang is being decided
        self._worked = worked
        self._clock = clock
        self._left, self._at = SAVED, worked()
        self.longest_slice = 0.0  # seconds, so far
        self.spent = 0.0  # in all

    def is_spent(self) -> bool:
        """Return whether nothing more may be done for now."""
        now = self._worked()
        self._left = min(SAVED, self._left + (now - self._at) * SHARE)
        self._at = now
        if not self._is_active():
            self._left = SAVED
        return self._left <= 0.0

    def take(self, seconds: float) -> None:
        """Count a slice of work."""
        self._left = max(-SAVED, self._left - seconds)
        self.spent += seconds
        self.longest_slice = max(self.longest_slice, seconds)

    def timed(self, work: Callable[[], Answered]) -> Answered:
        """Do one slice of work, and count it."""
        started = thread_time()
        try:
            return work()
        finally:
            self.take(thread_time() - started)

    async def run(self, steps: Steps[Answered]) -> Answered:
        """Return an answer that is made in steps; others have their turn between any two, and first if time is short.

        No step sees tentative reservations or hidden pods. Busy if that takes too long.
        """
        started = self._clock()
        try:
            while True:
                while self._is_tentative():
                    await self._pause(started)
                done, answer = self.timed(lambda: _step(steps))
                if done:
                    return answer  # type: ignore[return-value]
                await asyncio.sleep(0)
                while self.is_spent():
                    await self._pause(started)
        finally:
            steps.close()

    async def _pause(self, started: float) -> None:
        if self._clock() - started > LONGEST:
            raise Busy
        await asyncio.sleep(PAUSE)


def _step(steps: Steps[Answered]) -> tuple[bool, Answered | None]:
    try:
        next(steps)
    except StopIteration as end:
        return True, end.value
    return False, None
