"""How long a burst keeps the event loop."""

import asyncio
import time

import pytest

from pilotage.cluster.write.turn import MOST_STEPS, Turn


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list whose last entry is the time."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[-1])
    return now


async def test_a_turn_is_over_after_so_many_steps(clock: list[float]) -> None:
    turn = Turn()
    for _ in range(2):
        assert [turn.step() for _ in range(MOST_STEPS)] == [False] * (MOST_STEPS - 1) + [True]
        await turn.give_way()


async def test_a_turn_is_over_after_two_milliseconds_of_work(clock: list[float]) -> None:
    turn = Turn()
    clock.append(0.0019)
    assert not turn.step()
    clock.append(0.002)
    assert turn.step()
    await turn.give_way()
    assert not turn.step()


def test_waiting_does_not_count(clock: list[float]) -> None:
    turn = Turn()
    clock.append(0.0015)
    turn.pause()
    clock.append(100.0)
    turn.resume()
    assert not turn.step()
    clock.append(100.0006)
    assert turn.step()


async def test_giving_way_lets_others_run() -> None:
    ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    await Turn().give_way()
    assert ran.is_set()
