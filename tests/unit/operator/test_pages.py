"""The operator's pages over real connections: metrics, health, and neighbours who hold connections."""

import asyncio
from contextlib import suppress

import aiohttp
import pytest

from kit.looking_glass import free_port
from pilotage_operator.pages import serving_health, serving_metrics

NEIGHBOUR = "127.0.0.2"


@pytest.fixture
def port() -> int:
    return free_port()


async def test_they_are_served(port: int) -> None:
    async with serving_metrics(port, lambda: "text 1\n"), aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
            assert (answer.status, await answer.text()) == (200, "text 1\n")
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        async with session.get(f"http://127.0.0.1:{port}/") as answer:
            assert answer.status == 404
        async with session.post(f"http://127.0.0.1:{port}/metrics", data=b"x") as answer:
            assert answer.status == 405


async def test_a_port_that_somebody_has_stops_nobody(port: int, caplog: pytest.LogCaptureFixture) -> None:
    async with serving_metrics(port, lambda: ""), serving_metrics(port, lambda: "") as second:
        assert second == 0
    assert f"cannot listen on port {port}" in caplog.text


async def test_without_a_port_nothing_is_served() -> None:
    async with serving_metrics(0, lambda: "") as nothing:
        assert nothing == 0


async def asked(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


async def test_health(port: int) -> None:
    said = [""]
    async with serving_health(port, lambda: said[0]):
        assert await asked(port, "/healthz") == (200, "ok")
        said[0] = "no reconciliation has completed for 200 s"
        assert await asked(port, "/healthz") == (500, "no reconciliation has completed for 200 s")
        assert (await asked(port, "/metrics"))[0] == 404


async def test_a_page_that_breaks_is_an_error_and_no_more(port: int, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> str:
        raise ValueError("secret")

    async with serving_metrics(port, broken):
        status, text = await asked(port, "/metrics")
    assert (status, "secret" in text) == (500, False)


async def test_a_neighbour_who_holds_connections_stops_no_probe(port: int) -> None:
    async with serving_health(port, lambda: ""):
        held = []
        for _ in range(300):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(NEIGHBOUR, 0))
            writer.write(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
            held.append((reader, writer))
        assert await asked(port, "/healthz") == (200, "ok")
        cut = [reader for reader, _ in held if await was_cut(reader)]
        print(f"{len(held) - len(cut)} of {len(held)} connections are left to the neighbour")
        assert len(held) - len(cut) <= 32
        for _, writer in held:
            writer.transport.abort()


async def was_cut(reader: asyncio.StreamReader) -> bool:
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(0.01):
            return await reader.read(1) == b""
        return False
    return reader.exception() is not None
