"""How much of the loop answers take, and when they have to wait."""

import asyncio

import pytest

from pilotage.app.read_api import budget as module
from pilotage.app.read_api.budget import SAVED, SHARE, Budget, Busy
from pilotage.views.state import Steps


class World:
    """Time, and whether pods are active."""

    def __init__(self) -> None:
        self.now, self.is_active = 100.0, True
        self.budget = Budget(lambda: self.is_active, lambda: self.now, lambda: self.now)


def test_what_is_spent_comes_back_with_work() -> None:
    world = World()
    assert not world.budget.is_spent()
    world.budget.take(SAVED + 0.01)
    assert world.budget.is_spent()
    world.now += 0.011 / SHARE
    assert not world.budget.is_spent()


def test_a_rest_saves_no_more_than_a_little() -> None:
    world = World()
    world.now += 1000.0
    assert not world.budget.is_spent()
    world.budget.take(SAVED)
    assert world.budget.is_spent()


def test_debts_are_bounded() -> None:
    world = World()
    world.budget.take(1000.0)
    world.now += 2.01 * SAVED / SHARE
    assert not world.budget.is_spent()


def test_while_nothing_is_to_be_placed_all_may_be_spent() -> None:
    world = World()
    world.budget.take(1000.0)
    world.is_active = False
    assert not world.budget.is_spent()


def steps(number: int, turns: list[str], name: str) -> Steps[str]:
    for _ in range(number):
        turns.append(name)
        yield
    return name


async def test_answers_take_turns() -> None:
    turns: list[str] = []
    budget = World().budget
    found = await asyncio.gather(budget.run(steps(3, turns, "a")), budget.run(steps(3, turns, "b")))
    assert [*found] == ["a", "b"]
    assert turns == ["a", "b"] * 3


async def test_an_answer_that_must_wait_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    world, closed = World(), list[bool]()

    def endless() -> Steps[None]:
        try:
            while True:
                world.budget.take(SAVED)
                world.now += module.LONGEST / 10
                yield
        finally:
            closed.append(True)

    world.budget.take(1000.0)
    real = world.budget.is_spent

    def spent() -> bool:
        world.now += 0.1
        return real()

    monkeypatch.setattr(world.budget, "is_spent", spent)
    with pytest.raises(Busy):
        await world.budget.run(endless())
    assert closed == [True]


async def test_no_step_sees_a_cluster_in_which_a_gang_is_being_decided() -> None:
    turns: list[str] = []
    tentative = [True, True, False, False, True, False]
    budget = Budget(lambda: False, is_tentative=lambda: tentative.pop(0) if tentative else False)
    assert await budget.run(steps(2, turns, "a")) == "a"
    assert (turns, tentative) == (["a", "a"], [])


async def test_an_answer_gives_up_if_a_gang_is_decided_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 0.05)
    turns: list[str] = []
    with pytest.raises(Busy):
        await Budget(lambda: False, is_tentative=lambda: True).run(steps(1, turns, "a"))
    assert turns == []
