"""Shared answers: how long they are kept, and what waiting requests get."""

import asyncio

import pytest

from pilotage.app.read_api import shared_answers as module
from pilotage.app.read_api.shared_answers import UNCHANGED, WHILE_PLACING, Encoded, SharedAnswers


class World:
    """A state with a revision, and answers about it."""

    def __init__(self) -> None:
        self.now, self.revision, self.is_placing, self.made = 100.0, 1, False, 0
        self.slices: list[float] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.answers = SharedAnswers(
            lambda: self.revision, lambda: self.is_placing, self.slices.append, lambda: self.now
        )

    async def make(self) -> Encoded:
        self.made += 1
        revision = self.revision
        await self.gate.wait()
        return Encoded(b"x" * 10, f'"{self.made}"', revision)

    async def get(self, key: str = "queue") -> str:
        return (await self.answers.get(key, self.make)).tag


async def test_an_answer_is_kept_while_the_state_is_unchanged() -> None:
    world = World()
    assert [await world.get(), await world.get()] == ['"1"', '"1"']
    world.now += UNCHANGED
    assert await world.get() == '"2"'


async def test_a_changed_state_gets_a_new_answer() -> None:
    world = World()
    await world.get()
    world.revision += 1
    assert await world.get() == '"2"'


async def test_an_answer_may_be_half_a_second_old_while_pods_are_being_placed() -> None:
    world = World()
    world.is_placing = True
    await world.get()
    world.revision += 1
    world.now += WHILE_PLACING - 0.1
    assert await world.get() == '"1"'
    world.now += 0.2
    assert await world.get() == '"2"'


async def test_no_answer_is_older_than_the_last_event() -> None:
    world = World()
    world.is_placing = True
    await world.get()
    world.revision += 1
    world.answers.announced = world.revision
    assert await world.get() == '"2"'


async def test_each_request_has_its_own_answer() -> None:
    world = World()
    assert [await world.get("a"), await world.get("b"), await world.get("a")] == ['"1"', '"2"', '"1"']


async def test_concurrent_requests_share_one_answer() -> None:
    world = World()
    world.gate.clear()
    asking = [asyncio.create_task(world.get()) for _ in range(20)]
    await asyncio.sleep(0)
    world.gate.set()
    assert set(await asyncio.gather(*asking)) == {'"1"'}


async def test_an_answer_from_before_a_change_is_not_used_for_requests_after_it() -> None:
    world = World()
    world.gate.clear()
    early = asyncio.create_task(world.get())
    await asyncio.sleep(0)
    world.revision += 1
    late = asyncio.create_task(world.get())
    await asyncio.sleep(0)
    world.gate.set()
    await asyncio.gather(early, late)
    assert world.made == 2
    assert await world.get() in (early.result(), late.result())


async def test_a_client_that_disconnects_does_not_affect_others() -> None:
    world = World()
    world.gate.clear()
    first, second = (asyncio.create_task(world.get()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    world.gate.set()
    assert await second == '"1"'


async def test_errors_are_not_kept() -> None:
    world = World()

    async def fail() -> Encoded:
        raise KeyError("x")

    for _ in range(2):
        with pytest.raises(KeyError):
            await world.answers.get("queue", fail)
    assert await world.get() == '"1"'


async def test_slices_are_reported() -> None:
    world = World()
    await world.get()
    assert world.slices


async def test_answers_are_bounded_in_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr(module, "MOST_KEPT", 3)
    for key in "abcd":
        await world.get(key)
    assert await world.get("a") == '"5"'
    monkeypatch.setattr(module, "MOST_BYTES", 25)
    await world.get("e")
    assert (world.answers._bytes, len(world.answers._kept)) == (20, 2)


async def test_old_answers_are_dropped() -> None:
    world = World()
    await world.get()
    world.now += UNCHANGED
    world.answers.tend()
    assert (world.answers._kept, world.answers._bytes) == ({}, 0)
