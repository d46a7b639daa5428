"""Accepts connections and counts them immediately, before any handshake or request."""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pilotage.listening.admission import Admission, peer_of
from pilotage.listening.pace import Pace
from pilotage.listening.visit import Visit

log = logging.getLogger(__name__)

_BACKLOG = 1024  # in the kernel's backlog: a burst must not fail a probe
_ACCEPTED_AT_ONCE = 16  # then other tasks get a turn
_OUT_OF_FILES_PAUSE = 0.5  # seconds
_COMPLAINS_EVERY = 60.0  # seconds
_NO_SUCH_FAMILY = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}


@dataclass(frozen=True, slots=True)
class Patience:
    """How many connections are allowed, and how long one may last without a request (seconds)."""

    connections: int = 128
    connections_of_one_peer: int = 32
    # Handshakes of one peer: a burst of as many as it may have connections.
    handshakes_a_second: float = 20.0
    # From accept to the first request with all headers, including the handshake.
    first_request: float = 5.0
    idle: float = 30.0
    # To send the remaining data when a connection is closed.
    closing: float = 30.0


class FrontDoor:
    """Listens between `open` and `close`, and creates a protocol for every admitted connection."""

    def __init__(
        self,
        protocol: Callable[[], asyncio.Protocol],
        patience: Patience = Patience(),  # noqa: B008 - it is frozen
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._protocol = protocol
        self._patience = patience
        self._context = context
        self._listeners: list[socket.socket] = []
        self._admission: Admission[Visit] = Admission(patience.connections, patience.connections_of_one_peer)
        self._pace = Pace(patience.connections_of_one_peer, patience.handshakes_a_second)
        self._connecting: set[Visit] = set()
        self._visits: dict[asyncio.BaseProtocol, Visit] = {}
        self._closed_for_others, self._complained_at = 0, -_COMPLAINS_EVERY

    @property
    def address(self) -> tuple[str, int]:
        """The address on which it listens, with the port that was chosen for port 0."""
        host, port = self._listeners[0].getsockname()[:2]
        return str(host), int(port)

    @property
    def connected(self) -> int:
        """The number of connections, including those that are still being established."""
        return len(self._admission)

    async def open(self, address: str | None, port: int, *, share_port: bool = False) -> None:
        """Listen; None means every address, port 0 any free port. OSError if that fails."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, _, _, _, place in dict.fromkeys(found):
                self._listen(family, place, share_port, may_be_missing=len(found) > 1)
            if not self._listeners:
                raise OSError(errno.EADDRNOTAVAIL, "this machine has no such address")
        except OSError:
            self.close()
            raise
        for listener in self._listeners:
            loop.add_reader(listener, self._accept, listener)

    def _listen(self, family: int, place: tuple[object, ...], share_port: bool, *, may_be_missing: bool) -> None:
        try:
            listener = socket.create_server(place[:2], family=family, backlog=_BACKLOG, reuse_port=share_port)
        except OSError as error:
            if may_be_missing and error.errno in _NO_SUCH_FAMILY:
                return
            raise
        listener.setblocking(False)
        self._listeners.append(listener)

    def close(self) -> None:
        """Stop listening, and close connections that are still being established."""
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
        self._listeners.clear()
        for visit in list(self._connecting):
            visit.hang_up()

    @contextmanager
    def answering(self, protocol: asyncio.BaseProtocol) -> Iterator[None]:
        """Stop the clock of a connection while its request is handled."""
        visit = self._visits.get(protocol)
        if visit is None:
            yield
            return
        self._admission.begin(visit)
        visit.stop_clock()
        try:
            yield
        finally:
            self._admission.end(visit)
            visit.start_clock(self._patience.idle)

    # ------------------------------------------------------------------------------------------------------ accepting

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(listener, error)
                return
            self._admit(connection, peer_of(str(address[0])))

    def _rest(self, listener: socket.socket, error: OSError) -> None:
        log.error("cannot accept connections at the moment: %s", error)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener)
        loop.call_later(_OUT_OF_FILES_PAUSE, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _admit(self, connection: socket.socket, peer: str) -> None:
        visit = Visit(connection, self._arrived, self._left)
        leaving = self._admission.enter(visit, peer)
        if leaving is not None:
            self._complain(peer)
        if leaving is visit:
            connection.close()
            return
        if leaving is not None:
            leaving.hang_up()
        self._connecting.add(visit)
        visit.start_clock(self._patience.first_request)
        self._begin(visit, peer)

    def _begin(self, visit: Visit, peer: str) -> None:
        """Start the protocol; TLS handshakes cost us more than the client, so the peer's pace limits them."""
        loop, patience = asyncio.get_running_loop(), self._patience
        delay = self._pace.delay(peer, loop.time()) if self._context is not None else 0.0
        if delay > 0.0:
            loop.call_later(delay, visit.connect, self._context, patience.first_request, patience.closing)
        else:
            visit.connect(self._context, patience.first_request, patience.closing)

    def _arrived(self, visit: Visit) -> asyncio.Protocol:
        self._connecting.discard(visit)
        protocol = self._protocol()
        self._visits[protocol] = visit
        return protocol

    def _left(self, visit: Visit) -> None:
        self._admission.leave(visit)
        self._connecting.discard(visit)
        if visit.inner is not None:
            self._visits.pop(visit.inner, None)

    def _complain(self, peer: str) -> None:
        self._closed_for_others += 1
        now = asyncio.get_running_loop().time()
        if now - self._complained_at >= _COMPLAINS_EVERY:
            log.warning(
                "too many connections, the last from %s: %d were closed for others", peer, self._closed_for_others
            )
            self._closed_for_others, self._complained_at = 0, now
