"""A pool of connections to one server, limited in number; idle ones are closed."""

import asyncio
from collections import deque

from pilotage.cluster.transport.api_errors import Unreachable
from pilotage.cluster.transport.http_connection import Endpoint, HttpConnection, connect

# Less than the 90 seconds after which an API server closes it: a request must not use a closing connection.
LONGEST_IDLE = 60.0


class ConnectionPool:
    """Lends each connection to one borrower, the most recently used one first, so that idle ones can be closed."""

    def __init__(self, endpoint: Endpoint, size: int) -> None:
        self._endpoint = endpoint
        self._turns = asyncio.Semaphore(size)
        self._idle: deque[HttpConnection] = deque()
        self._all: set[HttpConnection] = set()
        self._none_left: asyncio.Event | None = None
        self._sweeping: asyncio.TimerHandle | None = None

    async def take(self, seconds: float, *, fresh: bool = False) -> tuple[HttpConnection, float]:
        """Lend a connection that is ready for a request, and return how many seconds are left for it.

        The time restarts at our turn: a request sent with little time left would time out before its response, although
        it takes effect. Unreachable if there is no connection in time.
        """
        loop = asyncio.get_running_loop()
        await self._take_turn(seconds)
        deadline = loop.time() + seconds
        try:
            connection = None if fresh else self._newest_idle()
            if connection is None:
                connection = await self._connect(deadline - loop.time())
        except BaseException:
            self._turns.release()
            raise
        return connection, deadline - loop.time()

    def release(self, connection: HttpConnection) -> None:
        """Return a connection to the pool, which keeps it if it is still usable."""
        self._turns.release()
        if self._none_left is not None:
            connection.abort()
        elif connection.is_usable:
            loop = asyncio.get_running_loop()
            connection.idle_since = loop.time()
            self._idle.append(connection)
            if self._sweeping is None:
                self._sweeping = loop.call_later(LONGEST_IDLE, self._sweep)

    async def close(self) -> None:
        """Close every connection, and lend none any more."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._none_left is None:
            self._none_left = asyncio.Event()
        for connection in self._all:
            connection.abort()
        self._idle.clear()
        if self._all:
            await self._none_left.wait()

    async def _take_turn(self, seconds: float) -> None:
        if not self._turns.locked():
            await self._turns.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise Unreachable(f"all connections were in use for {seconds:.3g} seconds") from None

    def _newest_idle(self) -> HttpConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable and self._is_current(connection) and connection.is_quiet():
                return connection
            connection.abort()
        return None

    def _is_current(self, connection: HttpConnection) -> bool:
        # After a change of the client certificate, this connection would still use the old one.
        return connection.tls is self._endpoint.tls

    async def _connect(self, seconds: float) -> HttpConnection:
        if self._none_left is not None:
            raise Unreachable("the client is closed")
        tls = self._endpoint.tls
        connection = await connect(self._endpoint, lambda: HttpConnection(tls, self._forget), seconds)
        if not connection.is_usable:
            raise Unreachable("the server closed the connection immediately")
        self._all.add(connection)
        if self._none_left is not None:
            connection.abort()
            raise Unreachable("the client is closed")
        return connection

    def _forget(self, connection: HttpConnection) -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._none_left is not None and not self._all:
            self._none_left.set()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while self._idle and self._idle[0].idle_since + LONGEST_IDLE <= loop.time():
            self._idle.popleft().abort()
        self._sweeping = loop.call_at(self._idle[0].idle_since + LONGEST_IDLE, self._sweep) if self._idle else None
