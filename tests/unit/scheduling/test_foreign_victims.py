"""Pods of other schedulers are not evicted unless a profile asks for it, and never for ever in vain."""

import asyncio
from typing import Any

import pytest

from kit.live_core import LiveCore
from pilotage.config.sharing import Sharing
from pilotage.framework.api.plugin import Plugin
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.plugins.preemption.cross_node_preemption import CrossNodePreemption
from pilotage.plugins.preemption.preemption_toleration import PreemptionToleration
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.testing import make_pod
from pilotage.testing.gangs import make_group, make_members
from pilotage.testing.quotas import make_quota

pytestmark = pytest.mark.looptime

EVERYBODYS, THEIRS = Sharing(victims=("*",)), Sharing(victims=("theirs",))
KINDS: list[type[Plugin]] = [CapacityScheduling, PreemptionToleration, CrossNodePreemption]


class World(LiveCore):
    """Nodes of one core, and the profile `ours` beside another scheduler."""

    def __init__(self, *plugins: Plugin, nodes: int = 1, **options: Any) -> None:
        super().__init__(*plugins, **{"scheduler": "ours", **options})
        for number in range(nodes):
            self.add_node(f"n{number}")

    async def later(self, seconds: float = 20.0) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)
        await self.settle()


def pod(name: str, scheduler: str = "theirs", **fields: Any) -> Pod:
    return make_pod(name, uid=name, scheduler=scheduler, cpu="1", **fields)


@pytest.mark.parametrize(
    ("options", "scheduler", "evicted"),
    [
        pytest.param({}, "theirs", [], id="another scheduler's pod stays"),
        pytest.param({}, "ours", ["victim"], id="a pod of the profile goes"),
        pytest.param({"sharing": THEIRS}, "theirs", ["victim"], id="one of a scheduler that the profile names goes"),
        pytest.param({"sharing": THEIRS}, "ours", ["victim"], id="own pods go whoever else is named"),
        pytest.param({"sharing": THEIRS}, "others", [], id="one of a scheduler that it does not name stays"),
        pytest.param({"sharing": EVERYBODYS}, "theirs", ["victim"], id="everybody's"),
        pytest.param(
            {"scheduler": "default-scheduler"}, "theirs", ["victim"], id="as kube-scheduler does, in its place"
        ),
        pytest.param(
            {"scheduler": "default-scheduler", "sharing": Sharing(victims=())}, "theirs", [], id="not even in its place"
        ),
    ],
)
@pytest.mark.parametrize("plugin", [None, *KINDS], ids=lambda kind: kind.__name__ if kind else "DefaultPreemption")
async def test_who_may_be_evicted(
    plugin: type[Plugin] | None, options: dict[str, Any], scheduler: str, evicted: list[str]
) -> None:
    world = World(*([plugin()] if plugin else []), **options)
    world.create(pod("victim", scheduler, node="n0"))
    world.create(pod("important", options.get("scheduler", "ours"), priority=100))
    await world.settle()
    assert world.api.evictions == evicted


async def test_nodes_where_only_others_could_go_are_counted() -> None:
    world = World(nodes=3)
    world.create(pod("theirs", node="n0"), pod("also-theirs", node="n1"), pod("equal", node="n2", priority=100))
    world.create(pod("important", "ours", priority=100))
    await world.settle()
    ((_, _, message, _),) = world.api.conditions
    assert message == (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
        "1 No preemption victims found for incoming pod, 2 Pods of other schedulers are not evicted."
    )


async def test_a_gang_evicts_nobody_elses_pods() -> None:
    world = World(Coscheduling(), nodes=2)
    world.core.objects.added(make_group(minimum=2))
    world.create(pod("own", "ours", node="n0"), pod("foreign", node="n1"))
    world.create(*make_members(2, cpu="1", scheduler="ours", priority=100))
    await world.settle()
    assert world.api.evictions == []


async def test_a_quota_gets_nothing_back_from_another_scheduler() -> None:
    world = World(CapacityScheduling(), nodes=2)
    for namespace in ("lender", "borrower"):
        world.core.objects.added(make_quota(namespace, {"cpu": "1"}))
    world.create(*(pod(f"b{i}", node=f"n{i}", namespace="borrower") for i in range(2)))
    world.create(pod("owner", "ours", namespace="lender"))
    await world.settle()
    assert world.api.evictions == []


class Rival:
    """Another scheduler, which is always quicker: the owner makes a victim anew, and it goes back to its node."""

    def __init__(self, world: World) -> None:
        self.world, self.number = world, 0

    async def put_back(self) -> bool:
        """Let all victims leave and come back; False if there were none."""
        evicted = [each for each in self.world.api.pods.values() if each.name in self.world.api.evictions]
        for victim in evicted:
            self.number += 1
            self.world.create(pod(f"again-{self.number}", node=victim.node_name))
            self.world.delete(victim)
        await self.world.later()
        return bool(evicted)


async def test_a_node_is_left_alone_after_others_took_the_room_twice() -> None:
    """What is reported as kubernetes/kubernetes#130429: thousands of evictions in vain."""
    world = World(sharing=EVERYBODYS)
    rival = Rival(world)
    world.create(pod("first", node="n0"), pod("important", "ours", priority=100))
    await world.settle()
    while await rival.put_back():
        assert len(world.api.evictions) < 10
    assert len(world.api.evictions) == 2
    _, _, message, _ = world.api.conditions[-1]
    assert message.endswith(
        "1 node(s) are avoided for a while: other schedulers took the room that evictions made there"
    )
    await world.later(300)  # and then it is worth another try
    assert len(world.api.evictions) == 3


async def test_another_node_is_freed_while_one_is_left_alone() -> None:
    world = World(sharing=EVERYBODYS)
    rival = Rival(world)
    world.create(pod("first", node="n0"), pod("important", "ours", priority=100))
    await world.settle()
    while await rival.put_back():
        pass
    world.add_node("n9")
    world.create(pod("elsewhere", node="n9"))
    await world.later()
    assert world.api.evictions[2:] == ["elsewhere"]


async def test_room_that_a_pod_of_ours_takes_is_no_reason_to_leave_a_node() -> None:
    world = World(sharing=EVERYBODYS)
    world.create(pod("first", node="n0"), pod("important", "ours", priority=100))
    await world.settle()
    for number in range(4):
        victim = next(each for each in world.api.pods.values() if each.name == world.api.evictions[-1])
        world.create(pod(f"ours-{number}", "ours", node="n0"))
        world.delete(victim)
        await world.later()
    assert len(world.api.evictions) == 5


async def test_what_was_lost_is_forgotten() -> None:
    world = World(sharing=EVERYBODYS)
    rival = Rival(world)
    world.create(pod("first", node="n0"), pod("important", "ours", priority=100))
    await world.settle()
    while await rival.put_back():
        pass
    lost = world.core.evictions.lost_nominations
    assert lost is not None
    assert len(lost) > 0
    important = world.api.pods["default/important"]
    world.delete(important)
    await asyncio.sleep(1000)
    world.create(pod("next", "ours", priority=100))
    await world.settle()
    assert len(lost) == 1  # of the one for whom somebody is evicted now
