"""How much of the event loop answers may take: little while pods are being placed, anything while the loop rests."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from time import thread_time
from typing import TypeVar

from pilotage.app.event_loop import worked_and_rested
from pilotage.views.state import Steps

Answered = TypeVar("Answered")

# While pods are being placed: of the time that the loop works, and of the time that it has nothing to do. What sockets
# take comes on top.
OF_WORK, OF_REST = 0.01, 0.05
SAVED = 0.01  # seconds of work that can be done at once after a rest
DEBT = 0.1  # seconds of work that are made up for, if a slice was that long
SLICE = 0.0005  # seconds of CPU, after which others have their turn; one step may go past it
SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.05  # seconds between two looks at the budget
PATIENCE = 10.0  # seconds that an answer may take in all


class Busy(Exception):
    """There is no time for this now."""


class Budget:
    """Counts the CPU time of slices, and makes answers wait for their share of the loop's time.

    By the wall clock, a busy machine or a container's limit would give answers what scheduling needs.
    """

    def __init__(
        self,
        is_active: Callable[[], bool],
        times: Callable[[], tuple[float, float]] = worked_and_rested,
        is_tentative: Callable[[], bool] = lambda: False,
    ) -> None:
        self.is_active = is_active
        self._is_tentative = is_tentative  # the state of the cluster, while a gang is being decided
        self._times = times
        self._left, self._before = SAVED, (0.0, 0.0)
        self._turns = asyncio.Lock()  # served in order
        self.patience = PATIENCE
        self._longest, self._longest_before = 0.0, 0.0  # seconds of a slice, in this minute and the one before
        self.spent = 0.0  # seconds in all

    def is_spent(self) -> bool:
        """Return whether nothing more may be done for now."""
        (worked, rested), before = self._times(), self._before
        self._left += (worked - before[0]) * OF_WORK + (rested - before[1]) * OF_REST
        self._left, self._before = min(SAVED, self._left), (worked, rested)
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
        """Return the longest slice since the minute before this one."""
        return max(self._longest, self._longest_before)

    def begin_minute(self) -> None:
        """Forget the slices of the minute before the last."""
        self._longest, self._longest_before = 0.0, self._longest

    async def turn(self, patience: float = PATIENCE) -> None:
        """Wait until something may be done; Busy if that takes too long."""
        if not self._turns.locked() and not self._has_to_wait():
            return
        try:
            async with asyncio.timeout(patience), self._turns:
                while self._has_to_wait():  # noqa: ASYNC110 - time alone changes it
                    await asyncio.sleep(min(max(-self._left / OF_REST, SHORTEST_PAUSE), LONGEST_PAUSE))
        except TimeoutError:
            raise Busy from None

    def _has_to_wait(self) -> bool:
        return self._is_tentative() or self.is_spent()

    async def run(self, steps: Steps[Answered], patience: float | None = None) -> Answered:
        """Return an answer that is made in steps, in slices between which others have their turn.

        No step sees tentative reservations or hidden pods. Busy if that takes too long.
        """
        now = asyncio.get_running_loop().time
        end = now() + (self.patience if patience is None else patience)
        with closing(steps):
            while True:
                await self.turn(max(0.0, end - now()))
                done, answer = _slice(steps)
                if done:
                    return answer  # type: ignore[return-value]
                await asyncio.sleep(0)


def _slice(steps: Steps[Answered]) -> tuple[bool, Answered | None]:
    end = thread_time() + SLICE
    while thread_time() < end:
        try:
            next(steps)
        except StopIteration as stop:
            return True, stop.value
    return False, None
