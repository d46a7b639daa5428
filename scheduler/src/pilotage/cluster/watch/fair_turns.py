"""A fair semaphore by owner."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairTurns:
    """A semaphore with round-robin by owner: an owner with thousands of waiters delays others by one turn each."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}  # by owner; the first one is next

    @asynccontextmanager
    async def of(self, owner: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it during the block."""
        await self._take(owner)
        try:
            yield
        finally:
            self._pass_on()

    async def _take(self, owner: str) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._lines:
            owner = next(iter(self._lines))
            line = self._lines.pop(owner)
            turn = line.popleft()
            if line:
                self._lines[owner] = line
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
