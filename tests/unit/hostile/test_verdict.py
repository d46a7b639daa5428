"""What a shape may cost, and what is noise."""

import asyncio
from dataclasses import replace
from time import thread_time

import pytest

from hostile.loop_watch import LoopWatch
from hostile.trial import Measurement
from hostile.verdict import better, cost, faults

FINE = Measurement("s", 1, 1 << 20, usual_ms=2.0, after_ms=2.0, wait_ms=10.0, standstill_ms=10.0)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param({}, [], id="nothing is wrong"),
        pytest.param({"standstill_ms": 51.0}, ["standstill"], id="the loop stands still"),
        pytest.param({"after_ms": 5.0}, [], id="slower by less than noise"),
        pytest.param({"after_ms": 8.0}, ["neighbour slower"], id="a neighbour is slower"),
        pytest.param({"wait_ms": 56.0}, ["neighbour waits"], id="a neighbour waits"),
        pytest.param({"wait_ms": 56.0, "pods": 1}, [], id="for a pod that came before it"),
        pytest.param({"idle_ms": 2_000.0}, ["neighbour blocked for 2.0 s"], id="while nobody works"),
        pytest.param({"grown_mib": 81.0}, ["memory"], id="too much memory for a megabyte"),
        pytest.param({"kept_mib": 83.0}, ["memory kept"], id="too much memory left behind"),
        pytest.param({"trouble": "no end"}, ["no end"], id="the trial has no end"),
    ],
)
def test_faults(changes: dict[str, float], told: list[str]) -> None:
    measured = replace(FINE, **changes)  # type: ignore[arg-type]
    assert faults(measured) == told
    assert (cost(measured) > 1) == bool(told) or told == ["memory kept"] or "blocked" in str(told)


def test_of_two_trials_the_better_figures_count() -> None:
    slow = replace(FINE, standstill_ms=70.0, where="here")
    busy = replace(FINE, after_ms=9.0, wait_ms=90.0)
    assert faults(better(slow, busy)) == []


def test_a_turn_is_measured_in_cpu_time_and_without_what_the_harness_does() -> None:
    def work(seconds: float) -> None:
        end = thread_time() + seconds
        while thread_time() < end:
            pass

    async def scene(watch: LoopWatch) -> None:
        with watch.own_work():
            work(0.3)
        await asyncio.sleep(0.05)
        work(0.02)

    watch = LoopWatch()
    with watch.watching(), asyncio.Runner(loop_factory=watch.new_loop) as runner:
        runner.run(scene(watch))
    assert 0.02 <= watch.longest < 0.3
    assert "scene" in watch.where
    assert watch.idle >= 0.04
