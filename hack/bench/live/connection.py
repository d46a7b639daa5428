"""A client with as little CPU as possible in Python: it shares the cores with what it measures."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from bench.live.objects import Write
from localcluster.errors import Problem

END_OF_HEAD = b"\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"  # inside JSON a line never ends so
MERGE_PATCH = "application/merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"


@dataclass(frozen=True)
class Door:
    """The API server's address and credentials."""

    port: int
    token: str
    authority: str  # the file with its certificate

    @property
    def server(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self.port}"

    def tls(self) -> ssl.SSLContext:
        """What checks the server."""
        return ssl.create_default_context(cafile=self.authority)

    def head(self, method: str, path: str, accept: str = "application/json", version: str = "1.1") -> str:
        """The first lines of a request; an empty line is still to come."""
        lines = f"{method} {path} HTTP/{version}", "Host: 127.0.0.1", f"Authorization: Bearer {self.token}"
        return "\r\n".join((*lines, f"Accept: {accept}", "User-Agent: pilotage-bench", ""))


class Answer(NamedTuple):
    """What the server said."""

    status: int
    raw: bytes

    @property
    def body(self) -> bytes:
        """The content, put together from its chunks."""
        head, _, rest = self.raw.partition(END_OF_HEAD)
        if b"chunked" not in head.lower():
            return rest
        parts = []
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            parts.append(rest[:length])
            rest = rest[length + 2 :]
        return b"".join(parts)


class Connection(asyncio.Protocol):
    """One kept-open connection, one request at a time."""

    def __init__(self, door: Door, tls: ssl.SSLContext) -> None:
        self._door = door
        self._tls = tls
        self._received = bytearray()
        self._length = 0  # of the whole answer; 0: not known yet, -1: in chunks
        self._waiting: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, door: Door, tls: ssl.SSLContext) -> "Connection":
        """A connection that is ready."""
        made = cls(door, tls)
        await made._connect()
        return made

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, "127.0.0.1", self._door.port, ssl=self._tls)

    async def send(self, write: Write) -> Answer:
        """Make one request and wait for the answer."""
        if self._transport is None or self._transport.is_closing():
            await self._connect()  # the API server closes connections that are idle for a minute and a half
        assert self._transport is not None
        kind = MERGE_PATCH if write.method == "PATCH" else "application/json"
        head = self._door.head(write.method, write.path)
        request = f"{head}Content-Type: {kind}\r\nContent-Length: {len(write.body)}\r\n\r\n"
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request.encode() + write.body)
        return await self._waiting

    def close(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received.clear()
        self._length = 0

    def data_received(self, data: bytes) -> None:
        """Collect an answer."""
        received = self._received
        received += data
        if self._length == 0 and not self._read_head():
            return
        if received.endswith(LAST_CHUNK) if self._length < 0 else len(received) >= self._length:
            answer = Answer(int(received[9:12]), bytes(received))
            received.clear()
            self._length = 0
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the waiting request."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("the API server closed the connection"))

    def _read_head(self) -> bool:
        end = self._received.find(END_OF_HEAD)
        if end < 0:
            return False
        _, found, rest = bytes(self._received[:end]).lower().partition(b"\r\ncontent-length:")
        self._length = end + 4 + int(rest.split(b"\r\n", 1)[0]) if found else -1
        return True


class Stream(asyncio.Protocol):
    """An endless response, passed on as it arrives."""

    def __init__(self, request: bytes, take: Callable[[bytearray], None]) -> None:
        self._request = request
        self._take = take  # it removes what it has used
        self._received = bytearray()
        self._in_body = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, door: Door, path: str, accept: str, take: Callable[[bytearray], None]) -> "Stream":
        """Ask for a stream; HTTP 1.0 has no chunks to take apart."""
        request = f"{door.head('GET', path, accept, '1.0')}\r\n".encode()
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: cls(request, take), "127.0.0.1", door.port, ssl=door.tls())
        return made

    def close(self) -> None:
        """Close it."""
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Pass the content on."""
        self._received += data
        if not self._in_body:
            end = self._received.find(END_OF_HEAD)
            if end < 0:
                return
            if self._received[9:12] != b"200":
                said = bytes(self._received[end:]).decode(errors="replace").strip()
                self._end(Problem(f"A watch was refused: {said}"))
                return
            self._in_body = True
            del self._received[: end + 4]
        self._take(self._received)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the stream."""
        self._end(exc)

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if isinstance(error, Problem):
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)
