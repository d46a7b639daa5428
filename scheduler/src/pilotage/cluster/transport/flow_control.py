"""A limit on requests per second, as in Kubernetes clients: a token bucket."""

import asyncio
from collections import deque


class TokenBucket:
    """A burst of requests, then a steady rate; first come, first served."""

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = max(1, burst)
        self._tokens = float(self._burst)
        self._filled_at: float | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait until another request may be sent; without a limit (0 per second), return immediately."""
        if self._qps <= 0:
            return
        loop = asyncio.get_running_loop()
        self._refill(loop.time())
        if not self._waiting and self._tokens >= 1:
            self._tokens -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            self._wake_later(loop)
        await self._wait_for(turn)

    async def _wait_for(self, turn: asyncio.Future[None]) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._tokens += 1
            raise

    def _wake_later(self, loop: asyncio.AbstractEventLoop) -> None:
        # At least a microsecond: otherwise a rounding error would loop forever.
        loop.call_later(max(1e-6, (1 - self._tokens) / self._qps), self._wake, loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        self._refill(loop.time())
        while self._waiting and (self._tokens >= 1 or self._waiting[0].done()):
            turn = self._waiting.popleft()
            if not turn.done():
                self._tokens -= 1
                turn.set_result(None)
        if self._waiting:
            self._wake_later(loop)

    def _refill(self, now: float) -> None:
        if self._filled_at is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps)
        self._filled_at = now
