"""The bucket: a burst at once, then so many a second, in the order in which they came."""

import asyncio

import pytest

from pilotage.cluster.transport.flow_control import TokenBucket

pytestmark = pytest.mark.looptime


async def times(bucket: TokenBucket, count: int) -> list[float]:
    """When each of several that ask at once may go."""
    loop = asyncio.get_running_loop()

    async def one() -> float:
        await bucket.take()
        return round(loop.time(), 3)

    return list(await asyncio.gather(*(one() for _ in range(count))))


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    assert await times(TokenBucket(10, 3), 6) == [0, 0, 0, 0.1, 0.2, 0.3]


async def test_the_bucket_refills_up_to_the_burst() -> None:
    bucket = TokenBucket(10, 3)
    await times(bucket, 3)
    await asyncio.sleep(100)
    assert await times(bucket, 5) == [100, 100, 100, 100.1, 100.2]


@pytest.mark.parametrize("qps", [0, -1])
async def test_without_a_rate_nobody_waits(qps: float) -> None:
    assert await times(TokenBucket(qps, 1), 1000) == [0] * 1000


async def test_a_rate_without_a_burst_lets_one_go() -> None:
    assert await times(TokenBucket(10, 0), 2) == [0, 0.1]


async def test_a_newcomer_does_not_overtake() -> None:
    bucket, order = TokenBucket(10, 1), list[str]()

    async def one(name: str, after: float) -> None:
        await asyncio.sleep(after)
        await bucket.take()
        order.append(name)

    await asyncio.gather(one("a", 0), one("b", 0.01), one("c", 0.02), one("d", 0.1999))
    assert order == ["a", "b", "c", "d"]


async def test_not_even_when_the_loop_was_busy_while_the_bucket_filled() -> None:
    bucket, order = TokenBucket(10, 1), list[str]()

    async def one(name: str) -> None:
        await bucket.take()
        order.append(name)

    await one("a")
    waiting = asyncio.create_task(one("b"))
    await asyncio.sleep(0)
    assert bucket._filled_at is not None
    bucket._filled_at -= 1
    await one("c")
    await waiting
    assert order == ["a", "b", "c"]


async def test_who_gives_up_costs_the_others_nothing() -> None:
    bucket = TokenBucket(10, 1)
    await bucket.take()
    patient = asyncio.create_task(times(bucket, 1))
    quitters = [asyncio.create_task(bucket.take()) for _ in range(50)]
    last = asyncio.create_task(times(bucket, 1))
    await asyncio.sleep(0.01)
    for task in quitters:
        task.cancel()
    assert [await patient, await last] == [[0.1], [0.2]]


async def test_a_token_that_came_too_late_goes_to_the_next() -> None:
    bucket = TokenBucket(1, 1)
    await bucket.take()
    late = asyncio.create_task(bucket.take())
    await asyncio.sleep(0)
    # In the same moment in which it gets its turn.
    asyncio.get_running_loop().call_later(1.0, late.cancel)
    await asyncio.sleep(1.0)
    await asyncio.gather(late, return_exceptions=True)
    assert late.cancelled()
    assert (await times(bucket, 1))[0] == pytest.approx(1.0, abs=0.01)
