"""Comparing our view with the API server's: what was only late is no difference, and what is one is told."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from kit.live_core import LiveCore
from kit.small_api import SmallApi, small_api
from pilotage.app.comparing import Comparing
from pilotage.cluster.credentials.access import from_kubeconfig
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.scheduling.comparison import Comparison
from pilotage.testing import make_pod, node_manifest, pod_manifest

PATIENCE = 20.0


class World:
    """A server, a scheduler that knows what it is told, and who compares the two."""

    def __init__(self, api: SmallApi, client: ApiClient) -> None:
        self.api = api
        self.live = LiveCore()
        self.told: list[Mapping[str, int]] = []
        comparison = Comparison(self.live.core.cache, self.live.core.queue, {"default-scheduler"})
        self.comparing = Comparing(client, comparison, self.told.append, every=0.01, second_look=0.05)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with small_api() as api:
        client = ApiClient(from_kubeconfig(None, master=api.url), agent="tests/1")
        yield World(api, client)
        await client.close()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nobody tells when a server was asked
            await asyncio.sleep(0.01)


async def test_all_is_well(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.api.put("nodes", node_manifest("n1"))
    world.live.add_node("n1", uid="uid-n1")
    assert await world.comparing.compare() == set()
    assert world.told == [{"pods": 0, "nodes": 0}]
    assert len(world.api.requests) == 2  # one look is enough
    assert not caplog.records


async def test_a_difference_that_stays_is_told(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.api.put("nodes", node_manifest("n1"))
    for name in ("a", "b"):
        world.api.put("pods", pod_manifest(name, scheduler="default-scheduler"))
    found = await world.comparing.compare()
    assert len(found) == 3
    assert world.told == [{"pods": 2, "nodes": 1}]
    assert [record.message for record in caplog.records] == [
        "the cache differs from the API server: node n1 is not in the cache",
        "the cache differs from the API server: pod default/a waits for a node and is not in the queue",
        "the cache differs from the API server: pod default/b waits for a node and is not in the queue",
    ]


async def test_a_pod_that_counts_as_it_last_was_is_no_difference(world: World) -> None:
    broken = pod_manifest("a", scheduler="default-scheduler", node="n1")
    broken["spec"]["priority"] = "high"
    world.api.put("pods", broken)
    world.live.core.cache.put_pod(make_pod("a", uid=broken["metadata"]["uid"], node="n1"))
    assert await world.comparing.compare() == set()


async def test_what_was_only_late_is_no_difference(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.api.put("nodes", node_manifest("n1"))
    task = asyncio.create_task(world.comparing.compare())
    await until(lambda: len(world.api.requests) == 2)
    world.live.add_node("n1", uid="uid-n1")
    assert await task == set()
    assert world.told == [{"pods": 0, "nodes": 0}]
    assert not caplog.records


@pytest.mark.parametrize(
    ("trouble", "text"),
    [
        pytest.param({"status": 500}, "the cache cannot be compared with the API server: 500", id="the server fails"),
        pytest.param({}, "the comparison of the cache with the API server failed", id="we fail"),
    ],
)
async def test_trouble_does_not_end_it(
    trouble: dict[str, Any], text: str, world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh")

    with monkeypatch.context() as patch:
        if trouble:
            world.api.refusals["/api/v1"] = trouble["status"]
        else:
            patch.setattr(world.comparing, "_look", fail)
        task = asyncio.create_task(world.comparing.run())
        await until(lambda: text in caplog.text)
    world.api.refusals.clear()
    await until(lambda: world.told)
    task.cancel()
