"""Requests through the official client: what a failure means, for how long, and how many at once."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import ApisApi

from localcluster.pki import Authority, Identity
from pilotage.cluster.credentials.access import Access, from_kubeconfig
from pilotage.cluster.credentials.credentials import Identity as Credentials
from pilotage.cluster.credentials.credentials import Issued
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.transport.tls import Trust
from pilotage_operator import api_requests
from pilotage_operator.api_requests import ApiRequests
from pilotage_operator.login import Login

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def asking(handler: Handler, *, seconds: float = 5.0, at_once: int = 4) -> AsyncIterator[ApiRequests]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    requests = made(from_kubeconfig(None, master=f"http://127.0.0.1:{runner.addresses[0][1]}"), seconds, at_once)
    try:
        yield requests
    finally:
        await requests.close()
        await runner.cleanup()


def made(access: Access, seconds: float = 5.0, at_once: int = 4) -> ApiRequests:
    return ApiRequests(Login(access, agent="test"), writer="test", seconds=seconds, at_once=at_once)


async def silent(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError


async def breaks_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b'{"items": [')
    assert request.transport is not None
    request.transport.abort()
    return response


async def hangs_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def is_long(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 1001)


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        pytest.param(silent, "no response within 0.2 seconds", id="a server that says nothing"),
        pytest.param(breaks_off, "closed before the response was complete", id="an answer that breaks off"),
        pytest.param(hangs_up, "closed before the response was complete", id="a server that hangs up"),
        pytest.param(is_long, "larger than 1000 bytes", id="an answer that is too long"),
    ],
)
@pytest.mark.parametrize("verb", ["get", "create"])
async def test_what_nobody_knows_the_outcome_of(
    monkeypatch: pytest.MonkeyPatch, handler: Handler, message: str, verb: str
) -> None:
    monkeypatch.setattr(api_requests, "LARGEST_ANSWER", 1000)
    async with asking(handler, seconds=0.2) as requests:
        with pytest.raises(OutcomeUnknown, match=message):
            await (requests.get("/api") if verb == "get" else requests.create("/api", {}))


async def test_a_server_that_is_not_there() -> None:
    requests = made(from_kubeconfig(None, master="http://127.0.0.1:1"))
    with pytest.raises(Unreachable, match=r"no connection to 127\.0\.0\.1 port 1: .*failed"):
        await requests.get("/api")
    await requests.close()


@pytest.mark.parametrize(
    ("status", "body", "headers", "message", "retry_after"),
    [
        pytest.param(403, '{"reason": "Forbidden", "message": "no"}', {}, "403 Forbidden: no", None, id="a Status"),
        pytest.param(502, "<html>gone</html>", {}, "502: <html>gone</html>", None, id="a page of a proxy"),
        pytest.param(429, "{}", {"Retry-After": "7"}, "429: the server gave no details", 7.0, id="a busy server"),
        pytest.param(
            429, '{"details": {"retryAfterSeconds": 3}}', {"Retry-After": "soon"}, "429", 3.0, id="a strange header"
        ),
    ],
)
@pytest.mark.parametrize("way", ["get", "stream", "typed"])
async def test_a_refusal_is_told_with_its_reason(
    status: int, body: str, headers: dict[str, str], message: str, retry_after: float | None, way: str
) -> None:
    async def refuses(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=body, headers=headers, content_type="application/json")

    async def ask(requests: ApiRequests) -> None:
        if way == "get":
            await requests.get("/api")
        elif way == "typed":
            await requests.typed(lambda client: ApisApi(client).get_api_versions())
        else:
            async with requests.stream("/api"):
                raise AssertionError

    async with asking(refuses) as requests:
        with pytest.raises(ApiError, match=message) as found:
            await ask(requests)
    assert (found.value.status, found.value.retry_after) == (status, retry_after)


async def test_a_typed_answer_that_is_none_is_no_surprise() -> None:
    async def strange(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>", content_type="application/json")

    async with asking(strange) as requests:
        with pytest.raises(OutcomeUnknown, match="invalid response"):
            await requests.typed(lambda client: ApisApi(client).get_api_versions())


async def test_a_stream_gives_bytes_as_they_come_and_tells_when_it_breaks_off() -> None:
    go_on = asyncio.Event()

    async def watch(request: web.Request) -> web.StreamResponse:
        assert dict(request.query) == {"watch": "true", "labelSelector": "a in (b,c)"}
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await go_on.wait()
        await response.write(b"two\n")
        await asyncio.sleep(0.3)  # longer than an answer may take to begin
        assert request.transport is not None
        request.transport.abort()
        return response

    async with asking(watch, seconds=0.2) as requests:  # noqa: SIM117 - the server outlives the stream
        async with requests.stream("/api", {"watch": "true", "labelSelector": "a in (b,c)"}) as pieces:
            assert await anext(pieces) == b"one\n"
            go_on.set()
            assert await anext(pieces) == b"two\n"
            with pytest.raises(OutcomeUnknown, match="closed"):
                await anext(pieces)


async def test_a_stream_that_does_not_begin() -> None:
    async with asking(silent, seconds=0.2) as requests:
        with pytest.raises(OutcomeUnknown, match=r"no response within 0\.2 seconds"):
            async with requests.stream("/api"):
                raise AssertionError


async def test_only_so_many_at_once_and_watches_are_none_of_them() -> None:
    under_way, most = 0, 0
    release = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if request.path == "/watch":
            under_way -= 1
            response = web.StreamResponse()
            await response.prepare(request)
            await release.wait()
            return response
        await asyncio.sleep(0.02)
        under_way -= 1
        return web.json_response({})

    async with asking(slow, at_once=2) as requests:  # noqa: SIM117
        async with requests.stream("/watch"), requests.stream("/watch"), requests.stream("/watch"):
            await asyncio.gather(*(requests.get("/api") for _ in range(12)))
            release.set()
    assert most == 2


async def test_whoever_waits_too_long_for_a_turn_sent_nothing() -> None:
    async with asking(silent, seconds=0.2, at_once=1) as requests:
        first = asyncio.create_task(requests.get("/api", timeout=5))
        await asyncio.sleep(0.05)
        with pytest.raises(Unreachable, match=r"all connections were in use for 0\.2 seconds"):
            await requests.get("/api")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def test_a_proxy_of_the_environment_is_not_for_us(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fine(request: web.Request) -> web.StreamResponse:
        return web.json_response({"agent": request.headers["User-Agent"], "how": request.headers["Accept-Encoding"]})

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with asking(fine) as requests:
        assert await requests.get("/api") == b'{"agent": "test", "how": "identity"}'


class TestTls:
    """A server with a certificate of an authority, for one name."""

    @pytest.fixture
    def pki(self, tmp_path: Path) -> Path:
        folder = tmp_path / "pki"
        Authority(folder).issue([Identity("server", "api", "", ("api.example",))])
        return folder

    @asynccontextmanager
    async def asking(self, pki: Path, **trust: Any) -> AsyncIterator[ApiRequests]:
        async def fine(request: web.Request) -> web.StreamResponse:
            return web.json_response({})

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", fine)
        runner = web.AppRunner(app)
        await runner.setup()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(pki / "server.crt", pki / "server.key")
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        server = f"https://127.0.0.1:{runner.addresses[0][1]}"
        requests = made(Access(server, Trust(**trust), lambda: Issued(Credentials())))
        try:
            yield requests
        finally:
            await requests.close()
            await runner.cleanup()

    async def test_the_name_that_the_kubeconfig_gives_is_the_one_that_counts(self, pki: Path) -> None:
        authorities = (pki / "ca.crt").read_bytes()
        async with self.asking(pki, authorities=authorities, server_name="api.example") as requests:
            assert await requests.get("/api") == b"{}"

    @pytest.mark.parametrize(
        ("name", "is_ours"),
        [
            pytest.param("api.example", False, id="an authority that is not ours"),
            pytest.param("", True, id="a name that the certificate does not hold"),
        ],
    )
    async def test_a_certificate_that_is_not_trusted(self, pki: Path, name: str, is_ours: bool) -> None:
        authorities = (pki / "ca.crt").read_bytes() if is_ours else b""
        async with self.asking(pki, authorities=authorities, server_name=name) as requests:
            with pytest.raises(
                Unreachable, match=r"its certificate is not trusted .*; check the certificate authority"
            ):
                await requests.get("/api")

    async def test_a_server_that_never_shakes_hands(self, pki: Path) -> None:
        gone = asyncio.Event()

        async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                await reader.read()
            writer.transport.abort()
            gone.set()

        async with await asyncio.start_server(says_nothing, "127.0.0.1", 0) as other:
            port = other.sockets[0].getsockname()[1]
            access = Access(f"https://127.0.0.1:{port}", Trust(), lambda: Issued(Credentials()))
            requests = made(access, seconds=0.2)
            with pytest.raises(Unreachable, match=r"no connection to .* within"):
                await requests.get("/api")
            await requests.close()
            await gone.wait()
            await asyncio.sleep(0)  # its socket is closed in the next turn
