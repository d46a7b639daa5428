"""One login for kopf and the official client: both are who the files say we are now."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from pilotage.cluster.credentials.access import Access
from pilotage.cluster.credentials.credentials import Identity, Issued
from pilotage.cluster.transport.api_errors import ApiError
from pilotage.cluster.transport.tls import Trust
from pilotage_operator.api_requests import ApiRequests
from pilotage_operator.login import Login

REREAD = 60.0


class Stage:
    """A server that knows some tokens, and a file with ours that can change."""

    def __init__(self) -> None:
        self.token, self.now, self.reads = "first", 0.0, 0
        self.valid = {"first", "second"}
        self.seen: list[tuple[str, str]] = []

    def start(self, port: int) -> None:
        self.access = Access(f"http://127.0.0.1:{port}", Trust(), self._issue, clock=lambda: self.now)
        self.login = Login(self.access, agent="test")
        self.requests = ApiRequests(self.login, writer="test", seconds=5, at_once=4)

    def _issue(self) -> Issued:
        self.reads += 1
        return Issued(Identity(f"Bearer {self.token}"), REREAD)

    async def handle(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.seen.append((request.method, token))
        return web.json_response({}, status=200 if token in self.valid else 401)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", stage.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    stage.start(runner.addresses[0][1])
    yield stage
    await stage.requests.close()
    await runner.cleanup()


async def kopf_token(stage: Stage) -> str:
    session = (await stage.login.for_kopf()).aiohttp_session
    await session.close()
    return session.headers["Authorization"]


async def test_a_renewed_token_is_read_when_it_is_due(stage: Stage) -> None:
    await stage.requests.get("/api")
    stage.token = "second"
    await stage.requests.get("/api")
    stage.now += REREAD
    await stage.requests.get("/api")
    assert [token for _, token in stage.seen] == ["first", "first", "second"]
    assert await kopf_token(stage) == "Bearer second"
    assert stage.reads == 2, "kopf gets what has just been read"


@pytest.mark.parametrize("verb", ["GET", "PATCH", "POST", "DELETE"])
async def test_a_refused_token_is_read_again_at_once(stage: Stage, verb: str) -> None:
    stage.token, stage.valid, stage.now = "second", {"second"}, 2.0
    ask = {
        "GET": lambda: stage.requests.get("/api"),
        "PATCH": lambda: stage.requests.patch("/api", {"a": 1}),
        "POST": lambda: stage.requests.create("/api", {"a": 1}),
        "DELETE": lambda: stage.requests.delete("/api", "u"),
    }
    await ask[verb]()
    assert stage.seen == [(verb, "first"), (verb, "second")]


async def test_a_watch_with_a_refused_token_is_opened_again(stage: Stage) -> None:
    stage.token, stage.valid, stage.now = "second", {"second"}, 2.0
    async with stage.requests.stream("/api") as pieces:
        assert [piece async for piece in pieces] == [b"{}"]


async def test_a_token_that_stays_refused_is_not_read_with_every_request(stage: Stage) -> None:
    stage.valid, stage.now = set(), 2.0
    for _ in range(3):
        with pytest.raises(ApiError, match="401"):
            await stage.requests.get("/api")
    assert (len(stage.seen), stage.reads) == (3, 2)


async def test_kopf_that_was_refused_logs_in_with_the_token_of_now(stage: Stage) -> None:
    stage.token, stage.now = "second", 2.0
    assert await kopf_token(stage) == "Bearer second"
    await stage.requests.get("/api")
    assert stage.seen == [("GET", "second")], "and so does everything else"


async def test_another_client_certificate_gets_other_connections(stage: Stage) -> None:
    first = await stage.login.client()
    under_way = asyncio.create_task(stage.requests.get("/api"))
    await asyncio.sleep(0)
    stage.access.tls = ssl.create_default_context()
    second = await stage.login.client()
    assert first is not second
    assert await stage.login.client() is second
    assert await under_way == b"{}", "what is under way may end"
