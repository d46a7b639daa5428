"""Requests, answers and watches over real sockets."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bench.live.api import connected
from bench.live.bound_pods import BoundPods
from bench.live.connection import Connection
from bench.live.objects import Write
from localcluster.errors import Problem

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
STREAM = b"HTTP/1.0 200 OK\r\n\r\n"


def _list(version: int, *names: str) -> list[bytes]:
    items = ",".join(f'{{"metadata":{{"namespace":"ns","name":"{name}"}}}}' for name in names)
    body = f'{{"metadata":{{"resourceVersion":"{version}"}},"items":[{items}]}}'.encode()
    return [f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body]


def _event(kind: str, name: str, version: int) -> bytes:
    metadata = f'{{"namespace":"ns","name":"{name}","resourceVersion":"{version}"}}'
    return f'{{"type":"{kind}","object":{{"metadata":{metadata}}}}}\n'.encode()


@pytest.mark.parametrize(
    ("pieces", "status", "body"),
    [
        pytest.param([OK], 200, b"hi", id="with a length"),
        pytest.param([OK[:9], OK[9:30], OK[30:]], 200, b"hi", id="in pieces"),
        pytest.param(
            [b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n"],
            201,
            b"abcde",
            id="in chunks",
        ),
    ],
)
async def test_an_answer_is_read(serve: Callable[..., Any], pieces: list[bytes], status: int, body: bytes) -> None:
    async with serve([pieces, [OK]]) as (door, asked):
        connection = await Connection.open(door, door.tls())
        answer = await connection.send(Write("POST", "/x", b"content"))
        again = await connection.send(Write("PATCH", "/y", b""))
        connection.close()
    assert (answer.status, answer.body, again.body) == (status, body, b"hi")
    assert asked[0].startswith(b"POST /x HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer t0ken\r\n" in asked[0]
    assert asked[0].endswith(b"\r\n\r\ncontent")
    assert b"\r\nContent-Type: application/merge-patch+json\r\n" in asked[1]


async def test_a_refusal_is_told_with_the_servers_words(serve: Callable[..., Any]) -> None:
    refusal = b"HTTP/1.1 422 Unprocessable\r\nContent-Length: 8\r\n\r\nno such!"
    async with serve([[refusal]]) as (door, _), connected(door) as api:
        with pytest.raises(Problem, match=r"POST /x was refused \(422\): no such!"):
            await api.send(Write("POST", "/x", b""))


async def test_many_are_created_and_only_the_first_is_looked_at_closely(serve: Callable[..., Any]) -> None:
    made: list[str] = []
    items = [[Write("POST", "/before", b""), Write("POST", "/pods", b"", f"ns/{number}")] for number in range(50)]
    async with serve([[CREATED]] * 100) as (door, asked), connected(door) as api:
        await api.create(items, made.append)
    assert sorted(made) == sorted(f"ns/{number}" for number in range(50))
    assert sum(b"fieldValidation=Strict" in request for request in asked) == 2


async def test_a_paced_creation_creates_all(serve: Callable[..., Any]) -> None:
    made: list[str] = []
    items = [[Write("POST", "/pods", b"", str(number))] for number in range(20)]
    async with serve([[CREATED]] * 20) as (door, _), connected(door) as api:
        await api.create_paced(items, 10_000, made.append)
    assert len(made) == 20


async def test_a_watch_goes_on_where_it_ended(serve: Callable[..., Any]) -> None:
    first = [STREAM + _event("ADDED", "a", 5)[:20], _event("ADDED", "a", 5)[20:], _event("MODIFIED", "a", 6)]
    second = [STREAM, _event("ADDED", "b", 7)]
    async with serve([_list(3, "old"), first, second]) as (door, asked):
        bound = BoundPods(door, as_protobuf=False)
        await _until(lambda: bound.count("ns") == 3, bound)
        bound.close()
    assert list(bound.times["ns"]) == ["old", "a", "b"]
    assert b"watch" not in asked[0]
    assert b"watch=true&resourceVersion=3 " in asked[1]
    assert b"watch=true&resourceVersion=6 " in asked[2]


async def test_a_watch_that_is_too_old_begins_again(serve: Callable[..., Any]) -> None:
    first = [STREAM, _event("ADDED", "a", 5)]
    gone = [STREAM, b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"code":410}}\n']
    async with serve([_list(3), first, gone, _list(9, "a", "b"), [STREAM]]) as (door, asked):
        bound = BoundPods(door, as_protobuf=False)
        await _until(lambda: bound.count("ns") == 2 and len(asked) > 4, bound)
        bound.close()
    assert b"watch" not in asked[3]
    assert b"watch=true&resourceVersion=9 " in asked[4]


async def test_a_watch_that_is_refused_is_a_problem_for_whoever_waits(serve: Callable[..., Any]) -> None:
    async with serve([_list(3), [b"HTTP/1.0 403 Forbidden\r\n\r\nnot you"]]) as (door, _):
        bound = BoundPods(door, as_protobuf=False)
        with pytest.raises(Problem, match="not you"):
            await _until(lambda: False, bound)


async def _until(condition: Callable[[], bool], bound: BoundPods) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await bound.news(0.05)


async def test_a_server_that_has_hung_up_is_called_again(serve: Callable[..., Any]) -> None:
    async with serve([[OK], [OK]]) as (door, asked):
        connection = await Connection.open(door, door.tls())
        await connection.send(Write("POST", "/x", b""))
        connection.close()  # from here the same as if the other side had
        assert (await connection.send(Write("GET", "/y", b""))).body == b"hi"
        connection.close()
    assert [line.split()[1] for line in asked] == [b"/x", b"/y"]
