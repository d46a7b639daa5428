"""Who has a turn when there are too many."""

import asyncio

import pytest

from pilotage.cluster.watch.fair_turns import FairTurns


class Play:
    """Lets jobs of several owners have turns, each until it is told to end."""

    def __init__(self, most: int) -> None:
        self.turns = FairTurns(most)
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, *jobs: str) -> None:
        for job in jobs:
            self.ends[job] = asyncio.Event()
            self.tasks[job] = asyncio.create_task(self._run(job))

    async def _run(self, job: str) -> None:
        async with self.turns.of(job[0]):
            self.begun.append(job)
            await self.ends[job].wait()

    async def end(self, *jobs: str) -> None:
        for job in jobs:
            self.ends[job].set()
            await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
async def play() -> Play:
    return Play(2)


async def test_so_many_at_once(play: Play) -> None:
    play.start("a1", "a2", "a3")
    await play.settle()
    assert play.begun == ["a1", "a2"]
    await play.end("a1")
    assert play.begun == ["a1", "a2", "a3"]
    await play.end("a2", "a3")
    play.start("b1", "b2")
    await play.settle()
    assert play.begun[3:] == ["b1", "b2"]  # all turns came back


async def test_owners_take_turns_however_many_one_has(play: Play) -> None:
    play.start(*(f"a{i}" for i in range(6)), "b1", "c1", "b2")
    await play.settle()
    await play.end("a0", "a1", "a2", "b1", "c1")
    assert play.begun == ["a0", "a1", "a2", "b1", "c1", "a3", "b2"]


async def test_who_is_cancelled_while_it_waits_takes_nothing_away(play: Play) -> None:
    play.start("a1", "a2", "a3", "a4")
    await play.settle()
    play.tasks["a3"].cancel()
    await play.settle()
    await play.end("a1", "a2", "a4")
    assert play.begun == ["a1", "a2", "a4"]
    play.start("b1", "b2")
    await play.settle()
    assert play.begun[3:] == ["b1", "b2"]


async def test_who_is_cancelled_in_the_moment_of_its_turn_passes_it_on(play: Play) -> None:
    play.start("a1", "a2", "a3", "a4")
    await play.settle()
    play.ends["a1"].set()
    await asyncio.sleep(0)
    play.tasks["a3"].cancel()  # it has been given its turn, and does not know yet
    await play.settle()
    assert play.begun == ["a1", "a2", "a4"]


async def test_a_failure_gives_the_turn_back() -> None:
    turns = FairTurns(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="oh"):
            async with turns.of("a"):
                raise ValueError("oh")
