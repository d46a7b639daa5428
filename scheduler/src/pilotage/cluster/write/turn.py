"""Limits how long a burst may block the event loop."""

import asyncio
import time

MOST_STEPS = 256
LONGEST = 0.002  # seconds


class Turn:
    """Counts the steps of one task, and determines when to yield to others."""

    __slots__ = ("_left", "_steps", "_until")

    def __init__(self) -> None:
        self._steps, self._left = 0, LONGEST
        self.resume()

    def resume(self) -> None:
        """Resume after a wait; waiting does not count."""
        self._until = time.monotonic() + self._left

    def pause(self) -> None:
        """Stop the clock."""
        self._left = self._until - time.monotonic()

    def step(self) -> bool:
        """Count a step; True if the turn is over and `give_way` must be awaited."""
        self._steps += 1
        return self._steps >= MOST_STEPS or time.monotonic() >= self._until

    async def give_way(self) -> None:
        """Let every other ready task run once."""
        await asyncio.sleep(0)
        self._steps, self._left = 0, LONGEST
        self.resume()
