import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from auditor import observer as module
from auditor.fake_api import FakeApi, serving
from auditor.observer import CannotWatch, Observer
from auditor.testing import Raw, node, pod


class Shelf:
    """A sink that keeps the latest version of each object."""

    def __init__(self) -> None:
        self.objects: dict[str, Raw] = {}
        self.lists = 0

    def listed(self, objects: list[Raw], began: float, seen_until: float) -> None:
        assert seen_until <= began
        self.objects = {found["metadata"]["name"]: found for found in objects}
        self.lists += 1

    def changed(self, found: Raw) -> None:
        self.objects[found["metadata"]["name"]] = found

    def gone(self, found: Raw) -> None:
        del self.objects[found["metadata"]["name"]]


@contextlib.asynccontextmanager
async def observed(url: str) -> AsyncIterator[tuple[Observer, Shelf]]:
    shelf = Shelf()
    async with aiohttp.ClientSession() as http:
        observer = Observer(http, f"{url}/api/v1/pods", shelf)
        work = asyncio.create_task(observer.run())
        try:
            async with asyncio.timeout(10):
                await observer.answered()
                await until(lambda: observer.in_sight)
                yield observer, shelf
        finally:
            work.cancel()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 (the fake API has no event for what its client has seen)
        await asyncio.sleep(0.01)


async def nothing(api: FakeApi) -> None:
    await asyncio.sleep(0)


async def compaction(api: FakeApi) -> None:
    await api.put(node())
    api.oldest = api.version
    await api.cut()


async def refusals(api: FakeApi) -> None:
    api.refusal = 500
    await api.cut()
    await asyncio.sleep(0.3)
    api.refusal = 0


async def silence(api: FakeApi) -> None:
    api.deaden()
    await api.put(pod("unheard"))


@pytest.mark.parametrize(
    ("trouble", "lists"),
    [
        pytest.param(nothing, 1, id="nothing happens"),
        pytest.param(FakeApi.cut, 1, id="the connection breaks within a line"),
        pytest.param(FakeApi.repeat_last, 1, id="an event comes twice"),
        pytest.param(compaction, 2, id="the position is too old"),
        pytest.param(lambda api: api.error(410), 2, id="the position becomes too old"),
        pytest.param(lambda api: api.error(500), 2, id="the server ends the watch with an error"),
        pytest.param(refusals, 1, id="the server is ill for a while"),
        pytest.param(silence, 1, id="the connection is dead and does not say so"),
    ],
)
async def test_nothing_is_missed_when(
    trouble: Callable[[FakeApi], Awaitable[None]], lists: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET", 0.3)
    api = FakeApi()
    await api.put(pod("old"))
    async with serving(api) as url, observed(url) as (_, shelf):
        await api.put(pod("before"))
        await until(lambda: "before" in shelf.objects)
        await trouble(api)
        await api.put(pod("after"))
        await api.put(pod("after", "n1"))
        await api.delete("pods", "old")
        await until(lambda: shelf.objects == api.objects["pods"])
        assert shelf.lists == lists


async def test_it_outlives_the_server() -> None:
    api = FakeApi()
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(api))
        async with observed(url) as (observer, shelf):
            await stack.aclose()
            await until(lambda: not observer.in_sight)
            await api.put(pod("meanwhile"))
            async with serving(api, int(url.rpartition(":")[2])):
                await until(lambda: shelf.objects == api.objects["pods"])
                await until(lambda: observer.in_sight)


async def test_a_long_list_comes_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    api = FakeApi()
    for i in range(7):
        await api.put(pod(f"p{i}"))
    async with serving(api) as url, observed(url) as (_, shelf):
        assert len(shelf.objects) == 7


async def test_an_object_may_be_larger_than_any_buffer() -> None:
    api = FakeApi()
    async with serving(api) as url, observed(url) as (_, shelf):
        await api.put(pod(meta={"annotations": {"much": "x" * 1_000_000}}))
        await until(lambda: "a" in shelf.objects)


async def test_a_fresh_list_can_be_asked_for() -> None:
    api = FakeApi()
    async with serving(api) as url, observed(url) as (observer, shelf):
        await observer.refreshed()
        assert shelf.lists == 2
        observer.ask()
        observer.ask()
        await observer.answered()
        assert shelf.lists == 3
        await api.put(pod("after"))
        await until(lambda: "after" in shelf.objects)


async def test_who_may_not_list_is_told_so() -> None:
    api = FakeApi()
    api.refusal = 403
    async with serving(api) as url, aiohttp.ClientSession() as http:
        sink: Any = Shelf()
        with pytest.raises(CannotWatch, match="403 Forbidden; use a kubeconfig whose user may list and watch"):
            await Observer(http, f"{url}/api/v1/pods", sink).run()
