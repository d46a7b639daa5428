"""One keep-alive connection to a server: made, asked one thing at a time, and given up after any irregularity."""

import asyncio
import select
import socket
import ssl
from asyncio import sslproto
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from pilotage.cluster.transport.api_errors import KeptConnectionClosed, OutcomeUnknown, Unreachable
from pilotage.cluster.transport.http_answer import AnswerParser, Irregular

LONGEST_CONNECTING = 10.0
# A peer that is gone without a word is found out within a minute; a watch would wait for it for ever.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}

# asyncio holds 256 KiB for every connection, and takes as much again for a moment with every read. A TLS record has 16.
sslproto.SSLProtocol.max_size = 32 << 10

ConnectionT = TypeVar("ConnectionT", bound=asyncio.Protocol)


class Endpoint(Protocol):
    """Where to connect to; without TLS the connection is plain."""

    @property
    def host(self) -> str:
        """The name or address, without brackets."""

    @property
    def port(self) -> int:
        """The port."""

    @property
    def tls(self) -> ssl.SSLContext | None:
        """Whom to trust and what to show."""

    @property
    def server_name(self) -> str:
        """The name that the certificate must hold."""


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    body: bytes
    retry_after: float | None


async def connect(endpoint: Endpoint, make: Callable[[], ConnectionT], seconds: float) -> ConnectionT:
    """Make a connection, or tell by Unreachable why there is none."""
    tls = endpoint.tls
    where = f"{endpoint.host} port {endpoint.port}"
    limit = min(seconds, LONGEST_CONNECTING)
    try:
        async with asyncio.timeout(limit):
            transport, connection = await asyncio.get_running_loop().create_connection(
                make, endpoint.host, endpoint.port, ssl=tls, server_hostname=endpoint.server_name if tls else None
            )
    except TimeoutError:
        raise Unreachable(f"no connection to {where} within {limit:.3g} seconds") from None
    except ssl.SSLCertVerificationError as error:
        reason = (
            f"its certificate is not trusted ({error.verify_message}); check the certificate authority and the name"
        )
        raise Unreachable(f"no connection to {where}: {reason}") from error
    except (OSError, ValueError) as error:
        raise Unreachable(f"no connection to {where}: {error}") from error
    _watch_over(transport.get_extra_info("socket"))
    return connection


def _watch_over(link: socket.socket) -> None:
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            link.setsockopt(socket.IPPROTO_TCP, option, value)


class HttpConnection(asyncio.Protocol):
    """A connection for requests that are answered at once."""

    def __init__(self, tls: ssl.SSLContext | None, lost: Callable[["HttpConnection"], None]) -> None:
        self.tls = tls  # what it was made with
        self.is_usable = False
        self.exchanges = 0
        self.idle_since = 0.0
        self._lost = lost
        self._probe = select.poll()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: AnswerParser | None = None
        self._waiter: asyncio.Future[Answer] | None = None

    async def exchange(self, request: bytes, *, seconds: float, largest: int) -> Answer:
        """Send a request and return its answer; OutcomeUnknown when none comes whole, and in time."""
        assert self._transport is not None
        assert self._waiter is None
        self._transport.write(request)
        self._parser = AnswerParser(largest)
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._expire, seconds)
        try:
            return await self._waiter
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            timer.cancel()
            self._parser = self._waiter = None
            self.exchanges += 1

    def is_quiet(self) -> bool:
        """Whether nothing has come since the last answer, not even what the loop has not looked at yet: the end."""
        return not self._probe.poll(0)

    def abort(self) -> None:
        """Give the connection up."""
        self.is_usable = False
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to be usable."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._probe.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self.is_usable = True

    def data_received(self, data: bytes) -> None:
        """Take bytes of the answer in; those that nobody asked for end the connection."""
        parser = self._parser
        if parser is None:
            self.abort()
            return
        try:
            parser.feed(data)
        except Irregular as error:
            self._fail(OutcomeUnknown(f"the answer cannot be used: {error}"))
            return
        if parser.is_complete:
            self._finish(parser)

    def eof_received(self) -> None:
        """Take note that the server sends no more."""
        self.is_usable = False
        if self._parser is not None and self._parser.end():
            self._finish(self._parser)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the connection is gone."""
        if self._parser is not None:
            reason = f" ({exc})" if exc else ""
            when = "in the middle of the answer" if self._parser.has_begun else "before an answer came"
            was_kept = self.exchanges > 0 and not self._parser.has_begun
            kind = KeptConnectionClosed if was_kept else OutcomeUnknown
            self._fail(kind(f"the connection was closed {when}{reason}"))
        self.is_usable = False
        self._lost(self)

    def _finish(self, parser: AnswerParser) -> None:
        if not parser.keeps_open:
            self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(Answer(parser.status, b"".join(parser.pieces), parser.retry_after))
        # Until the next request every byte is one too many.
        self._parser = None

    def _expire(self, seconds: float) -> None:
        self._fail(OutcomeUnknown(f"no answer within {seconds:.3g} seconds"))

    def _fail(self, error: OutcomeUnknown) -> None:
        self.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        self._parser = None
