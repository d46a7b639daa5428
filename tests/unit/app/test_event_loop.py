"""The event loop counts its idle time."""

import asyncio
from time import thread_time

from pilotage.app.event_loop import EventLoop, worked_and_rested

PAUSE = 0.05


async def changes(work: float, pause: float) -> tuple[float, float]:
    """Return for how long the loop has worked and rested meanwhile."""
    before = worked_and_rested()
    end = thread_time() + work
    while thread_time() < end:  # noqa: ASYNC110 - it works until then
        await asyncio.sleep(0)
    await asyncio.sleep(pause)
    after = worked_and_rested()
    return after[0] - before[0], after[1] - before[1]


def test_pauses_are_idle_time_and_work_is_not() -> None:
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        worked, rested = runner.run(changes(0.0, PAUSE))
        assert (worked < PAUSE / 2, rested >= PAUSE / 2) == (True, True)
        worked, rested = runner.run(changes(PAUSE, 0.0))
        assert (worked >= PAUSE, rested < PAUSE / 2) == (True, True)


def test_another_loop_has_no_idle_time() -> None:
    with asyncio.Runner() as runner:
        assert runner.run(changes(0.0, 0.01))[1] == 0.0
