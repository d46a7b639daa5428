"""One connection, from accept to close."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from pilotage.listening.tls_protocol import opened


class Visit(asyncio.Protocol):
    """Sits between a transport and its protocol, and always reports the end of the connection."""

    def __init__(
        self,
        connection: socket.socket,
        arrived: Callable[["Visit"], asyncio.Protocol],
        left: Callable[["Visit"], None],
    ) -> None:
        self.inner: asyncio.Protocol | None = None  # until the handshake, if any, is complete
        self._connection: socket.socket | None = connection
        self._arrived, self._left = arrived, left
        self._transport: asyncio.BaseTransport | None = None
        self._connecting: asyncio.Task[object] | None = None
        self._clock: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------------------------------------------ from the outside

    def connect(self, context: ssl.SSLContext | None, handshake: float, closing: float) -> None:
        """Create the transport of the connection, unless it was closed."""
        if self._connection is None:
            return
        loop = asyncio.get_running_loop()
        accept = partial(loop.connect_accepted_socket, sock=self._connection)
        limits = {"ssl_handshake_timeout": handshake, "ssl_shutdown_timeout": closing}
        making = opened(accept, self, context, server_side=True, **limits)
        self._connecting = loop.create_task(making, name="accepting")
        self._connecting.add_done_callback(self._connected)

    def _connected(self, task: asyncio.Task[object]) -> None:
        self._connecting = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            # Its frames hold the state of the handshake in reference cycles that only garbage collection would free.
            error.__traceback__ = None
        # Errors are the client's; without a transport, only this reports the end.
        if self._transport is None:
            self._over()

    def start_clock(self, seconds: float) -> None:
        """Close the connection after a time."""
        self.stop_clock()
        if self._connection is not None or self._transport is not None:
            self._clock = asyncio.get_running_loop().call_later(seconds, self.hang_up)

    def stop_clock(self) -> None:
        """Do not close the connection by the clock."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def hang_up(self) -> None:
        """Close the connection immediately, whatever is in progress."""
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()
        elif self._connecting is not None and self._connection is not None:
            # The code that creates the transport sees the end of the stream and stops.
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
        elif self._connection is not None:
            self._over()

    def _over(self) -> None:
        self.stop_clock()
        if self._connection is not None:
            self._connection.close()
        self._connection = self._transport = None
        self._left(self)

    # ---------------------------------------------------------------------------------------------- from the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Pass it on."""
        self._connection, self._transport = None, transport
        self.inner = self._arrived(self)
        self.inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        assert self.inner is not None
        self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        return self.inner.eof_received() if self.inner is not None else None

    def pause_writing(self) -> None:
        """Pass it on."""
        if self.inner is not None:
            self.inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        if self.inner is not None:
            self.inner.resume_writing()

    def connection_lost(self, reason: Exception | None) -> None:
        """Pass it on, and end."""
        try:
            if self.inner is not None:
                self.inner.connection_lost(reason)
        finally:
            self._over()
