"""A streaming response: bytes as they arrive, with backpressure."""

import asyncio

from pilotage.cluster.transport.api_errors import OutcomeUnknown
from pilotage.cluster.transport.http_answer import AnswerParser, Irregular

MOST_WAITING = 1 << 20  # unread bytes in the buffer until the server must wait


class HttpStream(asyncio.Protocol):
    """A connection for one request whose response is read in parts, by one reader."""

    def __init__(self) -> None:
        self._parser = AnswerParser(None)
        self._loop = asyncio.get_running_loop()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._news: asyncio.Future[None] | None = None
        self._failure: OutcomeUnknown | None = None
        self._transport: asyncio.Transport | None = None
        self._waiting = 0
        self._is_paused = False

    @property
    def retry_after(self) -> float | None:
        """The seconds to wait before the next request, if the server specified any."""
        return self._parser.retry_after

    async def begin(self, request: bytes, seconds: float) -> int:
        """Send the request and return the status of its response; OutcomeUnknown without a response in time."""
        assert self._transport is not None
        self._transport.write(request)
        try:
            async with asyncio.timeout(seconds):
                while not self._parser.status:
                    await self._wait_for_news()
        except TimeoutError:
            raise OutcomeUnknown(f"no response within {seconds:.3g} seconds") from None
        return self._parser.status

    async def read(self, most: int, seconds: float) -> bytes:
        """Return the rest, limited in size and time: the text of an error."""
        pieces: list[bytes] = []
        try:
            async with asyncio.timeout(seconds):
                async for piece in self:
                    pieces.append(piece)
                    if sum(map(len, pieces)) >= most:
                        break
        except (TimeoutError, OutcomeUnknown):
            pass  # the status is known; the text is optional
        return b"".join(pieces)[:most]

    def __aiter__(self) -> "HttpStream":
        return self

    async def __anext__(self) -> bytes:
        """Return the newly arrived bytes; OutcomeUnknown if the connection breaks."""
        parser = self._parser
        while not parser.pieces:
            if parser.is_complete:
                raise StopAsyncIteration
            await self._wait_for_news()
        data = parser.taken()
        self._waiting = 0
        if self._is_paused and self._transport is not None and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def close(self) -> None:
        """Abort the connection and wait until it is closed."""
        if self._transport is not None:
            self._transport.abort()
            await asyncio.shield(self._gone)

    async def _wait_for_news(self) -> None:
        if self._failure is not None:
            raise self._failure
        self._news = self._loop.create_future()
        await self._news

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Become usable."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Buffer bytes, and pause the server if there are too many."""
        if self._failure is not None or self._parser.is_complete:
            return
        try:
            self._parser.feed(data)
        except Irregular as error:
            self._fail(OutcomeUnknown(f"invalid response: {error}"))
            return
        self._waiting += len(data)
        if self._waiting > MOST_WAITING and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._tell()

    def eof_received(self) -> None:
        """Record the end of the stream."""
        if self._parser.end():
            self._tell()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record that the connection is closed."""
        if not self._gone.done():
            self._gone.set_result(None)
        if self._failure is None and not self._parser.is_complete:
            reason = f" ({exc})" if exc else ""
            when = "in the middle of the response" if self._parser.has_begun else "before a response came"
            self._fail(OutcomeUnknown(f"the connection was closed {when}{reason}"))
        self._parser.close()

    def _fail(self, error: OutcomeUnknown) -> None:
        self._failure = error
        if self._transport is not None:
            self._transport.abort()
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
