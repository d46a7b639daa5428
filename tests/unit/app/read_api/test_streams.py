"""Server-sent events over a real socket: their content, their rights, and clients that do not read."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from kit.api_scene import ADMIN, SHOP, STRANGER, VIEWER, Begin, Scene
from pilotage.app.read_api import feed as module
from pilotage.telemetry.server import Limits
from pilotage.testing import make_pod
from pilotage.views.events import Audience, Changes
from pilotage.views.events import told as told_of_changes
from pilotage.views.state import State, Steps

PATIENCE = 20.0  # seconds until a test gives up


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PERIOD", 0.02)


@dataclass
class Events:
    """One stream, read event by event."""

    response: aiohttp.ClientResponse
    comments: int = 0
    last: str = ""
    _unread: list[tuple[str, Any]] = field(default_factory=list)

    async def next(self) -> tuple[str, Any]:
        """Return the name and the data of the next event."""
        name = ""
        async with asyncio.timeout(PATIENCE):
            while True:
                line = (await self.response.content.readline()).decode()
                if not line:
                    raise EOFError
                word, _, value = line.rstrip("\n").partition(": ")
                if word == "event":
                    name = value
                elif word == "id":
                    self.last = value
                elif word == "data":
                    return name, json.loads(value)
                elif not word and value:
                    self.comments += 1

    async def until(self, wanted: str) -> Any:
        """Return the data of the next event of a name."""
        while True:
            name, data = await self.next()
            if name == wanted:
                return data


@asynccontextmanager
async def following(scene: Scene, token: str = ADMIN, query: str = "", last: str = "") -> AsyncIterator[Events]:
    headers = {"Last-Event-ID": last} if last else {}
    async with scene.session(token).get(f"{scene.url}/events{query}", headers=headers) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        yield Events(response)


async def streams(scene: Scene, wanted: int) -> None:
    """Wait until there are so many."""
    async with asyncio.timeout(PATIENCE):
        while scene.api.feed.streams != wanted:  # noqa: ASYNC110 - nobody else is told
            await asyncio.sleep(0.02)


async def test_a_bind_is_sent(scene: Scene) -> None:
    async with following(scene) as events:
        hello = await events.next()
        assert hello == ("hello", {"revision": scene.api.revisions.now(), "topics": ["queue", "decisions"]})
        scene.live.add_node("n1")
        scene.live.create(make_pod("web", namespace=SHOP, cpu="100m"))
        assert (await events.until("queue"))["queue"][0]["what"] == "waits"
        await scene.live.settle()
        decided = await events.until("decisions")
        assert [(each["pod"], each["node"]) for each in decided["decisions"]] == [("shop/web", "n1")]


async def test_only_visible_changes_are_sent(scene: Scene) -> None:
    async with following(scene, VIEWER, "?namespace=shop") as events:
        await events.next()
        scene.live.add_node("n1")
        scene.live.create(make_pod("hidden", namespace="secret", cpu="100m"), make_pod("web", namespace=SHOP, cpu="1m"))
        await scene.live.settle()
        decided = await events.until("decisions")
        assert [each["pod"] for each in decided["decisions"]] == ["shop/web"]
        assert "node" not in decided["decisions"][0]


async def test_an_admin_can_follow_one_namespace(scene: Scene) -> None:
    async with following(scene, query="?namespace=shop") as events:
        await events.next()
        scene.live.create(make_pod("other", namespace="batch", cpu="9"), make_pod("web", namespace=SHOP, cpu="9"))
        assert [each["name"] for each in (await events.until("queue"))["queue"]] == ["web"]
        await scene.live.settle()
        assert [each["pod"] for each in (await events.until("decisions"))["decisions"]] == ["shop/web"]


async def test_a_pod_that_is_no_longer_pending_has_left(scene: Scene) -> None:
    pod = make_pod("web", namespace=SHOP, cpu="9")
    scene.live.create(pod)
    async with following(scene, query="?topics=queue") as events:
        await events.next()
        scene.live.delete(pod)
        assert await events.until("queue") == {
            "revision": int(events.last),
            "queue": [{"what": "left", "namespace": SHOP, "name": "web"}],
        }


async def test_changed_nodes_are_named(scene: Scene) -> None:
    async with following(scene, query="?topics=nodes") as events:
        await events.next()
        scene.live.add_node("n1")
        assert (await events.until("nodes"))["nodes"] == ["n1"]


async def test_events_are_encoded_once_for_equal_rights(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[int, Audience]] = []

    def told(state: State, audience: Audience, changes: Changes) -> Steps[bytes]:
        written.append((changes.revision, audience))
        return real(state, audience, changes)

    real = told_of_changes
    monkeypatch.setattr(module, "told", told)
    scene.users.may_see["other-admin"] = lambda _: True
    query = "?topics=queue&namespace=shop"
    async with (
        following(scene, ADMIN, query) as one,
        following(scene, "other-admin", query) as other,
        following(scene, VIEWER, query) as third,
    ):
        for events in (one, other, third):
            await events.next()
        scene.live.create(make_pod("web", namespace=SHOP))
        for events in (one, other, third):
            assert [each["name"] for each in (await events.until("queue"))["queue"]] == ["web"]
    assert len({audience.viewer for _, audience in written}) == 2  # admins see nodes, too
    assert len(written) == len(set(written))


async def test_too_many_changes_become_a_resync(scene: Scene) -> None:
    async with following(scene, query="?topics=queue") as events:
        await events.next()
        scene.live.create(*(make_pod(f"p{number}", namespace=SHOP) for number in range(201)))
        assert (await events.until("resync"))["topics"] == ["queue"]


async def test_a_client_that_reconnects_gets_what_it_missed(scene: Scene) -> None:
    async with following(scene, query="?topics=queue") as events:
        await events.next()
        scene.live.create(make_pod("first", namespace=SHOP))
        await events.until("queue")
    async with following(scene, query="?topics=queue") as other:  # somebody goes on following
        await other.next()
        scene.live.create(make_pod("second", namespace=SHOP))
        await other.until("queue")
        async with following(scene, query="?topics=queue", last=events.last) as again:
            assert (await again.next())[0] == "hello"
            assert [each["name"] for each in (await again.until("queue"))["queue"]] == ["second"]


@pytest.mark.parametrize("last", ["1", "99999999999999999"])
async def test_a_client_that_reconnects_too_late_gets_a_resync(scene: Scene, last: str) -> None:
    async with following(scene, last=last) as events:
        assert [(await events.next())[0], (await events.next())[0]] == ["hello", "resync"]


async def test_idle_streams_get_comments(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT", 0.01)
    async with following(scene) as events:
        await events.next()
        await asyncio.sleep(0.1)
        scene.live.create(make_pod("web", namespace=SHOP))
        await events.until("queue")
        assert events.comments > 0


async def test_a_stream_ends_with_the_rights_of_its_user(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.05)
    monkeypatch.setattr(module, "BEAT", 0.02)
    async with following(scene, VIEWER, "?topics=queue&namespace=shop") as events:
        await events.next()
        scene.users.may_see[VIEWER] = lambda _: False
        with pytest.raises(EOFError):
            await events.next()


async def test_the_number_of_streams_is_limited(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STREAMS", 3)
    monkeypatch.setattr(module, "BEAT", 0.02)
    async with following(scene), following(scene), following(scene, STRANGER):
        status, body, headers = await scene.answer("/events")
        assert (status, body["reason"], headers["Retry-After"]) == (429, "TooManyRequests", "5")
    await streams(scene, 0)
    async with following(scene) as events:
        await events.next()


async def test_a_client_that_does_not_read_is_disconnected(begin: Begin) -> None:
    scene = await begin(limits=Limits(sending=0.2))
    reader, writer = await asyncio.open_connection("127.0.0.1", scene.server.port, ssl=scene.trust, limit=1024)
    writer.write(b"GET /pilotage/v1/events?topics=queue HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n")
    await writer.drain()
    await reader.readline()
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    names = [f"{number}-{'x' * 200}" for number in range(190)]
    await streams(scene, 1)
    turn = 0
    async with asyncio.timeout(PATIENCE):
        while scene.api.feed.streams:
            pods = [make_pod(f"{turn}-{name}", namespace=SHOP) for name in names]
            scene.live.create(*pods)
            await scene.api.feed.look()
            for pod in pods:
                scene.live.delete(pod)
            await scene.api.feed.look()
            turn += 1
            await asyncio.sleep(0.01)
    assert scene.api.feed.dropped == 1
    writer.close()


async def test_streams_end_with_the_server(scene: Scene) -> None:
    async with following(scene) as events:
        await events.next()
        scene.api.feed.close()
        with pytest.raises(EOFError):
            await events.until("never")
    assert scene.api.feed.streams == 0
