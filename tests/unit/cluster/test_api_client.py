"""Requests over TLS to a server that behaves in every way a server can."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from pilotage.cluster.credentials.credentials import Identity, Issued
from pilotage.cluster.transport import connection_pool
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, NoAccess, OutcomeUnknown, Unreachable, Withheld

HEAD = b"HTTP/1.1 200 OK\r\n"
OK = HEAD + b"Content-Length: 2\r\n\r\n{}"
BIND = "/api/v1/namespaces/default/pods/a/binding"


async def until(condition: Callable[[], Any]) -> None:
    """Let others work until something is so; what is looked at tells nobody when it changes."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def answer_all(peer: Any) -> None:
    """A server as it should be."""
    while True:
        await peer.request()
        await peer.ok()


def says(*pieces: bytes, closes: bool = True) -> Any:
    """A server that says the same to every request."""

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(*pieces)
        if not closes:
            await peer.until_closed()

    return script


class TestRequests:
    @pytest.mark.parametrize(
        ("call", "head", "body"),
        [
            pytest.param(
                lambda api: api.get("/api/v1/nodes", {"limit": "5", "fieldSelector": "a=b&c"}),
                b"GET /api/v1/nodes?limit=5&fieldSelector=a%3Db%26c HTTP/1.1", b"", id="get",
            ),
            pytest.param(lambda api: api.post("/a", b"{1}"), b"POST /a HTTP/1.1", b"{1}", id="post"),
            pytest.param(lambda api: api.put("/a", b"{2}"), b"PUT /a HTTP/1.1", b"{2}", id="put"),
            pytest.param(lambda api: api.patch("/a", b"{3}"), b"PATCH /a HTTP/1.1", b"{3}", id="patch"),
            pytest.param(lambda api: api.delete("/a"), b"DELETE /a HTTP/1.1", b"", id="delete"),
            pytest.param(lambda api: api.delete("/a", b"{4}"), b"DELETE /a HTTP/1.1", b"{4}", id="delete with options"),
        ],
    )  # fmt: skip
    async def test_what_is_sent(self, serve: Any, client_of: Any, call: Any, head: bytes, body: bytes) -> None:
        server = await serve(answer_all)
        assert await call(client_of(server)) == b"{}"
        lines, _, sent = server.requests[0].partition(b"\r\n\r\n")
        first, *headers = lines.split(b"\r\n")
        assert (first, sent) == (head, body)
        assert {
            b"Host: 127.0.0.1:%d" % server.port, b"User-Agent: tests/1", b"Accept: application/json",
            b"Accept-Encoding: identity", b"Authorization: Bearer t0ken",
        } <= set(headers)  # fmt: skip
        assert (b"Content-Length: %d" % len(body) in headers) == (not first.startswith(b"GET"))

    async def test_the_kind_of_a_patch(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        await client_of(server).patch("/a", b"{}")
        await client_of(server).patch("/a", b"{}", content_type="application/merge-patch+json")
        assert b"Content-Type: application/strategic-merge-patch+json\r\n" in server.requests[0]
        assert b"Content-Type: application/merge-patch+json\r\n" in server.requests[1]

    async def test_the_encoding_that_is_asked_for_and_sent(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        await client_of(server).get("/a", accept="application/x")
        await client_of(server).put("/a", b"x", content_type="application/x")
        assert b"Accept: application/x\r\n" in server.requests[0]
        assert server.requests[0].count(b"Accept:") == 1
        assert b"Content-Type: application/x\r\n" in server.requests[1]

    @pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "a", "/\u00e9", "/a#b", "/a?b?c d", ""])
    async def test_what_would_break_out_of_the_request_is_not_sent(self, serve: Any, client_of: Any, path: str) -> None:
        server = await serve(answer_all)
        with pytest.raises(ValueError, match="is not an API path"):
            await client_of(server).post(path, b"")
        assert server.requests == []

    async def test_requests_share_connections_up_to_a_number(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        api = client_of(server, connections=3)
        await asyncio.gather(*(api.post(BIND, b"{}") for _ in range(30)))
        assert (len(server.requests), server.connections) == (30, 3)
        for _ in range(5):
            await api.get("/a")
        assert server.connections == 3

    async def test_what_happened_is_told(self, serve: Any, client_of: Any) -> None:
        server = await serve(says(b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"))
        told: list[tuple[str, str]] = []
        api = client_of(server, observe=lambda verb, code, seconds: told.append((verb, code)))
        with pytest.raises(ApiError):
            await api.post("/a", b"")
        server.script = says(b"garbage")
        with pytest.raises(OutcomeUnknown):
            await api.put("/a", b"")
        assert told == [("POST", "409"), ("PUT", "<error>")]

    async def test_the_rate_is_kept(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        api = client_of(server, qps=0.001, burst=2)
        await api.get("/a")
        await api.get("/b")
        third = asyncio.create_task(api.get("/c"))
        await asyncio.sleep(0.05)
        assert not third.done()
        assert len(server.requests) == 2
        third.cancel()


class TestAnswers:
    @pytest.mark.parametrize(
        "pieces",
        [
            pytest.param([OK], id="whole"),
            pytest.param([OK[at : at + 1] for at in range(len(OK))], id="byte by byte"),
            pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", OK], id="after an interim answer"),
            pytest.param(
                [HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;a=b\r\n{\r\n", b"1\r\n}\r\n0\r\nX: y\r\n\r\n"],
                id="in chunks with extensions and trailers",
            ),
        ],
    )  # fmt: skip
    async def test_whole_ones(self, serve: Any, client_of: Any, pieces: list[bytes]) -> None:
        assert await client_of(await serve(says(*pieces, closes=False))).post(BIND, b"{}") == b"{}"

    @pytest.mark.parametrize(
        "pieces",
        [
            pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}"], id="truncated body"),
            pytest.param([b"HTTP/1.1 200 OK\r\nContent-"], id="truncated headers"),
            pytest.param([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"], id="truncated chunks"),
            pytest.param([b"\x00\x01\x02\x03"], id="garbage"),
            pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"], id="too large"),
            pytest.param([], id="none, and the connection is closed"),
        ],
    )
    async def test_broken_ones_leave_the_outcome_unknown(self, serve: Any, client_of: Any, pieces: list[bytes]) -> None:
        server = await serve(says(*pieces))
        api = client_of(server, largest=1000)
        for verb in (api.post(BIND, b"{}"), api.get("/a")):
            with pytest.raises(OutcomeUnknown):
                await verb
        assert (len(server.requests), server.connections) == (2, 2)

    @pytest.mark.parametrize("pieces", [[], [b"HTTP/1.1 200 OK\r\n"], [OK[:-1]]], ids=["silent", "slow", "slower"])
    async def test_those_that_take_too_long(self, serve: Any, client_of: Any, pieces: list[bytes]) -> None:
        server = await serve(says(*pieces, closes=False))
        with pytest.raises(OutcomeUnknown, match="no response within"):
            await client_of(server).post(BIND, b"{}", timeout=0.2)

    async def test_a_reset_after_the_request(self, serve: Any, client_of: Any) -> None:
        async def script(peer: Any) -> None:
            await peer.request()
            peer.reset()

        with pytest.raises(OutcomeUnknown, match="before a response came"):
            await client_of(await serve(script)).post(BIND, b"{}")

    async def test_refusals(self, serve: Any, client_of: Any) -> None:
        status = b'{"kind":"Status","message":"slow down","reason":"TooManyRequests"}'
        head = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nContent-Length: %d\r\n\r\n" % len(status)
        with pytest.raises(ApiError, match="429 TooManyRequests: slow down") as caught:
            await client_of(await serve(says(head + status))).post(BIND, b"{}")
        error = caught.value
        assert (error.status, error.reason, error.retry_after, error.body) == (429, "TooManyRequests", 2.0, status)

    async def test_a_redirection_is_not_followed(self, serve: Any, client_of: Any) -> None:
        server = await serve(
            says(b"HTTP/1.1 302 Found\r\nLocation: https://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")
        )
        with pytest.raises(ApiError, match="302"):
            await client_of(server).get("/a")
        assert server.connections == 1


class TestConnections:
    @pytest.mark.parametrize(
        "last",
        [
            pytest.param(HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", id="it says that it closes"),
            pytest.param(OK + b"HTTP/1.1 200 OK\r\n", id="it says more than it was asked"),
            pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", id="it is an old server"),
        ],
    )  # fmt: skip
    async def test_one_that_cannot_be_kept_is_not(self, serve: Any, client_of: Any, last: bytes) -> None:
        server = await serve(says(last, closes=False))
        api = client_of(server)
        assert await api.post(BIND, b"{}") == b"{}"
        assert await api.post(BIND, b"{}") == b"{}"
        assert server.connections == 2

    @pytest.mark.parametrize("how", ["close", "reset"])
    async def test_one_that_was_closed_meanwhile_is_not_used(self, serve: Any, client_of: Any, how: str) -> None:
        async def script(peer: Any) -> None:
            await peer.request()
            await peer.ok()
            getattr(peer, how)()

        server = await serve(script)
        api = client_of(server)
        for _ in range(3):
            await api.post(BIND, b"{}")
            await until(lambda: not api._pool._all)
        assert server.connections == 3

    async def test_bytes_that_nobody_asked_for_end_it(self, serve: Any, client_of: Any) -> None:
        poison = asyncio.Event()

        async def script(peer: Any) -> None:
            await peer.request()
            await peer.ok()
            await poison.wait()
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
            await peer.until_closed()

        server = await serve(script)
        api = client_of(server)
        await api.get("/a")
        poison.set()
        await until(lambda: not api._pool._all)
        assert await api.get("/b") == b"{}"

    async def test_one_that_closes_on_the_second_request(self, serve: Any, client_of: Any) -> None:
        async def script(peer: Any) -> None:
            await peer.request()
            await peer.ok()
            await peer.request()
            peer.close()

        server = await serve(script)
        api = client_of(server)
        await api.get("/a")
        # A reading is repeated on a new connection: it changes nothing.
        assert await api.get("/b") == b"{}"
        assert server.connections == 2
        # Whether the writing was done nobody knows.
        with pytest.raises(OutcomeUnknown):
            await api.post(BIND, b"{}")
        assert [request.split(b" ")[0] for request in server.requests] == [b"GET", b"GET", b"GET", b"POST"]

    async def test_an_end_that_the_loop_has_not_seen_yet_is_noticed(self, serve: Any, client_of: Any) -> None:
        peers: list[Any] = []

        async def script(peer: Any) -> None:
            peers.append(peer)
            await answer_all(peer)

        server = await serve(script)
        api = client_of(server)
        await api.get("/a")
        peers[0].hang_up()
        assert await api.post(BIND, b"{}") == b"{}"
        assert server.connections == 2

    async def test_idle_ones_are_dropped(self, serve: Any, client_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(connection_pool, "LONGEST_IDLE", 0.05)
        closed = asyncio.Event()

        async def script(peer: Any) -> None:
            await peer.request()
            await peer.ok()
            await peer.until_closed()
            closed.set()

        server = await serve(script)
        api = client_of(server)
        await api.get("/a")
        await closed.wait()
        assert not api._pool._all

    async def test_who_is_cancelled_takes_the_connection_along(self, serve: Any, client_of: Any) -> None:
        asked, closed = asyncio.Event(), asyncio.Event()

        async def script(peer: Any) -> None:
            await peer.request()
            asked.set()
            try:
                await peer.until_closed()
            finally:
                closed.set()

        api = client_of(await serve(script), connections=1)
        task = asyncio.create_task(api.post(BIND, b"{}"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await closed.wait()

    async def test_waiting_for_a_free_one_ends_without_anything_sent(self, serve: Any, client_of: Any) -> None:
        server = await serve(says(closes=False))
        api = client_of(server, connections=1)
        first = asyncio.create_task(api.post(BIND, b"{}"))
        await until(lambda: server.requests)
        with pytest.raises(Unreachable, match="all connections were in use"):
            await api.post(BIND, b"{}", timeout=0.05)
        first.cancel()
        server.script = answer_all
        assert await api.post(BIND, b"{}") == b"{}"

    @pytest.mark.looptime
    async def test_who_waited_for_a_free_one_has_as_long_for_the_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = Mock(is_usable=True, tls=None)
        monkeypatch.setattr(connection_pool, "connect", AsyncMock(return_value=made))
        pool = connection_pool.ConnectionPool(Mock(tls=None), size=1)
        first, _ = await pool.take(10)
        asyncio.get_running_loop().call_later(9, pool.release, first)
        _, left = await pool.take(10)
        assert left == pytest.approx(10)

    @pytest.mark.parametrize("verb", ["post", "patch"])
    async def test_what_is_not_wanted_any_more_when_there_is_one_is_not_sent(
        self, serve: Any, client_of: Any, verb: str
    ) -> None:
        server, wanted, asked = await serve(says(closes=False)), True, []

        def may_send() -> bool:
            asked.append(wanted)
            return wanted

        api = client_of(server, connections=1)
        first = asyncio.create_task(api.post(BIND, b"{}", may_send=may_send))
        await until(lambda: server.requests)
        second = asyncio.create_task(getattr(api, verb)(BIND, b"{}", may_send=may_send))
        await asyncio.sleep(0)
        wanted, server.script = False, answer_all
        first.cancel()
        with pytest.raises(Withheld):
            await second
        assert (len(server.requests), asked) == (1, [True, False])
        assert await api.post(BIND, b"{}") == b"{}"

    async def test_a_client_that_is_closed_fails_what_is_under_way(self, serve: Any, client_of: Any) -> None:
        server = await serve(says(closes=False))
        api = client_of(server, connections=1)
        sent, waiting = (asyncio.create_task(api.post(BIND, b"{}")) for _ in range(2))
        await until(lambda: server.requests)
        await api.close()
        with pytest.raises(OutcomeUnknown):
            await sent
        with pytest.raises(Unreachable, match="closed"):
            await waiting


class TestReaching:
    async def test_nobody_listens(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        access = server.access()
        access.port = 1
        with pytest.raises(Unreachable, match=r"no connection to 127\.0\.0\.1 port 1"):
            await client_of(access).get("/a")

    async def test_failures_to_connect_do_not_use_the_connections_up(self, serve: Any, client_of: Any) -> None:
        access = (await serve(answer_all)).access()
        right, access.port = access.port, 1
        api = client_of(access, connections=1)
        for _ in range(3):
            with pytest.raises(Unreachable, match="port 1"):
                await api.get("/a", timeout=5)
        access.port = right
        assert await api.get("/a") == b"{}"

    async def test_a_name_that_does_not_exist(self, serve: Any, client_of: Any) -> None:
        access = (await serve(answer_all)).access()
        access.host = "does-not-exist.invalid"
        with pytest.raises(Unreachable, match=r"does-not-exist\.invalid"):
            await client_of(access).get("/a")

    async def test_a_server_that_does_not_speak_tls(self, client_of: Any, serve: Any) -> None:
        async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            writer.close()

        access = (await serve(answer_all)).access()
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as other:
            access.port = other.sockets[0].getsockname()[1]
            with pytest.raises(Unreachable):
                await client_of(access).get("/a")

    async def test_a_server_that_never_shakes_hands(self, client_of: Any, serve: Any) -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        access = (await serve(answer_all)).access()
        async with await asyncio.start_server(silent, "127.0.0.1", 0) as other:
            access.port = other.sockets[0].getsockname()[1]
            with pytest.raises(Unreachable, match=r"no connection to .* within"):
                await client_of(access).get("/a", timeout=0.1)

    async def test_an_authority_that_is_not_ours(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        with pytest.raises(Unreachable, match="its certificate is not trusted"):
            await client_of(server.access(authorities=b"")).get("/a")
        assert server.requests == []

    async def test_a_name_that_the_certificate_does_not_hold(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        with pytest.raises(Unreachable, match="its certificate is not trusted"):
            await client_of(server.access(server_name="other.test")).get("/a")
        assert await client_of(server.access(server_name="api.test")).get("/a") == b"{}"

    async def test_whoever_asks_for_no_checks_gets_none(self, serve: Any, client_of: Any) -> None:
        server = await serve(answer_all)
        access = server.access(authorities=b"", server_name="other.test", is_insecure=True)
        assert await client_of(access).get("/a") == b"{}"

    async def test_a_client_certificate_is_shown(self, serve: Any, client_of: Any, server_pki: Path) -> None:
        server = await serve(answer_all, asks_for_certificate=True)
        pem = (server_pki / "user.crt").read_bytes() + (server_pki / "user.key").read_bytes()
        assert await client_of(server.access(lambda: Issued(Identity("", pem)))).get("/a") == b"{}"
        with pytest.raises((OutcomeUnknown, Unreachable)):
            await client_of(server).get("/a")


def only(token: bytes) -> Any:
    """A server that knows one token."""

    async def script(peer: Any) -> None:
        while True:
            request = await peer.request()
            if b"Authorization: Bearer " + token + b"\r\n" in request:
                await peer.ok()
            else:
                await peer.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    return script


class TestCredentials:
    async def test_refused_ones_are_asked_for_again_once(self, serve: Any, client_of: Any) -> None:
        tokens = iter(["old", "new", "newer"])
        server = await serve(only(b"new"))
        access = server.access(lambda: Issued(Identity(f"Bearer {next(tokens)}")))
        access._asked_at -= 60
        api = client_of(access)
        assert await asyncio.gather(*(api.post(BIND, b"{}") for _ in range(5))) == [b"{}"] * 5
        assert next(tokens) == "newer"

    async def test_the_same_ones_are_not_sent_again(self, serve: Any, client_of: Any) -> None:
        server = await serve(only(b"new"))
        access = server.access()
        access._asked_at -= 60
        with pytest.raises(ApiError, match="401"):
            await client_of(access).post(BIND, b"{}")
        assert len(server.requests) == 1

    async def test_none_to_be_had_is_said(self, serve: Any, client_of: Any) -> None:
        server = await serve(only(b"new"))
        access = server.access()
        access._asked_at -= 60

        def fail() -> Issued:
            raise NoAccess("the command is gone")

        access._ask = fail
        with pytest.raises(Unreachable, match="the command is gone"):
            await client_of(access).post(BIND, b"{}")

    async def test_old_ones_are_renewed_before_they_are_sent(self, serve: Any, client_of: Any) -> None:
        tokens = iter(["old", "new"])
        server = await serve(only(b"new"))
        access = server.access(lambda: Issued(Identity(f"Bearer {next(tokens)}"), 60.0))
        access._stale_at = 0.0
        assert await client_of(access).post(BIND, b"{}") == b"{}"
        assert len(server.requests) == 1

    async def test_a_new_certificate_means_a_new_connection(self, serve: Any, client_of: Any, server_pki: Path) -> None:
        pem = (server_pki / "user.crt").read_bytes() + (server_pki / "user.key").read_bytes()
        issued = iter([Issued(Identity(), 60.0), Issued(Identity("", pem), 60.0)])
        server = await serve(answer_all)
        access = server.access(lambda: next(issued))
        api = client_of(access)
        await api.get("/a")
        access._stale_at = 0.0
        await api.get("/a")
        assert server.connections == 2


async def test_clients_in_two_threads_share_an_access(serve: Any, client_of: Any) -> None:
    server = await serve(answer_all)
    access = server.access()
    bodies: list[bytes] = []

    async def ask_once() -> None:
        api = ApiClient(access, agent="thread")
        bodies.append(await api.get("/a"))
        await api.close()

    thread = threading.Thread(target=lambda: asyncio.run(ask_once()))
    thread.start()
    assert await client_of(access).get("/b") == b"{}"
    await asyncio.to_thread(thread.join)
    assert bodies == [b"{}"]
