"""The benchmark of viewers: its figures, and a short run."""

import asyncio

import pytest

from bench.viewers.alone import costs
from bench.viewers.rounds import Pair, Plan, Round, percentile, play
from bench.viewers.slices import Slices, is_of_api
from bench.viewers.stage import stage


def made(seconds: float, *attempts: float) -> Round:
    return Round(True, 100, seconds, 1.0, 1.0, 0.1, [0.001], 0.0, 0, 0.0, attempts=list(attempts))


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 51), (0.99, 100), (1.0, 100)])
def test_percentiles(share: float, expected: float) -> None:
    assert percentile(range(1, 101), share) == expected


def test_rounds_are_compared_in_pairs() -> None:
    pair = Pair("full speed", is_paced=False, without=[made(1.0, 1.0), made(2.0, 3.0)], viewed=[made(2.0, 2.0)] * 2)
    assert pair.ratios() == [0.5, 1.0]
    assert pair.p99("attempts") == (2.0, 2.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RequestHandler._handle_request", True),
        ("SharedAnswers._begin.<locals>.counted", True),
        ("_SelectorSocketTransport._read_ready", True),
        ("Feed.run", True),
        ("Live._work", False),
        ("Reflector.run", False),
        ("Bindings._bind", False),
    ],
)
def test_callbacks_of_the_api(name: str, expected: bool) -> None:
    assert is_of_api(name) is expected


def test_a_short_run() -> None:
    watch, plan = Slices(), Plan(viewers=4, every=0.05, pods=300, paced_seconds=1.0)

    async def played() -> tuple[list[Round], list[int]]:
        async with stage(20, 40, watch) as on:
            rounds = [await play(on, watch, plan, with_viewers=viewed) for viewed in (False, True)]
            rounds.append(await play(on, watch, plan, with_viewers=True, rate=300.0))
            return rounds, [each.size for each in await costs(on, watch, times=1)]

    with watch.watching(), asyncio.Runner(loop_factory=watch.new_loop) as runner:
        (without, viewed, paced), sizes = runner.run(played())
    assert (without.slices, without.seen) == ([], {})
    for each in (viewed, paced):
        assert len(each.attempts) == len(each.waits) == each.pods == 300
        assert each.seen["events"]["hello"] == 4
        assert set(each.seen["statuses"]) <= {"200", "304", "503"}
        assert 0 < each.api_seconds < each.seconds
        assert max(each.slices) < 0.05  # far more than is meant: the machine may be busy
    assert "200" in paced.seen["statuses"]
    assert min(sizes) > 100
