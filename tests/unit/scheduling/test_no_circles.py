"""What an attempt leaves behind goes at once: the garbage collector, which is told to look rarely, finds nothing."""

import gc
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from pilotage.app import configured
from pilotage.app.profile_engines import engines, retries
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.cycle import Scheduler
from pilotage.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
SPREAD = [{**WEB, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    """The default profile over four full-ish nodes, with the collector off and nothing for it to do."""
    cache, profiles = ClusterCache(), configured(None).profiles()
    for number in range(4):
        cache.put_node(make_node(f"n{number}", cpu="4", labels={ZONE: f"z{number % 2}"}))
        cache.put_pod(make_pod(f"old-{number}", cpu="2", node=f"n{number}", labels={"app": "web"}))
    profile = next(iter(profiles.values()))
    queue = SchedulingQueue(
        profile.plugin_set.queue_sort[0],
        lambda _: profile.plugin_set.pre_enqueue,
        {profile.scheduler_name: retries(profile)},
        time.monotonic,
    )
    found = Scheduler(cache, engines(profiles, cache), queue.nominator, Random(0))
    found.schedule(make_pod("first", cpu="10m"))  # pays for what is made once
    gc.collect()
    gc.disable()
    yield found
    gc.enable()


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"cpu": "100m"}, id="a pod that fits"),
        pytest.param({"cpu": "64"}, id="a pod that fits nowhere"),
        pytest.param({"cpu": "3", "priority": 100}, id="a pod that evicts another"),
        pytest.param(
            {"labels": {"app": "web"}, "spec": {"topologySpreadConstraints": SPREAD}}, id="a pod that spreads"
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [WEB]}}},
            id="a pod that stays away from others",
        ),
    ],
)
def test_an_attempt_leaves_nothing_to_collect(scheduler: Scheduler, fields: dict[str, Any]) -> None:
    pods = [make_pod(f"pod-{number}", **fields) for number in range(3)]
    gc.collect()
    for pod in pods:
        scheduler.schedule(pod)
    assert gc.collect() == 0
