"""Pods that get another try by the clock alone: nothing else happens in these clusters."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from kit.live_core import LiveCore
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.sticky import Sticky
from pilotage.plugins.preemption.preemption_toleration import MINIMUM, SECONDS, PreemptionToleration
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job", "controller": True}


def clock() -> float:
    return 1_000_000 + asyncio.get_running_loop().time()


def now() -> str:
    return datetime.fromtimestamp(clock(), UTC).isoformat()


def of_the_job(name: str, **fields: Any) -> Pod:
    about = {"creationTimestamp": now(), "ownerReferences": [OWNER]}
    return make_pod(name, uid=name, cpu="1", metadata=about, **fields)


async def test_a_pod_that_waits_for_its_node_gives_up() -> None:
    plugin = Sticky.of({"mode": "Require", "giveUpSeconds": 60})
    plugin._clock = clock
    world = LiveCore(plugin)
    world.add_node("n1")
    before = of_the_job("before", node="n1")
    world.create(before)
    world.delete(before)
    world.create(make_pod("full", cpu="1", node="n1"))
    world.add_node("n2")
    world.create(of_the_job("after"))
    await world.settle()
    await asyncio.sleep(58)
    await world.settle()
    assert world.api.binds == []
    await asyncio.sleep(2)
    await world.settle()
    assert world.api.binds == [("after", "n2")]


async def test_a_preemptor_is_tried_when_a_toleration_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", clock)
    world = LiveCore(PreemptionToleration())
    world.core.objects.added(PriorityClass(Metadata("batch", annotations={MINIMUM: "100", SECONDS: "60"}), 5))
    world.add_node("n1")
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
    status = {"conditions": [condition]}
    world.create(make_pod("spared", cpu="1", node="n1", priority=5, priority_class="batch", status=status))
    world.create(make_pod("high", cpu="1", priority=50))
    await world.settle()
    await asyncio.sleep(58)
    await world.settle()
    assert world.api.evictions == []
    await asyncio.sleep(2)
    await world.settle()
    assert world.api.evictions == ["spared"]
