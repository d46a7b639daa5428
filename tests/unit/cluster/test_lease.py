import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from pilotage.cluster.election.lease import LeaderElection, Loss
from pilotage.cluster.election.lease_settings import LeaseSettings, new_identity
from pilotage.cluster.transport.api_errors import ApiError, Unreachable
from pilotage.cluster.write.microtime import format_microtime


class Client:
    """A connection, of the lease's thread alone, to a server that holds one Lease."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.thread: threading.Thread | None = None
        self.is_closed = False
        self.is_up = True
        self.bug: Exception | None = None

    def connect(self) -> "Client":
        asyncio.get_running_loop()
        self.thread = threading.current_thread()
        return self

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self.answer()

    async def post(self, path: str, body: bytes, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self.answer(body)

    async def put(self, path: str, body: bytes, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self.answer(body)

    async def close(self) -> None:
        self.is_closed = True

    async def answer(self, body: bytes | None = None) -> bytes:
        await asyncio.sleep(0)
        assert threading.current_thread() is self.thread
        if self.bug:
            raise self.bug
        if not self.is_up:
            raise Unreachable("gone")
        if body is not None:
            self.version += 1
            self.lease = msgspec.json.decode(body)
            assert self.lease is not None
            self.lease["metadata"]["resourceVersion"] = str(self.version)
        if self.lease is None:
            raise ApiError(404, reason="", message="", retry_after=None, body=b"")
        return msgspec.json.encode(self.lease)

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        return dict(self.lease["spec"])


SETTINGS = LeaseSettings(namespace="ns", name="n", identity="me", retry_period=0.02)


async def until(fact: Callable[[], bool]) -> None:
    """Wait for something that another thread does."""
    while True:
        if fact():
            return
        await asyncio.sleep(0.005)


@asynccontextmanager
async def started(client: Client, settings: LeaseSettings = SETTINGS, **more: Any) -> AsyncIterator[LeaderElection]:
    election = LeaderElection(settings, client.connect, **more)
    election.start()
    try:
        yield election
    finally:
        await election.stop(10)


async def test_the_lease_is_acquired_and_renewed_from_another_thread() -> None:
    client = Client()
    async with started(client) as election:
        assert await election.wait_until_leading()
        assert election.may_act()
        assert election.is_leader
        assert election.leader == "me"
        await until(lambda: client.version > 3)
        assert client.thread is not threading.current_thread()


async def test_a_scheduling_loop_that_is_busy_does_not_cost_the_lease() -> None:
    client = Client()
    async with started(client) as election:
        assert await election.wait_until_leading()
        end = client.version + 3
        while client.version < end:  # never gives the event loop a chance
            sum(range(1000))
        assert election.may_act()


async def test_stopping_frees_the_lease_and_ends_the_thread() -> None:
    client = Client()
    async with started(client) as election:
        await election.wait_until_leading()
        assert await election.stop(10)
        assert not election.may_act()
        assert not election.is_leader
        assert await election.wait_until_lost() is None
        assert not await election.wait_until_leading()
        assert (client.spec["holderIdentity"], client.spec["leaseDurationSeconds"]) == ("", 1)
        assert client.is_closed
        assert client.thread is not None
        assert not client.thread.is_alive()


async def test_stopping_a_candidate_leaves_the_lease_of_another_alone() -> None:
    client = Client()
    client.lease = {"metadata": {"resourceVersion": "7"}, "spec": {"holderIdentity": "other"}}
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with started(client, on_new_leader=heard.put_nowait) as election:
        assert await heard.get() == "other"
        assert not election.may_act()
        assert await election.stop(10)
    assert client.version == 0
    assert client.spec == {"holderIdentity": "other"}


async def test_stopping_before_it_began_or_twice_is_no_matter() -> None:
    client = Client()
    assert await LeaderElection(SETTINGS, client.connect).stop(1)
    async with started(client) as election:
        assert all(await asyncio.gather(election.stop(10), election.stop(10)))
        assert await election.stop(10)


async def test_a_lease_that_cannot_be_renewed_is_lost_for_ever() -> None:
    client, moment = Client(), 50.0
    async with started(client, clock=lambda: moment) as election:
        assert await election.wait_until_leading()
        client.is_up = False
        await until(lambda: election.slow_paths > 1)
        moment += 10
        assert await election.wait_until_lost() == Loss("the Lease was not renewed within 10 s: gone")
        assert not election.may_act()
        assert not election.is_leader
        client.is_up = True
        version = client.version
        await election.stop(10)
        assert client.version == version
        assert not await election.wait_until_leading()


async def test_the_right_to_act_ends_while_the_thread_stands_still() -> None:
    client, moment = Client(), 50.0
    async with started(client, clock=lambda: moment) as election:
        assert await election.wait_until_leading()
        assert election.may_act()
        moment += 40  # as after a SIGSTOP: the first thing that happens is our question
        assert not election.may_act()
        loss = await election.wait_until_lost()
        assert loss is not None
        assert "not renewed" in loss.reason


@pytest.mark.parametrize("moment", ["connecting", "acquiring", "leading"])
async def test_an_error_in_the_thread_is_a_loss_and_never_a_silent_end(moment: str) -> None:
    client, bug = Client(), RuntimeError("a bug")

    def connect() -> Client:
        if moment == "connecting":
            raise bug
        return client.connect()

    client.bug = bug if moment == "acquiring" else None
    election = LeaderElection(SETTINGS, connect)
    election.start()
    assert await election.wait_until_leading() == (moment == "leading")
    client.bug = bug
    assert await election.wait_until_lost() == Loss("the lease thread failed: RuntimeError('a bug')")
    assert not election.may_act()
    assert await election.stop(10)
    assert client.is_closed == (moment != "connecting")


async def test_a_release_that_takes_too_long_does_not_hold_up_the_end() -> None:
    client = Client()
    held = threading.Event()

    async def hang(body: bytes | None = None) -> bytes:
        await until(held.is_set)
        raise Unreachable

    async with started(client) as election:
        await election.wait_until_leading()
        client.answer = hang  # type: ignore[method-assign]
        assert not await election.stop(0.05)
        assert not election.may_act()
        held.set()


def test_every_identity_is_new() -> None:
    assert len({new_identity() for _ in range(9)}) == 9


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), "2026-01-02T03:04:05.000678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:04:05.000000Z"),
    ],
)
def test_a_microtime_has_six_digits_and_is_utc(moment: datetime, text: str) -> None:
    assert format_microtime(moment) == text
