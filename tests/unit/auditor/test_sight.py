import asyncio
import contextlib

import pytest

from auditor import sight as module
from auditor.fake_api import FakeApi, serving
from auditor.kubeconfig import Access
from auditor.observer import CannotWatch
from auditor.sight import sight_of
from auditor.testing import Raw


class Sink:
    """Takes everything and keeps the number of lists."""

    def __init__(self) -> None:
        self.lists = 0

    def listed(self, objects: list[Raw], began: float, seen_until: float) -> None:
        self.lists += 1

    def changed(self, found: Raw) -> None: ...
    def gone(self, found: Raw) -> None: ...


class Broken(Sink):
    """Fails on purpose."""

    def listed(self, objects: list[Raw], began: float, seen_until: float) -> None:
        raise ZeroDivisionError


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_LIMIT", 0.5)
    monkeypatch.setattr(module, "END_LIMIT", 0.5)


async def test_the_last_look_is_a_list_of_its_own() -> None:
    sinks = {"pods": Sink(), "nodes": Sink()}
    async with serving(FakeApi()) as url, sight_of(Access(url, False, {}), sinks) as sight:
        await sight.opens(asyncio.Event())
        await sight.last_look()
        assert [sink.lists for sink in sinks.values()] == [2, 2]
        assert sight.lists == 4


async def test_an_api_server_that_is_gone_at_the_end_is_no_proof() -> None:
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(FakeApi()))
        async with sight_of(Access(url, False, {}), {"pods": Sink()}) as sight:
            await sight.opens(asyncio.Event())
            await stack.aclose()
            with pytest.raises(CannotWatch, match="out of reach at the end"):
                await sight.last_look()
            assert not sight.is_whole


async def test_an_api_server_that_never_answers_is_named() -> None:
    async with sight_of(Access("http://127.0.0.1:1", False, {}), {"pods": Sink()}) as sight:
        with pytest.raises(
            CannotWatch, match=r"cannot watch http://127.0.0.1:1 \(ClientConnectorError.*is the API server up"
        ):
            await sight.opens(asyncio.Event())


async def test_a_stop_before_the_start_is_no_proof() -> None:
    stopped = asyncio.Event()
    stopped.set()
    async with sight_of(Access("http://127.0.0.1:1", False, {}), {"pods": Sink()}) as sight:
        with pytest.raises(CannotWatch, match="stopped before the first lists came"):
            await sight.opens(stopped)


async def test_an_error_of_our_own_is_not_swallowed() -> None:
    async with serving(FakeApi()) as url, sight_of(Access(url, False, {}), {"pods": Broken()}) as sight:
        with pytest.raises(ZeroDivisionError):
            await sight.opens(asyncio.Event())


async def test_kinds_that_a_server_does_not_have_count_as_empty_lists() -> None:
    sinks = {"nodes": Sink(), "resourceclaims": Sink()}
    async with serving(FakeApi()) as url, sight_of(Access(url, False, {}), sinks) as sight:
        await sight.opens(asyncio.Event())
        await sight.last_look()
        assert sinks["resourceclaims"].lists == 2
