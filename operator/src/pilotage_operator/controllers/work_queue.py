"""The work queue of objects to reconcile: with a short delay, rate-limited, and with back-off after failures."""

import asyncio
import heapq
import random
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

GATHERING = 0.05  # seconds: several objects often change together
INTERVAL = 0.5  # seconds between two reconciliations of one object
LONGEST_PAUSE = 60.0  # seconds


class WorkQueue(Generic[K]):
    """Objects by due time; an object is never reconciled concurrently."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = 0  # orders entries with equal times
        self._not_before: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._busy: set[K] = set()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, key: K, seconds: float = GATHERING) -> None:
        """Queue an object, unless it is due earlier."""
        due = max(self._clock() + seconds, self._not_before.get(key, 0.0))
        if key not in self._due or due < self._due[key]:
            self._due[key] = due
            self._push(key)

    async def take(self) -> K:
        """Wait for a due object; `done`, `failed` or `forget` must follow."""
        while True:
            self._changed.clear()
            seconds = self._seconds_to_next()
            if seconds is not None and seconds <= 0:
                _, _, key = heapq.heappop(self._heap)
                del self._due[key]
                self._busy.add(key)
                return key
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                pass

    def done(self, key: K, seconds: float | None = None) -> None:
        """Mark an object as reconciled, and set the time of the next reconciliation without changes."""
        self._failures.pop(key, None)
        self._not_before[key] = self._clock() + INTERVAL
        self._release(key)
        if seconds is not None:
            self.add(key, seconds)

    def failed(self, key: K, first: float, at_least: float = 0.0) -> float:
        """Mark a failure, and return the delay in seconds, which grows each time."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = min(first * 2.0 ** min(failures - 1, 32), LONGEST_PAUSE)
        pause = max(pause * random.uniform(0.75, 1.0), at_least)  # noqa: S311 - spreads load, keeps no secret
        self._not_before[key] = self._clock() + pause
        self._due.pop(key, None)
        self.add(key, pause)
        self._release(key)
        return pause

    def forget(self, key: K) -> None:
        """Forget an object that does not exist."""
        self._failures.pop(key, None)
        self._not_before.pop(key, None)
        self._release(key)

    def _release(self, key: K) -> None:
        self._busy.discard(key)
        if key in self._due:
            self._push(key)

    def _push(self, key: K) -> None:
        self._count += 1
        heapq.heappush(self._heap, (self._due[key], self._count, key))
        self._changed.set()

    def _seconds_to_next(self) -> float | None:
        while self._heap:
            due, _, key = self._heap[0]
            # Objects in progress are queued again when they are released.
            if self._due.get(key) == due and key not in self._busy:
                return due - self._clock()
            heapq.heappop(self._heap)
        return None
