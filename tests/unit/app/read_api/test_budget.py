"""How much of the loop answers use, and when they have to wait."""

import asyncio
from time import thread_time

import pytest

from pilotage.app.read_api import budget as module
from pilotage.app.read_api.budget import DEBT, OF_REST, OF_WORK, SAVED, SLICE, Budget, Busy
from pilotage.telemetry.measured import Measured
from pilotage.views.state import Steps


class World:
    """Time, and whether pods are active."""

    def __init__(self) -> None:
        self.worked, self.rested, self.is_active = 100.0, 0.0, True
        self.budget = Budget(lambda: self.is_active, lambda: (self.worked, self.rested))
        self.budget.is_spent()


def test_the_budget_grows_with_the_work_of_the_loop() -> None:
    world = World()
    assert not world.budget.is_spent()
    world.budget.take(SAVED + 0.01)
    assert world.budget.is_spent()
    world.worked += 0.009 / OF_WORK
    assert world.budget.is_spent()
    world.worked += 0.002 / OF_WORK
    assert not world.budget.is_spent()


def test_the_budget_grows_faster_while_the_loop_is_idle() -> None:
    world = World()
    world.budget.take(SAVED + 0.01)
    world.rested += 0.011 / OF_REST
    assert not world.budget.is_spent()
    assert OF_REST > OF_WORK


def test_work_before_the_first_check_does_not_count() -> None:
    budget = Budget(lambda: True, lambda: (1000.0, 1000.0))
    budget.take(SAVED + 0.01)
    assert budget.is_spent()


def test_little_is_saved_up() -> None:
    world = World()
    world.worked += 1000.0
    assert not world.budget.is_spent()
    world.budget.take(SAVED)
    assert world.budget.is_spent()


def test_the_debt_is_bounded() -> None:
    world = World()
    world.budget.take(1000.0)
    world.worked += 1.01 * DEBT / OF_WORK
    assert not world.budget.is_spent()


def test_there_is_no_limit_while_no_pod_is_being_placed() -> None:
    world = World()
    world.budget.take(1000.0)
    world.is_active = False
    assert not world.budget.is_spent()


def test_the_longest_slice_is_forgotten_after_two_minutes() -> None:
    budget, seen = World().budget, list[float]()
    for seconds in (0.002, 0.001, 0.0):
        budget.take(seconds)
        seen.append(budget.longest_slice)
        budget.begin_minute()
    assert seen == [0.002, 0.002, 0.001]


def steps(number: int, turns: list[str], name: str, seconds: float = 0.0) -> Steps[str]:
    """Work in steps of so much CPU."""
    for _ in range(number):
        turns.append(name)
        end = thread_time() + seconds
        while thread_time() < end:
            pass
        yield
    return name


async def test_answers_take_turns_whose_slices_are_short() -> None:
    turns: list[str] = []
    budget = World().budget
    both = (steps(3, turns, "a", SLICE), steps(3, turns, "b", SLICE))
    assert [*await asyncio.gather(*map(budget.run, both))] == ["a", "b"]
    assert turns == ["a", "b"] * 3


async def test_short_steps_share_a_slice() -> None:
    turns: list[str] = []
    budget = World().budget
    await asyncio.gather(budget.run(steps(3, turns, "a")), budget.run(steps(3, turns, "b")))
    assert turns == ["a"] * 3 + ["b"] * 3


async def test_first_come_first_served() -> None:
    world, served = World(), list[int]()

    async def ask(number: int) -> None:
        await world.budget.turn()
        served.append(number)
        world.budget.take(2 * SAVED)

    world.budget.take(2 * SAVED)
    asking = [asyncio.create_task(ask(number)) for number in range(3)]
    for _ in range(3):
        await asyncio.sleep(0.01)
        assert len(served) == 0 or world.budget.is_spent()
        world.worked += 2 * SAVED / OF_WORK
        await asyncio.sleep(2 * module.LONGEST_PAUSE)
    await asyncio.gather(*asking)
    assert served == [0, 1, 2]


async def test_an_answer_that_waits_too_long_is_aborted() -> None:
    world, closed = World(), list[bool]()

    def endless() -> Steps[None]:
        try:
            while True:
                world.budget.take(SAVED)
                yield
        finally:
            closed.append(True)

    with pytest.raises(Busy):
        await world.budget.run(endless(), 0.05)
    assert closed == [True]


async def test_no_step_runs_while_a_gang_is_being_decided() -> None:
    turns: list[str] = []
    tentative = [True, True, True, False]
    budget = Budget(lambda: False, lambda: (0.0, 0.0), lambda: tentative.pop(0) if tentative else False)
    assert await budget.run(steps(2, turns, "a", SLICE)) == "a"
    assert (turns, tentative) == (["a", "a"], [])


async def test_an_answer_is_aborted_if_deciding_a_gang_takes_too_long() -> None:
    turns: list[str] = []
    with pytest.raises(Busy):
        await Budget(lambda: False, lambda: (0.0, 0.0), lambda: True).run(steps(1, turns, "a"), 0.05)
    assert turns == []


async def test_slices_are_measured() -> None:
    found: list[float] = []

    async def work() -> str:
        turns: list[str] = []
        return await World().budget.run(steps(3, turns, "done", 2 * SLICE))

    assert await Measured(work(), found.append) == "done"
    assert len([each for each in found if each >= 2 * SLICE]) == 3


async def test_measuring_changes_neither_errors_nor_cancellation() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def wait() -> None:
        await asyncio.Event().wait()

    async def run(measured: Measured[None]) -> None:
        await measured

    with pytest.raises(KeyError):
        await Measured(fail(), lambda _: None)
    task = asyncio.create_task(run(Measured(wait(), lambda _: None)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
