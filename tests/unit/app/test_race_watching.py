"""Where the race guard of a live scheduler gets its news from, and what it shows."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from kit.live_core import DELETED, LiveCore
from pilotage.app.race_watching import RaceWatching
from pilotage.config.handshake import CONTENDED
from pilotage.model.kubelet_rejection import KubeletRejection
from pilotage.model.pod import Pod
from pilotage.telemetry.metrics import Metrics
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

FAILED = {"phase": "Failed", "reason": "OutOfcpu", "message": "requested: 500, used: 800, capacity: 1000"}
BOUND = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
STARTED = BOUND | {"startTime": "2026-01-01T00:00:00Z"}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "hash"}}


class World(LiveCore):
    """A scheduler that leads or not, and an API server that says how every pod has failed."""

    def __init__(self, *, leads: bool = True) -> None:
        super().__init__()
        self.add_node("n1")
        self.asked: list[str] = []
        self.written: list[Mapping[str, str | None]] = []
        api: Any = self
        clock = self.core.guard._clock
        self.races = RaceWatching(self.core, api, lambda: leads, self.written.append, clock)
        self.tasks = [asyncio.create_task(job) for job in self.races.jobs()]

    async def get(self, path: str) -> bytes:
        self.asked.append(path.rpartition("/")[2])
        return json.dumps({"metadata": {"uid": self.asked[-1]}, "status": FAILED}).encode()

    async def gone(self, pod: Pod) -> None:
        self.delete(pod)
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("fields", "is_asked"),
    [
        pytest.param({}, True, id="it had its node, and nobody deleted it"),
        pytest.param({"metadata": DELETED}, False, id="somebody deleted it"),
        pytest.param({"status": STARTED}, False, id="the node had started it"),
        pytest.param({"status": {}}, False, id="its node was there when it was created, and nobody had bound it"),
        pytest.param({"node": ""}, False, id="it had no node"),
        pytest.param({"scheduler": "another"}, False, id="it is not ours"),
        pytest.param(MIRROR, False, id="a kubelet had made it"),
    ],
)
async def test_whose_end_is_asked_about(fields: dict[str, Any], is_asked: bool) -> None:
    world = World()
    pod = make_pod("a", **{"uid": "a", "cpu": "500m", "node": "n1", "status": BOUND, **fields})
    world.create(pod)
    await world.gone(pod)
    assert world.asked == (["a"] if is_asked else [])
    assert world.core.cache.believed("n1") == ({"cpu": 800} if is_asked else {})


async def test_a_pod_whose_bind_was_never_seen() -> None:
    world = World()
    pod = make_pod("a", uid="a", cpu="500m")
    world.create(pod)
    await world.settle()
    await world.gone(pod)  # a new list that it is not on any more
    assert world.asked == ["a"]
    assert world.core.cache.believed("n1") == {"cpu": 800}


async def test_a_replica_that_does_not_lead_asks_nobody() -> None:
    world = World(leads=False)
    pod = make_pod("a", uid="a", node="n1", status=BOUND)
    world.create(pod)
    await world.gone(pod)
    assert world.asked == []


async def test_contended_profiles_are_reported_while_they_are() -> None:
    world = World()
    pod = make_pod("a", uid="a", node="n1")
    world.core.guard.bound(pod)
    world.core.guard.rejected(pod, KubeletRejection("NodePorts"))
    await asyncio.sleep(61)
    assert world.written == [{CONTENDED: '{"default-scheduler": {"binds": 1, "rejections": 1}}'}]
    for _ in range(12):
        await asyncio.sleep(60)
        await world.settle()
    assert world.written[-1] == {CONTENDED: None}


async def test_a_replica_that_does_not_lead_reports_nothing() -> None:
    world = World(leads=False)
    world.core.guard.rejected(make_pod("a", uid="a", node="n1"), KubeletRejection("NodePorts"))
    await asyncio.sleep(61)
    assert world.written == [{CONTENDED: None}]


async def test_what_people_and_metrics_see() -> None:
    world, metrics = World(), Metrics()
    world.races.measure(metrics)
    world.add_node("n2")
    foreign = make_pod("x", uid="x", scheduler="another", cpu="100m")
    world.create(foreign)
    world.change(foreign, foreign.on("n2"))
    pod = make_pod("a", uid="a", cpu="500m", node="n1", status=BOUND)
    world.create(pod)
    await world.gone(pod)
    world.core.bindings.bind_check.results["fits"] += 2
    await asyncio.sleep(1)
    assert world.races.page().splitlines() == [
        "rejected by kubelets: OutOfcpu 1",
        "bound by other schedulers: 1, 1 a minute",
        "checked again before a bind: fits 2",
        "profile default-scheduler: 1 rejections of 0 binds in the last 10 minutes",
        "",
        "NODE  REJECTIONS  LAST    REASON    LEFT ALONE  TAKEN UNSEEN  OTHERS",
        "n1    1           1s ago  OutOfcpu  by all, 1s  cpu 800m      -",
        "n2    0           -       -         -           -             another 1s ago",
    ]
    text = metrics.text().decode()
    assert 'pilotage_rejections_total{reason="OutOfcpu"} 1\n' in text
    assert "pilotage_foreign_binds_total 1\n" in text
    assert 'pilotage_race_checks_total{result="fits"} 2\n' in text
