"""Asking an extender that is slow, dead, endless, or not who it says it is."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from kit.scripted_extender import Handler, ScriptedExtender, asking, serving
from localcluster.pki import Authority, Identity
from pilotage.cluster.services.extender_transport import (
    CALLS_AT_ONCE,
    FAILURES_IN_A_ROW,
    PAUSE,
    Transport,
    Unanswered,
)
from pilotage.cluster.transport.service_tls import TLS, BadTLS
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.testing import make_pod

POD = make_pod("web")


@pytest.fixture
async def server() -> AsyncIterator[ScriptedExtender]:
    async with serving(ScriptedExtender()) as made:
        yield made


def says(text: str, status: int = 200, **headers: str) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=text, status=status, headers=headers)

    return handle


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        pytest.param(says("oops", 500), "failed filter with extender at URL URL/filter, code 500", id="an error"),
        pytest.param(
            says("", 307, Location="http://169.254.169.254/"),
            "failed filter with extender at URL URL/filter, code 307",
            id="a redirect, which nobody follows",
        ),
        pytest.param(says("", 204), "failed filter with extender at URL URL/filter, code 204", id="no content"),
        pytest.param(
            says("<html>hello</html>"),
            "failed filter with extender at URL URL: the message is not JSON: JSON is malformed: "
            "invalid character (byte 0)",
            id="a web page",
        ),
        pytest.param(
            says("[" * 100_000),
            "failed filter with extender at URL URL: the message: Expected `object | null`, got `array`",
            id="brackets without end",
        ),
        pytest.param(
            says('{"Error":' + '{"a":' * 100_000),
            "failed filter with extender at URL URL: the message is not JSON: maximum recursion depth exceeded",
            id="maps in maps without end",
        ),
    ],
)
async def test_answers_that_are_none(server: ScriptedExtender, handler: Handler, text: str) -> None:
    server.handler = handler
    async with asking(server.url) as extender:
        with pytest.raises(ExtenderFailed) as failed:
            await extender.filter(POD, ["n1"])
    assert str(failed.value).replace(server.url, "URL").startswith(text)


async def test_a_dead_port_is_told_as_kube_scheduler_does() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens, and nobody else can
        port = taken.getsockname()[1]
        async with asking(f"http://127.0.0.1:{port}/ext") as extender:
            with pytest.raises(ExtenderFailed) as failed:
                await extender.filter(POD, ["n1"])
    text = f'Post "http://127.0.0.1:{port}/ext/filter": dial tcp 127.0.0.1:{port}: connect: connection refused'
    assert str(failed.value) == text


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://127.0.0.1:99999"])
async def test_an_address_that_is_none_is_an_error_of_the_extender(url: str) -> None:
    async with asking(url) as extender:
        with pytest.raises(ExtenderFailed, match=r"^Post "):
            await extender.filter(POD, ["n1"])


async def silence(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits so long")


async def trickle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        pytest.param(silence, "Client.Timeout exceeded while awaiting headers", id="says nothing"),
        pytest.param(trickle, "Client.Timeout or context cancellation while reading body", id="never ends"),
    ],
)
async def test_the_timeout_ends_an_answer_that(server: ScriptedExtender, handler: Handler, text: str) -> None:
    server.handler = handler
    async with asking(server.url, timeout=0.2) as extender:
        with pytest.raises(ExtenderFailed) as failed:
            await extender.filter(POD, ["n1"])
    assert str(failed.value) == f'Post "{server.url}/filter": context deadline exceeded ({text})'


async def test_an_answer_of_a_gigabyte_is_cut_at_the_limit(server: ScriptedExtender) -> None:
    sent = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        piece = b" " * 65536
        for _ in range(16 * 1024):
            await response.write(piece)
            sent += len(piece)
        return response

    server.handler = flood
    limit = 1024 * 1024
    async with asking(server.url, Transport(server.url, 60, largest_answer=limit)) as extender:
        with pytest.raises(ExtenderFailed, match="the response is larger than 10"):
            await extender.filter(POD, ["n1"])
    assert sent < 16 * limit  # what the sockets' buffers hold is all that came beyond the limit


async def test_the_limit_grows_with_the_question(server: ScriptedExtender) -> None:
    name = "n" * 2000
    server.answer = {"Nodes": {"items": [{"metadata": {"name": name}}]}}
    async with asking(server.url, Transport(server.url, 5, largest_answer=500)) as extender:
        assert (await extender.filter(POD, [name])).names == [name]


async def test_only_so_many_questions_are_on_their_way_at_once(server: ScriptedExtender) -> None:
    under_way, most, release = 0, 0, asyncio.Event()

    async def count(request: web.Request) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == CALLS_AT_ONCE:
            release.set()
        await release.wait()
        under_way -= 1
        return web.json_response([])

    server.handler = count
    async with asking(server.url) as extender:
        await asyncio.gather(*(extender.prioritize(POD, []) for _ in range(3 * CALLS_AT_ONCE)))
    assert most == CALLS_AT_ONCE


async def test_an_extender_that_is_down_is_tried_only_now_and_then(server: ScriptedExtender) -> None:
    now, asked = 0.0, 0

    async def hang_up(request: web.Request) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    server.handler = hang_up
    async with asking(server.url, Transport(server.url, 5, clock=lambda: now)) as extender:
        for _ in range(FAILURES_IN_A_ROW + 10):
            with pytest.raises(Unanswered if asked < FAILURES_IN_A_ROW else ExtenderFailed) as failed:
                await extender.filter(POD, ["n1"])
        assert asked == FAILURES_IN_A_ROW
        assert str(failed.value) == f'Post "{server.url}/filter": EOF (and 4 times before in a row)'
        now += PAUSE
        server.handler, server.answer = None, {}
        assert (await extender.filter(POD, ["n1"])).names == []  # one try, which went well:
        assert (await extender.filter(POD, ["n1"])).names == []  # all is forgiven


async def test_an_error_of_an_extender_that_answers_is_no_reason_to_leave_it_alone(server: ScriptedExtender) -> None:
    server.handler = says("", 500)
    async with asking(server.url) as extender:
        for _ in range(2 * FAILURES_IN_A_ROW):
            with pytest.raises(ExtenderFailed, match=r"code 500$"):
                await extender.filter(POD, ["n1"])


# ------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    authority = Authority(folder)
    authority.issue([Identity("server", "server", "", ("ext.example",)), Identity("client", "client", "")])
    Authority(folder / "other")
    return folder


@pytest.fixture
async def secure(pki: Path) -> AsyncIterator[ScriptedExtender]:
    """An extender that is called ext.example and talks to our clients only."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki / "ca.crt"))
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    async with serving(ScriptedExtender(), context) as made:
        made.answer = []
        yield made


async def test_both_sides_show_their_certificates(secure: ScriptedExtender, pki: Path) -> None:
    files = TLS(
        server_name="ext.example",
        ca_file=str(pki / "ca.crt"),
        cert_file=str(pki / "client.crt"),
        key_file=str(pki / "client.key"),
    )
    data = TLS(
        server_name="ext.example",
        ca_file="/nowhere",
        ca_data=(pki / "ca.crt").read_bytes(),
        cert_file="/nowhere",
        cert_data=(pki / "client.crt").read_bytes(),
        key_data=(pki / "client.key").read_bytes(),
    )
    for tls in (files, data):
        async with asking(secure.url, tls=tls, enable_https=True) as extender:
            assert await extender.prioritize(POD, []) == []


@pytest.mark.parametrize(
    ("tls", "enable_https", "trusts"),
    [
        pytest.param(TLS(), False, False, id="without a CA, those of the machine decide"),
        pytest.param(TLS(), True, True, id="enableHTTPS without a CA trusts anybody, as upstream"),
        pytest.param(TLS(insecure=True), False, True, id="insecure trusts anybody"),
        pytest.param(TLS(ca_file="other/ca.crt", server_name="ext.example"), True, False, id="another CA does not"),
        pytest.param(TLS(ca_file="ca.crt"), True, False, id="nor does its own, under another name"),
    ],
)
async def test_whom_to_trust(secure: ScriptedExtender, pki: Path, tls: TLS, enable_https: bool, trusts: bool) -> None:
    known = replace(
        tls,
        ca_file=tls.ca_file and str(pki / tls.ca_file),
        cert_file=str(pki / "client.crt"),
        key_file=str(pki / "client.key"),
    )
    async with asking(secure.url, tls=known, enable_https=enable_https) as extender:
        if trusts:
            assert await extender.prioritize(POD, []) == []
        else:
            with pytest.raises(Unanswered, match="certificate verify failed"):
                await extender.prioritize(POD, [])


@pytest.mark.parametrize(
    "tls",
    [
        pytest.param(TLS(ca_file="/nowhere/ca.crt"), id="a file that is not there"),
        pytest.param(TLS(ca_data=b"\xff"), id="data that is no text"),
        pytest.param(TLS(ca_data=b"no certificate"), id="data that is no certificate"),
        pytest.param(TLS(cert_data=b"no certificate", key_data=b"no key"), id="a certificate that is none"),
    ],
)
async def test_certificates_that_are_none(tls: TLS) -> None:
    with pytest.raises(BadTLS, match="the TLS configuration of extender https://ext cannot be used"):
        async with asking("https://ext", tls=tls):
            pass
