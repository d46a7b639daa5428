"""A profile whose plugin does harm, beside one whose pods come all the time: those are placed, whatever the first does.

All in memory and in real time. The same is done on a real control plane in tests/integration/test_live_bad_plugins.py.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from kit.binding_api import BindingApi
from kit.live_core import FakeApi
from pilotage.app.core import Core, Outside, core
from pilotage.app.plugin_watch import watch_calls
from pilotage.framework.api.plugin import Filter, Permit, PreBind, PreEnqueue, Reserve, Score
from pilotage.framework.runtime.call_watch import NO_LIMIT, WATCH
from pilotage.framework.runtime.watchdog import WATCHDOG
from pilotage.model.pod import Pod
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.plugins.pods.default_binder import DefaultBinder
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.profiles import Profile
from pilotage.testing import decode_node, make_pod, node_manifest, plugin_set_of

pytestmark = pytest.mark.full

BUDGET = 0.25  # seconds
SECONDS = 3.0
LONGEST_GAP = 10 * BUDGET  # seconds: one call at most, on a machine that may be busy
BAD, GOOD = 20, 100  # pods


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    WATCHDOG.stop()
    WATCHDOG.ask_for_turn = WATCH.next_turn
    WATCH.budget = NO_LIMIT


class World(FakeApi):
    """Two profiles, of which one has a plugin of somebody's own."""

    def __init__(self, plugin: Any) -> None:
        super().__init__()
        self.bound: dict[str, float] = {}  # when, by name
        self.binder = DefaultBinder()
        usual = PrioritySort(), NodeResourcesFit(), self.binder
        profiles = {
            name: Profile(name, plugin_set_of(*usual, *more), 0)
            for name, more in {"good": (), "bad": (plugin,)}.items()
        }
        outside = Outside(self.pods.get, self, self, self, api=BindingApi(self.bind))
        self.core: Core = core(profiles, outside, clock=time.time, seed=0)
        for number in range(3):
            self.core.nodes.added(decode_node(node_manifest(f"n{number}", cpu=64, pods=1000)))

    async def bind(self, pod: Pod, node: str) -> None:
        """Take note of the moment."""
        self.bound[pod.name] = time.perf_counter()

    def create(self, name: str, scheduler: str) -> None:
        """Let a pod appear."""
        pod = make_pod(name, uid=name, scheduler=scheduler, cpu="1m")
        self.pods[pod.key] = pod
        self.core.pods.added(pod)


def loops() -> None:
    while True:
        pass


def swallows() -> None:
    while True:
        try:  # noqa: SIM105
            time.sleep(10)
        except BaseException:  # noqa: S110
            pass


def plugin_with(base: type, method: str, deed: Callable[[], Any]) -> Any:
    """Return a plugin that does one thing in one of its methods."""

    def does(self: Any, *_: Any) -> Any:
        return deed()

    async def awaits(self: Any, *_: Any) -> Any:
        return deed()

    own = awaits if method == "pre_bind" else does
    return type("Harmful", (base,), {method: own, "__module__": __name__})()


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("base", "method", "deed"),
    [
        pytest.param(PreEnqueue, "pre_enqueue", lambda: time.sleep(10), id="it sleeps at the gate"),
        pytest.param(Filter, "filter", swallows, id="it swallows what is raised in filter"),
        pytest.param(Score, "score", loops, id="it loops in score"),
        pytest.param(Reserve, "reserve", lambda: sys.exit(1), id="it exits in reserve"),
        pytest.param(Permit, "permit", lambda: time.sleep(10), id="it sleeps in permit"),
        pytest.param(PreBind, "pre_bind", loops, id="it loops in pre_bind"),
    ],
)
async def test_pods_of_another_profile_are_placed(base: type, method: str, deed: Callable[[], Any]) -> None:
    watch_calls(BUDGET)
    world = World(plugin_with(base, method, deed))
    running = asyncio.create_task(world.core.loop.run())
    for number in range(GOOD):
        world.create(f"good-{number}", "good")
        if number == GOOD // 10:
            for bad in range(BAD):
                world.create(f"bad-{bad}", "bad")
        await asyncio.sleep(SECONDS / GOOD)
    await asyncio.sleep(1.5)
    running.cancel()
    good = sorted(moment for name, moment in world.bound.items() if name.startswith("good"))
    assert len(good) == GOOD
    gaps = sorted((after - before for before, after in pairwise(good)), reverse=True)
    print(f"longest gaps {[round(gap, 2) for gap in gaps[:4]]}")
    assert gaps[0] < LONGEST_GAP
    assert not [name for name in world.bound if name.startswith("bad")]
    assert all(world.core.cache.is_assumed(f"bad-{bad}") is False for bad in range(BAD))
