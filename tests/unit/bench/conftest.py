"""A server that says what it is told to, behind the same door as an API server."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from bench.live.connection import Door
from bench.live.programs import SERVER_CERTIFICATE
from localcluster.pki import Authority

Answers = list[list[bytes]]  # for each request the pieces of an answer, as they are written
Serve = Callable[[Answers], AbstractAsyncContextManager[tuple[Door, list[bytes]]]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Serve these answers in turn, then close; gives the door and what was asked."""
    Authority(tmp_path / "pki").issue([SERVER_CERTIFICATE])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "pki" / "apiserver.crt", tmp_path / "pki" / "apiserver.key")

    @asynccontextmanager
    async def serving(answers: Answers) -> AsyncIterator[tuple[Door, list[bytes]]]:
        asked: list[bytes] = []
        left = iter(answers)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    _, found, length = head.lower().partition(b"content-length:")
                    body = await reader.readexactly(int(length.split(b"\r\n")[0])) if found else b""
                    asked.append(head + body)
                    for piece in next(left, []):
                        writer.write(piece)
                        await writer.drain()
                        await asyncio.sleep(0)
                    if b"HTTP/1.0" in head:
                        break
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
        async with server:
            port = server.sockets[0].getsockname()[1]
            yield Door(port, "t0ken", str(tmp_path / "pki" / "ca.crt")), asked

    return serving
