"""A server over TLS that says exactly the bytes it is told to, and clients of it."""

import asyncio
import os
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from localcluster.pki import Authority, Identity
from pilotage.cluster.credentials import credentials
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.credentials.credentials import Issued
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.tls import Trust


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: list[bytes]) -> None:
        self._reader, self._writer, self._requests = reader, writer, requests

    async def request(self) -> bytes:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        whole = head + await self._reader.readexactly(length)
        self._requests.append(whole)
        return whole

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()
            await asyncio.sleep(0)

    async def ok(self, body: bytes = b"{}") -> None:
        await self.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async def until_closed(self) -> None:
        while await self._reader.read(1 << 16):
            pass

    def hang_up(self) -> None:
        """Close the connection this very moment, before any loop can notice."""
        link: socket.socket = self._writer.get_extra_info("socket")
        with socket.socket(fileno=os.dup(link.fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        link: socket.socket = self._writer.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


class RawServer:
    """Plays the script on every connection, and keeps what it was asked."""

    def __init__(self, pki: Path, script: Script, *, asks_for_certificate: bool = False) -> None:
        self.pki, self.script = pki, script
        self.requests: list[bytes] = []
        self.connections = 0
        self._surprises: list[BaseException] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "server.crt", pki / "server.key")
        if asks_for_certificate:
            self._tls.verify_mode = ssl.CERT_REQUIRED

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert not self._surprises

    def access(self, issue: Callable[[], Issued] | None = None, **trust: Any) -> Access:
        authorities = (self.pki / "ca.crt").read_bytes()
        identity = issue or (lambda: Issued(credentials.Identity("Bearer t0ken")))
        return Access(f"https://127.0.0.1:{self.port}", Trust(**{"authorities": authorities} | trust), identity)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self.script(Peer(reader, writer, self.requests))
        except (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client went away, or the test is over.
        except BaseException as surprise:
            self._surprises.append(surprise)
            raise
        finally:
            writer.transport.abort()
            self._tasks.discard(task)


@pytest.fixture(scope="session")
def server_pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and certificates of a server on this machine and of a user."""
    folder = tmp_path_factory.mktemp("pki")
    Authority(folder).issue(
        [Identity("server", "server", "", ("127.0.0.1", "api.test")), Identity("user", "jane", "group")]
    )
    return folder


@pytest.fixture
async def serve(server_pki: Path) -> AsyncIterator[Callable[..., Awaitable[RawServer]]]:
    """Starts servers that play a script."""
    servers: list[RawServer] = []

    async def start(script: Script, **options: Any) -> RawServer:
        server = RawServer(server_pki, script, **options)
        await server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        await server.stop()


@pytest.fixture
async def client_of() -> AsyncIterator[Callable[..., ApiClient]]:
    """Makes clients of a server or an access, and closes them."""
    clients: list[ApiClient] = []

    def make(where: RawServer | Access, **options: Any) -> ApiClient:
        access = where.access() if isinstance(where, RawServer) else where
        clients.append(ApiClient(access, agent="tests/1", **options))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()
