"""A plugin that knows gangs, is not ours and fails: its own pods wait and are told why, all others are placed."""

import asyncio
import time
from typing import Any

import pytest

from kit.binding_api import BindingApi
from kit.live_core import FakeApi
from pilotage.app.core import Core, Outside, core
from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.plugin import Filter
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.model.pod import Pod
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.plugins.pods.default_binder import DefaultBinder
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.profiles import Profile
from pilotage.scheduling.outcome import Placed
from pilotage.testing import decode_node, make_pod, node_manifest, plugin_set_of


class World(FakeApi):
    """Two profiles, of which one has a plugin of somebody's own."""

    def __init__(self, plugin: Any) -> None:
        super().__init__()
        self.bound: set[str] = set()
        self.binder = DefaultBinder()
        usual = PrioritySort(), NodeResourcesFit(), self.binder
        plugin_sets = {"good": plugin_set_of(*usual), "bad": plugin_set_of(*usual, plugin)}
        profiles = {name: Profile(name, plugin_set, 0) for name, plugin_set in plugin_sets.items()}
        self.core: Core = core(
            profiles, Outside(self.pods.get, self, self, self, api=BindingApi(self.bind)), clock=time.time, seed=0
        )
        self.core.nodes.added(decode_node(node_manifest("n1", cpu=64, pods=1000)))

    async def bind(self, pod: Pod, node: str) -> None:
        """Take note."""
        self.bound.add(pod.name)

    def create(self, name: str, scheduler: str, **more: Any) -> None:
        """Let a pod appear."""
        pod = make_pod(name, uid=name, scheduler=scheduler, **{"cpu": "1m", **more})
        self.pods[pod.key] = pod
        self.core.pods.added(pod)


def gang_plugin(method: str, answer: Any) -> Any:
    """Return a plugin that knows gangs, and raises or answers nonsense in one of its methods."""

    def does(self: Any, *_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def nothing(self: Any, *_: Any) -> None:
        return None

    usual: dict[str, Any] = dict.fromkeys(
        (
            "see",
            "objection",
            "shortage",
            "known_rejection",
            "gang_rejected",
            "placed_together",
            "pod_placed",
            "pod_left",
        ),
        nothing,
    )
    usual |= {"missing": lambda self, *_: 2, "filter": nothing, method: does, "__module__": __name__}
    return type("Gangs", (Filter, FormsGangs), usual)()


SERIES = {NAME_LABEL: "series", MIN_LABEL: "2"}


@pytest.mark.parametrize(
    ("method", "answer", "is_placed"),
    [
        pytest.param("missing", ZeroDivisionError("of mine"), False, id="it raises over how many are missing"),
        pytest.param("missing", "two", False, id="it answers with a word"),
        pytest.param("missing", SystemExit(1), False, id="it exits"),
        pytest.param("objection", KeyError("of mine"), False, id="it raises where it may object"),
        pytest.param("objection", 7, False, id="its objection is a number"),
        pytest.param("shortage", KeyError("of mine"), False, id="it raises over what the cluster lacks"),
        pytest.param("known_rejection", KeyError("of mine"), True, id="it raises over a chance"),
        pytest.param("known_rejection", 7, True, id="a chance is a number"),
        pytest.param("placed_together", KeyError("of mine"), True, id="it raises over good news"),
        pytest.param("pod_placed", KeyError("of mine"), True, id="it raises over each pod"),
    ],
)
async def test_who_knows_gangs_and_fails_stops_its_own_pods_alone(method: str, answer: Any, is_placed: bool) -> None:
    world = World(gang_plugin(method, answer))
    for number in range(2):
        world.create(f"bad-{number}", "bad", labels=SERIES)
    world.create("good", "good")
    ended: dict[str, Any] = {}
    world.core.loop.on_decided.connect(lambda queued, outcome, *_: ended.setdefault(queued.pod.name, outcome))
    running = asyncio.create_task(world.core.loop.run())
    async with asyncio.timeout(20):
        while len(ended) < 3 or "good" not in world.bound:
            assert not running.done(), running.exception()
            await asyncio.sleep(0.01)
    running.cancel()
    bad = ended["bad-0"]
    assert isinstance(bad, Placed) is is_placed
    if not is_placed:
        assert (bad.reason, bad.failed_plugin) == ("SchedulerError", "Gangs")
        assert "Gangs" in bad.message
        assert len(world.core.queue) == 2, "they are tried again"


async def test_a_gang_that_is_turned_down_waits_whatever_its_plugin_makes_of_that() -> None:
    world = World(gang_plugin("gang_rejected", KeyError("of mine")))
    for number in range(2):
        world.create(f"bad-{number}", "bad", cpu="1000", labels=SERIES)
    running = asyncio.create_task(world.core.loop.run())
    world.create("good", "good")
    async with asyncio.timeout(20):
        while "good" not in world.bound:
            assert not running.done(), running.exception()
            await asyncio.sleep(0.01)
    running.cancel()
    assert len(world.core.queue) == 2
