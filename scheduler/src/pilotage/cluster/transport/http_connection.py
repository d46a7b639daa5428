"""A keep-alive connection to a server, used for one request at a time, and closed after any irregularity."""

import asyncio
import os
import select
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from pilotage.cluster.transport.api_errors import KeptConnectionClosed, OutcomeUnknown, Unreachable
from pilotage.cluster.transport.http_answer import AnswerParser, Irregular
from pilotage.listening.tls_protocol import opened

LONGEST_CONNECTING = 10.0
# A peer that disappears silently is detected within a minute; a watch would wait for it forever.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}

ConnectionT = TypeVar("ConnectionT", bound=asyncio.Protocol)


class Endpoint(Protocol):
    """The address to connect to; without TLS the connection is plain HTTP."""

    @property
    def host(self) -> str:
        """The name or address, without brackets."""

    @property
    def port(self) -> int:
        """The port."""

    @property
    def tls(self) -> ssl.SSLContext | None:
        """The CAs and the client certificate."""

    @property
    def server_name(self) -> str:
        """The name that the certificate must contain."""


class Answer(NamedTuple):
    """A complete response."""

    status: int
    body: bytes
    retry_after: float | None


async def connect(endpoint: Endpoint, make: Callable[[], ConnectionT], seconds: float) -> ConnectionT:
    """Open a connection; Unreachable if that fails."""
    connection, where = make(), f"{endpoint.host} port {endpoint.port}"
    reach = partial(asyncio.get_running_loop().create_connection, host=endpoint.host, port=endpoint.port)
    limit = min(seconds, LONGEST_CONNECTING)
    try:
        async with asyncio.timeout(limit):
            transport = await opened(reach, connection, endpoint.tls, server_hostname=endpoint.server_name)
    except TimeoutError:
        raise Unreachable(f"no connection to {where} within {limit:.3g} seconds") from None
    except ssl.SSLCertVerificationError as error:
        reason = (
            f"its certificate is not trusted ({error.verify_message}); check the certificate authority and the name"
        )
        raise Unreachable(f"no connection to {where}: {reason}") from error
    except (OSError, ValueError) as error:
        raise Unreachable(f"no connection to {where}: {_reason(error)}") from error
    _watch_over(transport.get_extra_info("socket"))
    return connection


def _reason(error: OSError | ValueError) -> str:
    """Return the reason in the system's words: asyncio writes its own over them."""
    number = error.errno if isinstance(error, ConnectionError) else None
    return os.strerror(number) if number else str(error)


def _watch_over(link: socket.socket) -> None:
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            link.setsockopt(socket.IPPROTO_TCP, option, value)


class HttpConnection(asyncio.Protocol):
    """A connection for requests with short responses."""

    def __init__(self, tls: ssl.SSLContext | None, lost: Callable[["HttpConnection"], None]) -> None:
        self.tls = tls  # the settings that it was created with
        self.is_usable = False
        self.exchanges = 0
        self.idle_since = 0.0
        self._lost = lost
        self._probe = select.poll()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = AnswerParser(0)
        self._waiter: asyncio.Future[Answer] | None = None  # until the response is complete or has failed

    async def exchange(self, request: bytes, *, seconds: float, largest: int) -> Answer:
        """Send a request and return its response; OutcomeUnknown without a complete response in time."""
        assert self._transport is not None
        assert self._waiter is None
        self._transport.write(request)
        self._parser.expect(largest)
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        self._waiter = waiter
        timer = self._loop.call_later(seconds, self._expire, seconds)
        try:
            return await waiter
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            timer.cancel()
            self._waiter = None
            self.exchanges += 1

    def is_quiet(self) -> bool:
        """Whether nothing has arrived since the last response, not even an unprocessed end of the stream."""
        return not self._probe.poll(0)

    def abort(self) -> None:
        """Abort the connection."""
        self.is_usable = False
        if self._transport is not None:
            self._transport.abort()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Become usable."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._probe.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self.is_usable = True

    def data_received(self, data: bytes) -> None:
        """Parse bytes of the response; unexpected ones end the connection."""
        if self._waiter is None:
            self.abort()
            return
        try:
            self._parser.feed(data)
        except Irregular as error:
            self._fail(OutcomeUnknown(f"invalid response: {error}"))
            return
        if self._parser.is_complete:
            self._finish()

    def eof_received(self) -> None:
        """Record the end of the stream."""
        self.is_usable = False
        if self._waiter is not None and self._parser.end():
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record that the connection is closed."""
        if self._waiter is not None:
            reason = f" ({exc})" if exc else ""
            when = "in the middle of the response" if self._parser.has_begun else "before a response came"
            was_kept = self.exchanges > 0 and not self._parser.has_begun
            kind = KeptConnectionClosed if was_kept else OutcomeUnknown
            self._fail(kind(f"the connection was closed {when}{reason}"))
        self.is_usable = False
        self._parser.close()
        self._lost(self)

    def _finish(self) -> None:
        parser = self._parser
        if not parser.keeps_open:
            self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(Answer(parser.status, parser.taken(), parser.retry_after))
        # Until the next request every byte is unexpected.
        self._waiter = None

    def _expire(self, seconds: float) -> None:
        self._fail(OutcomeUnknown(f"no response within {seconds:.3g} seconds"))

    def _fail(self, error: OutcomeUnknown) -> None:
        self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        self._waiter = None
