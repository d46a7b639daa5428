"""Answers that go on: piece by piece, with a server that has to wait for a slow reader."""

import asyncio
from typing import Any

import pytest

from pilotage.cluster.credentials.credentials import Identity, Issued
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.transport.http_stream import MOST_WAITING

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
QUERY = {"watch": "1"}


def chunk(data: bytes) -> bytes:
    return b"%x\r\n" % len(data) + data + b"\r\n"


async def test_pieces_are_given_as_they_come(serve: Any, client_of: Any) -> None:
    go_on = asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(HEAD, chunk(b"one\n")[:4])
        await go_on.wait()
        await peer.send(chunk(b"one\n")[4:], chunk(b"two\n"), b"0\r\n\r\n")

    server = await serve(script)
    async with client_of(server).stream("/api/v1/pods", QUERY) as stream:
        first = await anext(stream)
        assert first == b"o"
        go_on.set()
        assert first + b"".join([piece async for piece in stream]) == b"one\ntwo\n"
    assert server.requests[0].startswith(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\n")


async def test_one_that_breaks_off_gives_what_came_and_then_fails(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(HEAD, chunk(b"one\n"))
        peer.close()

    async with client_of(await serve(script)).stream("/a") as stream:
        assert await anext(stream) == b"one\n"
        with pytest.raises(OutcomeUnknown, match="in the middle of the response"):
            await anext(stream)


async def test_garbage_between_chunks_ends_it(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(HEAD, chunk(b"one\n") + b"garbage\r\n")
        await peer.until_closed()

    async with client_of(await serve(script)).stream("/a") as stream:
        assert await anext(stream) == b"one\n"
        with pytest.raises(OutcomeUnknown, match="a chunk is malformed"):
            await anext(stream)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 410 Gone\r\nContent-Length: 18\r\n\r\n{\"reason\":\"Gone\"}\n", id="counted"),
        pytest.param(
            b"HTTP/1.1 410 Gone\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b'{"reason":"Gone"}') + b"0\r\n\r\n",
            id="in chunks",
        ),
        pytest.param(b'HTTP/1.1 410 Gone\r\nContent-Length: 99\r\n\r\n{"reason":"Gone"}', id="truncated"),
    ],
)  # fmt: skip
async def test_a_refusal_comes_before_the_first_piece(serve: Any, client_of: Any, answer: bytes) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(answer)

    told: list[tuple[str, str]] = []
    api = client_of(await serve(script), observe=lambda verb, code, seconds: told.append((verb, code)))
    with pytest.raises(ApiError, match="410 Gone"):
        async with api.stream("/a"):
            pass
    assert told == [("GET", "410")]


async def test_a_refusal_without_end_is_cut(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 500 Oops\r\n\r\n")
        while True:
            await peer.send(b"x" * (1 << 16))

    with pytest.raises(ApiError, match="500") as caught:
        async with client_of(await serve(script)).stream("/a"):
            pass
    assert len(caught.value.body) == 1 << 20


async def test_a_beginning_that_does_not_come(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.until_closed()

    with pytest.raises(OutcomeUnknown, match="no response within"):
        async with client_of(await serve(script)).stream("/a", timeout=0.1):
            pass


async def test_the_server_waits_for_a_slow_reader(serve: Any, client_of: Any) -> None:
    sent, total = 0, 40 << 20
    part = chunk(b"x" * (64 << 10))

    async def script(peer: Any) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(HEAD)
        while sent < total:
            await peer.send(part)
            sent += 64 << 10
        await peer.send(b"0\r\n\r\n")
        await peer.until_closed()  # the end of this drops what is not on its way yet

    async with client_of(await serve(script)).stream("/a") as stream:
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.2)
        # What is kept by us and by the system; the rest has to wait.
        assert sent < total
        assert stream._waiting < 2 * MOST_WAITING
        assert sum([len(piece) async for piece in stream]) == total


async def test_who_leaves_takes_the_connection_along(serve: Any, client_of: Any) -> None:
    closed = asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(HEAD, chunk(b"one\n"))
        try:
            await peer.until_closed()
        finally:
            closed.set()

    async with client_of(await serve(script)).stream("/a") as stream:
        await anext(stream)
    await closed.wait()


async def test_a_reader_can_be_cancelled(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(HEAD)
        await peer.until_closed()

    async def read() -> None:
        async with client_of(server).stream("/a") as stream:
            begun.set()
            async for _ in stream:
                pass

    begun, server = asyncio.Event(), await serve(script)
    task = asyncio.create_task(read())
    await begun.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_streams_do_not_take_the_connections_of_requests(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        if b"watch" in await peer.request():
            await peer.send(HEAD)
            await peer.until_closed()
        else:
            await peer.ok()

    api = client_of(await serve(script), connections=1)
    async with api.stream("/a", QUERY), api.stream("/b", QUERY):
        assert await api.get("/c") == b"{}"


async def test_refused_credentials_are_asked_for_again(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        if b"Bearer new" in await peer.request():
            await peer.send(HEAD, b"0\r\n\r\n")
        else:
            await peer.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    tokens = iter(["old", "new"])
    access = (await serve(script)).access(lambda: Issued(Identity(f"Bearer {next(tokens)}")))
    access._asked_at -= 60
    async with client_of(access).stream("/a") as stream:
        assert [piece async for piece in stream] == []


async def test_nobody_listens(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        await peer.until_closed()

    access = (await serve(script)).access()
    access.port = 1
    with pytest.raises(Unreachable):
        async with client_of(access).stream("/a"):
            pass
