"""Whose turn it is: soon after a change, not too often, later after a failure, and never twice at once."""

import asyncio

import pytest

from pilotage_operator.controllers.work_queue import WorkQueue

pytestmark = pytest.mark.looptime


@pytest.fixture
async def queue() -> WorkQueue[str]:
    return WorkQueue(asyncio.get_running_loop().time)


async def taken(queue: WorkQueue[str], seconds: float) -> str | None:
    try:
        async with asyncio.timeout(seconds):
            return await queue.take()
    except TimeoutError:
        return None


async def test_changes_that_come_together_are_one(queue: WorkQueue[str]) -> None:
    for _ in range(100):
        queue.add("a")
    assert await taken(queue, 0.04) is None
    assert await taken(queue, 0.02) == "a"
    assert await taken(queue, 100) is None


async def test_who_comes_first_is_first(queue: WorkQueue[str]) -> None:
    for key in ("b", "a", "c"):
        queue.add(key)
    assert [await taken(queue, 1) for _ in range(3)] == ["b", "a", "c"]


async def test_an_object_is_not_looked_at_more_often_than_needed(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.done("a")
    queue.add("a")
    assert await taken(queue, 0.45) is None
    assert await taken(queue, 0.1) == "a"


async def test_what_changes_while_it_is_looked_at_is_looked_at_again(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.add("a")
    assert await taken(queue, 10) is None
    queue.done("a")
    assert await taken(queue, 1) == "a"


async def test_a_look_without_a_change(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.done("a", 60)
    assert await taken(queue, 59) is None
    assert await taken(queue, 2) == "a"


async def test_a_change_comes_before_a_look_that_is_due_anyway(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.done("a", 60)
    queue.add("a")
    assert await taken(queue, 1) == "a"


async def test_pauses_after_failures_grow_and_end(queue: WorkQueue[str]) -> None:
    queue.add("a")
    pauses = []
    for _ in range(12):
        assert await taken(queue, 100) == "a"
        pauses.append(queue.failed("a", 1.0))
    assert all(0.75 * full <= pause <= full for full, pause in zip((1, 2, 4, 8, 16, 32, 60, 60), pauses, strict=False))
    assert await taken(queue, 100) == "a"
    queue.done("a")
    queue.add("a")
    await queue.take()
    assert queue.failed("a", 1.0) <= 1.0


async def test_a_change_does_not_shorten_a_pause(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.failed("a", 1.0, at_least=30.0)
    queue.add("a")
    assert await taken(queue, 29) is None
    assert await taken(queue, 2) == "a"


async def test_one_that_fails_does_not_hold_up_another(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.failed("a", 60.0)
    queue.add("b")
    assert await taken(queue, 1) == "b"


async def test_what_is_gone_leaves_nothing_behind(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.take()
    queue.failed("a", 60.0)
    await queue.take()
    queue.forget("a")
    assert len(queue) == 0
    queue.add("a")
    assert await taken(queue, 0.1) == "a"
