"""What happens, as the metrics tell it."""

import asyncio
import re
from types import SimpleNamespace
from typing import Any

import pytest

from kit.live_core import LiveCore, One
from pilotage.app.measuring import Measuring
from pilotage.cluster.write.evictor import NotEvicted
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Wait
from pilotage.telemetry.metrics import Metrics
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime


class World(LiveCore):
    """A scheduler that is measured."""

    def __init__(self, **answers: Any) -> None:
        super().__init__(One(answers=answers))
        self.metrics = Metrics()
        time = asyncio.get_running_loop().time
        self.measuring = Measuring(self.metrics, self.core, lambda: 1_000_000 + time())
        self.add_node("n1")

    def value(self, metric: str, /, **labels: str) -> float | None:
        """Return a number of the page; None if it is not there."""
        found = 0.0
        seen = False
        for line in self.metrics.text().decode().splitlines():
            match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if match is None or match[1] != metric:
                continue
            told = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
            if labels.items() <= told.items():
                found, seen = found + float(match[3]), True
        return found if seen else None


async def test_a_pod_that_is_bound() -> None:
    world = World()
    world.create(make_pod("a", uid="a", cpu="1m"))
    await asyncio.sleep(3)
    await world.settle()
    assert world.value("scheduler_schedule_attempts_total", result="scheduled") == 1
    assert world.value("scheduler_pod_scheduling_attempts_count") == 1
    assert world.value("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1") == 1
    assert world.value("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="1") == pytest.approx(3, abs=0.5)
    assert world.value("scheduler_scheduling_algorithm_duration_seconds_count") == 1
    assert world.value("scheduler_cache_size", type="assumed_pods") == 1
    assert world.value("scheduler_cache_size", type="nodes") == 1


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        pytest.param({"reserve": Rejection("no")}, "unschedulable", id="rejected before its bind"),
        pytest.param({"reserve": PluginFailed("off")}, "error", id="failed before its bind"),
        pytest.param({"pre_bind": Rejection("no")}, "unschedulable", id="rejected while it is bound"),
        pytest.param({"pre_bind": PluginFailed("off")}, "error", id="failed while it is bound"),
    ],
)
async def test_a_pod_that_is_not(answers: dict[str, Any], result: str) -> None:
    world = World(**answers)
    world.create(make_pod("a", uid="a", cpu="1m"))
    world.core.loop._batch()
    for _ in range(5):
        await asyncio.sleep(0)
    assert world.value("scheduler_schedule_attempts_total", result=result) == 1
    assert not world.value("scheduler_schedule_attempts_total", result="scheduled")
    assert not world.value("scheduler_pod_scheduling_attempts_count")


async def test_what_waits() -> None:
    world = World(permit=Wait(60.0))
    world.create(make_pod("a", uid="a", cpu="1m"), make_pod("huge", cpu="9"))
    await world.settle()
    assert world.value("scheduler_pending_pods", queue="unschedulable") == 1
    assert world.value("scheduler_unschedulable_pods", plugin="NodeResourcesFit") == 1
    assert world.value("scheduler_goroutines", operation="binding") == 1
    [waiting] = world.core.waiting
    waiting.reject("One", "no")
    await world.settle()
    assert world.value("scheduler_permit_wait_duration_seconds_count", result="Unschedulable") == 1
    assert world.value("scheduler_goroutines", operation="binding") == 0


@pytest.mark.parametrize(
    ("answer", "result"),
    [pytest.param(None, "success", id="it works"), pytest.param(NotEvicted("protected"), "error", id="it fails")],
)
async def test_preemption(answer: Any, result: str) -> None:
    world = World()
    world.api.answers["low"] = answer
    world.create(make_pod("low", uid="low", cpu="1", node="n1", priority=1))
    world.create(make_pod("high", uid="high", cpu="1", priority=9))
    world.core.loop._batch()
    for _ in range(5):
        await asyncio.sleep(0)
    assert world.value("scheduler_preemption_attempts_total") == 1
    assert world.value("scheduler_preemption_victims_sum") == 1
    assert world.value("scheduler_preemption_goroutines_execution_total", result=result) == 1


async def test_a_pod_that_does_not_fit_and_nobody_can_be_evicted() -> None:
    world = World()
    world.create(make_pod("huge", cpu="9"))
    await world.settle()
    assert world.value("scheduler_preemption_victims_count") in (0, None)


@pytest.mark.parametrize("elects", [pytest.param(True, id="elected"), pytest.param(False, id="alone")])
async def test_what_is_outside_of_the_core(elects: bool) -> None:
    world = World()
    told = {"silence": 7.0, "lists": 5.0, "errors": 4.0, "undecodable": 6.0, "skipped": 8.0}
    watching: Any = SimpleNamespace(**{name: lambda number=number: {"pods": number} for name, number in told.items()})
    recorder: Any = SimpleNamespace(waiting=3, dropped=2)
    election: Any = SimpleNamespace(settings=SimpleNamespace(name="lease"), is_leader=True)
    world.measuring.watch(watching, recorder, election if elects else None)
    text = world.metrics.text().decode()
    assert world.value("leader_election_master_status", name="lease") == (1 if elects else None)
    names = ("silence_seconds", "lists_total", "errors_total", "undecodable_objects", "skipped_total")
    for name, number in zip((f"watch_{each}" for each in names), (7, 5, 4, 6, 8), strict=True):
        assert re.search(rf'^pilotage_{name}\{{.*"pods".*\}} {number}(\.0)?$', text, re.MULTILINE)
    assert re.search(r"^pilotage_\w*event\w*(\{.*\})? 3(\.0)?$", text, re.MULTILINE)
    assert re.search(r"^pilotage_\w*event\w*(\{.*\})? 2(\.0)?$", text, re.MULTILINE)
