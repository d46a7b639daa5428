"""A cache of answers: concurrent callers share one request."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class RememberedAnswers(Generic[T]):
    """The newest answers by key, limited in number."""

    def __init__(self, *, most: int, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._turns = asyncio.Semaphore(at_once)
        self._clock = clock
        self._known: dict[bytes, tuple[float, T]] = {}  # expiry and answer, the oldest first
        self._asking: dict[bytes, asyncio.Task[T | None]] = {}

    async def get(self, key: bytes, ask: Callable[[], Awaitable[T | None]], lifetime: Callable[[T], float]) -> T | None:
        """Return the answer, requested unless cached; None means no answer, and is not cached."""
        known = self._known.get(key)
        if known is not None and self._clock() < known[0]:
            return known[1]
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask(key, ask, lifetime))
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        # A cancelled caller does not cancel the request for the others.
        return await asyncio.shield(asking)

    async def _ask(
        self, key: bytes, ask: Callable[[], Awaitable[T | None]], lifetime: Callable[[T], float]
    ) -> T | None:
        async with self._turns:
            answer = await ask()
        self._known.pop(key, None)
        if answer is not None and (seconds := lifetime(answer)) > 0:
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            self._known[key] = self._clock() + seconds, answer
        return answer
