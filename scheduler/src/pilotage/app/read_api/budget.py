"""How much of the event loop answers may use: little while pods are being placed, otherwise any."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from time import thread_time
from typing import TypeVar

from pilotage.app.event_loop import worked_and_rested
from pilotage.views.state import Steps

Answered = TypeVar("Answered")

# While pods are being placed: a share of the time that the loop works, and one of the time that it is idle. Reading
# sockets comes on top.
OF_WORK, OF_REST = 0.01, 0.05
SAVED = 0.01  # seconds of work that are possible at once after a pause
DEBT = 0.1  # seconds; longer slices are not made up for completely
SLICE = 0.0005  # seconds of CPU; the last step of a slice may exceed it
SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.05  # seconds between two checks
PATIENCE = 10.0  # seconds that an answer may take in all


class Busy(Exception):
    """The scheduler is too busy for this now."""


class Budget:
    """Counts the CPU time of slices, and makes answers wait for their share of the loop's time.

    Wall-clock time would not do: a busy machine or a container's CPU limit would shift the shares.
    """

    def __init__(
        self,
        is_active: Callable[[], bool],
        times: Callable[[], tuple[float, float]] = worked_and_rested,
        is_tentative: Callable[[], bool] = lambda: False,
    ) -> None:
        self.is_active = is_active
        self._is_tentative = is_tentative  # a gang is being decided: the cache shows what may be rolled back
        self._times = times
        self._left = SAVED
        self._before: tuple[float, float] | None = None  # what the loop had worked and rested at the last check
        self._turns = asyncio.Lock()  # first come, first served
        self.patience = PATIENCE
        self._longest, self._longest_before = 0.0, 0.0  # seconds of a slice, in this minute and the one before
        self.spent = 0.0  # seconds in all

    def is_spent(self) -> bool:
        """Return whether answers must wait."""
        now = self._times()
        before, self._before = self._before or now, now
        self._left += (now[0] - before[0]) * OF_WORK + (now[1] - before[1]) * OF_REST
        self._left = min(SAVED, self._left)
        if not self.is_active():
            self._left = SAVED
        return self._left <= 0.0

    def take(self, seconds: float) -> None:
        """Count a slice."""
        self._left = max(-DEBT, self._left - seconds)
        self.spent += seconds
        self._longest = max(self._longest, seconds)

    @property
    def longest_slice(self) -> float:
        """Return the longest slice of this minute and the one before."""
        return max(self._longest, self._longest_before)

    def begin_minute(self) -> None:
        """Start a new minute."""
        self._longest, self._longest_before = 0.0, self._longest

    async def turn(self, patience: float = PATIENCE) -> None:
        """Wait for a turn; Busy if that takes too long."""
        if not self._turns.locked() and not self._has_to_wait():
            return
        try:
            async with asyncio.timeout(patience), self._turns:
                await self._until_allowed()
        except TimeoutError:
            raise Busy from None

    async def run(self, steps: Steps[Answered], patience: float | None = None) -> Answered:
        """Run an answer in slices, of all answers one in each turn of the event loop.

        No step sees tentative reservations or hidden pods. Busy if that takes too long.
        """
        try:
            with closing(steps):
                async with asyncio.timeout(self.patience if patience is None else patience):
                    while True:
                        async with self._turns:
                            await self._until_allowed()
                            done, answer = _slice(steps)
                            if done:
                                return answer  # type: ignore[return-value]
                            await asyncio.sleep(0)
        except TimeoutError:
            raise Busy from None

    async def _until_allowed(self) -> None:
        pause = SHORTEST_PAUSE
        while self._has_to_wait():
            pause = min(max(-self._left / OF_REST, 2 * pause), LONGEST_PAUSE)
            await asyncio.sleep(pause)

    def _has_to_wait(self) -> bool:
        return self._is_tentative() or self.is_spent()


def _slice(steps: Steps[Answered]) -> tuple[bool, Answered | None]:
    end = thread_time() + SLICE
    while thread_time() < end:
        try:
            next(steps)
        except StopIteration as stop:
            return True, stop.value
    return False, None
