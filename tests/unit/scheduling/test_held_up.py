"""What is told about pods that could be tried and were not."""

import asyncio

import pytest

from kit.live_core import LiveCore
from pilotage.scheduling import held_up as module
from pilotage.scheduling import loop
from pilotage.scheduling.held_up import HeldUp
from pilotage.testing import make_pod


class Clock:
    """Shows the time that it is told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "perf_counter", found)
    return found


def test_time_adds_up_while_there_are_too_many_binds(clock: Clock) -> None:
    held_up = HeldUp()
    held_up.resumed()
    for begin, end in ((110.0, 112.0), (120.0, 123.0)):
        clock.now = begin
        held_up.too_many_binds()
        clock.now = begin + 1
        held_up.too_many_binds()
        clock.now = end
        held_up.resumed()
    clock.now = 130.0
    assert held_up.seconds() == {"binds": 5.0, "standstill": 0.0}
    held_up.too_many_binds()
    clock.now = 137.0
    assert held_up.seconds()["binds"] == 12.0  # told while it lasts


@pytest.mark.parametrize(
    ("late", "told"), [pytest.param(0.04, 0.0, id="hardly late"), pytest.param(2.0, 2.0, id="two seconds late")]
)
async def test_turns_that_come_late(clock: Clock, late: float, told: float, monkeypatch: pytest.MonkeyPatch) -> None:
    held_up, sleeps = HeldUp(), 0

    async def sleep(seconds: float) -> None:
        nonlocal sleeps
        sleeps += 1
        clock.now += seconds + (late if sleeps == 2 else 0.0)
        if sleeps == 4:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await held_up.watch_for_standstill()
    assert held_up.seconds()["standstill"] == pytest.approx(told)


async def test_the_loop_tells_when_binds_hold_pods_up(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "MOST_BINDS", 2)
    live = LiveCore()
    live.add_node()
    answers = {name: asyncio.get_running_loop().create_future() for name in "abc"}
    live.api.answers.update(answers)
    live.create(*(make_pod(name, uid=name, cpu="1m") for name in "ab"))
    await live.settle()
    clock.now += 10
    assert live.core.loop.held_up.seconds()["binds"] == 0.0  # nobody else is there
    live.create(make_pod("c", uid="c", cpu="1m"))
    await live.settle()
    clock.now += 10
    assert live.core.loop.held_up.seconds()["binds"] == 10.0
    answers["a"].set_result(None)
    await live.settle()
    clock.now += 10
    assert live.core.loop.held_up.seconds()["binds"] == 10.0
