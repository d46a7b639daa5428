"""Clients that ask too much, too slowly or no questions at all, over real connections."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from pilotage.listening.front_door import Patience
from pilotage.telemetry.server import Limits

PUT = b"PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def small() -> Limits:
    patience = Patience(first_request=0.2, idle=0.2, closing=0.2)
    return Limits(body=1000, body_time=0.2, sending=0.2, lingering=0.05, patience=patience)


FOR_EVER = Patience(first_request=3600, idle=3600)


@asynccontextmanager
async def connected(served: Any) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Speak TLS, and then whatever the test says; nothing here may last."""
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=served.trust)
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def until_cut(reader: asyncio.StreamReader) -> bytes:
    received = b""
    with suppress(ConnectionError):
        while chunk := await reader.read(1 << 16):
            received += chunk
    return received


async def clients(served: Any, count: int) -> None:
    while served.server.connected != count:  # noqa: ASYNC110 - nobody tells a test
        await asyncio.sleep(0.01)


async def say(served: Any, words: bytes) -> bytes:
    async with connected(served) as (reader, writer):
        writer.write(words)
        return await until_cut(reader)


async def test_who_never_begins_the_handshake_is_cut(serve: Any, small: Limits) -> None:
    served = await serve(limits=small)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port)
    async with asyncio.timeout(60):
        assert await until_cut(reader) == b""
    writer.close()
    await writer.wait_closed()


async def test_who_never_asks_is_cut(serve: Any, small: Limits) -> None:
    assert await say(await serve(limits=small), b"") == b""


async def test_who_never_finishes_the_headers_is_cut(serve: Any, small: Limits) -> None:
    served = await serve(limits=small)
    async with connected(served) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nX-Slow: ")

        async def trickle() -> None:
            with suppress(ConnectionError):
                while True:
                    writer.write(b"x")
                    await asyncio.sleep(0.01)

        trickling = asyncio.create_task(trickle())
        assert await until_cut(reader) == b""
        trickling.cancel()
        await asyncio.wait([trickling])
    assert await served.ask("/healthz") == (200, "ok")


async def test_who_never_finishes_the_body_is_told_and_cut(serve: Any, small: Limits) -> None:
    served = await serve(limits=replace(small, patience=FOR_EVER), profiling=True, set_verbosity=lambda level: None)
    answer = await say(served, PUT + b"Content-Length: 2\r\n\r\n1")
    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_who_never_reads_is_cut(serve: Any, small: Limits) -> None:
    served = await serve(limits=replace(small, patience=FOR_EVER), metrics=lambda: bytes(16 << 20))
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=served.trust, limit=1)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        await clients(served, 1)
        await clients(served, 0)
        assert len(await until_cut(reader)) < 16 << 20
        writer.transport.abort()


async def test_stopping_does_not_wait_for_who_never_reads(serve: Any, small: Limits) -> None:
    served = await serve(limits=replace(small, patience=FOR_EVER, sending=3600), metrics=lambda: bytes(16 << 20))
    async with asyncio.timeout(60):
        _, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=served.trust, limit=1)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        await clients(served, 1)
        await served.server.stop(0.2)
        writer.transport.abort()


@pytest.mark.parametrize(
    "request_text",
    [
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", id="where none is read"),
        pytest.param(PUT + b"Content-Length: 1001\r\n\r\n", id="where one is read"),
        pytest.param(PUT + b"Content-Length: 99999999999999999\r\n\r\n", id="more than there is memory"),
    ],
)
async def test_a_body_that_is_too_large_is_not_even_awaited(serve: Any, small: Limits, request_text: bytes) -> None:
    served = await serve(limits=small, profiling=True, set_verbosity=lambda level: None)
    answer = await say(served, request_text)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.endswith(b"413 request entity too large\n")


async def test_a_body_that_does_not_say_its_size_is_read_up_to_the_limit(serve: Any, small: Limits) -> None:
    levels: list[int] = []
    served = await serve(limits=replace(small, patience=FOR_EVER), profiling=True, set_verbosity=levels.append)
    chunk = b"100\r\n" + b"1" * 0x100 + b"\r\n"
    answer = await say(served, PUT + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 4 + b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert levels == []


@pytest.mark.parametrize(
    "request_text",
    [
        pytest.param(b"hello\r\n\r\n", id="no HTTP"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * (1 << 15) + b"\r\n\r\n", id="a long header"),
        pytest.param(b"GET /" + b"y" * (1 << 15) + b" HTTP/1.1\r\nHost: x\r\n\r\n", id="a long path"),
        pytest.param(b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 100 + b"\r\n", id="many headers"),
        pytest.param(
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\nConnection: close\r\n\r\n",
            id="a header that is no UTF-8",
        ),
        pytest.param(
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            id="two sizes at once",
        ),
    ],
)
async def test_what_is_no_request_gets_a_short_answer(
    serve: Any, small: Limits, request_text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    served = await serve(limits=small)
    head, _, body = (await say(served, request_text)).partition(b"\r\n\r\n")
    assert head.split()[1] == b"400"
    assert body == b"400 bad request\n"
    assert b"nosniff" in head
    assert b"aiohttp" not in head
    assert caplog.records == []


ASK = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


async def test_who_has_had_its_answer_makes_room_for_the_next(serve: Any) -> None:
    served = await serve(limits=Limits(patience=Patience(connections_of_one_peer=1)))
    async with connected(served) as (first, writer):
        writer.write(ASK)
        await first.readuntil(b"ok")
        assert await served.ask("/healthz") == (200, "ok")
        assert await until_cut(first) == b""


async def test_who_is_being_answered_does_not(serve: Any) -> None:
    asked, may_go_on = asyncio.Event(), asyncio.Event()

    class Slow:
        async def judge(self, *_: Any) -> None:
            asked.set()
            await may_go_on.wait()

    served = await serve(guard=Slow(), limits=Limits(patience=Patience(connections_of_one_peer=1, first_request=0.2)))
    async with connected(served) as (first, writer):
        writer.write(ASK)
        await asked.wait()
        with pytest.raises(ConnectionError):
            await say(served, ASK)
        await asyncio.sleep(0.4)  # the time that a first request has is over
        may_go_on.set()
        await first.readuntil(b"ok")
        assert served.server.connected == 1


async def test_handshakes_that_are_not_finished_count(serve: Any) -> None:
    served = await serve(limits=Limits(patience=Patience(connections_of_one_peer=2)))
    silent = [await asyncio.open_connection("127.0.0.1", served.server.port) for _ in range(3)]
    async with asyncio.timeout(60):
        assert await until_cut(silent[0][0]) == b"", "the one that came first"
        assert served.server.connected == 2
        assert await served.ask("/healthz") == (200, "ok")
        assert await until_cut(silent[1][0]) == b""
    for _, writer in silent:
        writer.transport.abort()


async def test_a_client_that_hangs_up_harms_nobody(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    served = await serve(metrics=lambda: bytes(8 << 20))
    for _ in range(3):
        async with connected(served) as (_, writer):
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1] + [0] * 7))
            writer.transport.abort()
    assert await served.ask("/healthz") == (200, "ok")
    assert caplog.records == []
