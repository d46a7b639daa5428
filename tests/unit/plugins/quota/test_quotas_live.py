"""Quotas in a scheduler that runs: victims go through the same gate as any others, and the right news wake pods."""

import asyncio
from typing import Any

import pytest

from kit.live_core import DELETED, LiveCore
from pilotage.cluster.write.evictor import Evicted, NotEvicted
from pilotage.model.pod import Pod
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.testing import make_pod
from pilotage.testing.quotas import make_namespace, make_quota

pytestmark = pytest.mark.looptime

EVICTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}


def pod(name: str, namespace: str, cpu: str = "500m", **fields: Any) -> Pod:
    return make_pod(name, uid=name, namespace=namespace, cpu=cpu, **fields)


class World(LiveCore):
    """A node with one core, on which one namespace has borrowed half of it from another."""

    def __init__(self) -> None:
        self.plugin = CapacityScheduling()
        super().__init__(self.plugin)
        self.add_node("n1")
        for namespace in ("lender", "borrower"):
            self.core.objects.added(make_quota(namespace, {"cpu": "500m"}))
        self.borrowed = [pod(f"b{i}", "borrower", node="n1", priority=100) for i in range(2)]
        self.create(*self.borrowed)

    async def later(self) -> None:
        """Let time pass until no pod is in back-off."""
        await asyncio.sleep(20)
        await self.settle()


async def test_a_lender_gets_its_room_back() -> None:
    world, waiting = World(), pod("waiting", "lender")
    world.api.answers["b0"] = world.api.answers["b1"] = asyncio.get_running_loop().create_future()
    world.create(waiting)
    await world.settle()
    (name,) = world.api.evictions
    assert waiting.uid in world.plugin._in_progress
    assert waiting.uid in world.preemption._in_progress
    (victim,) = [each for each in world.borrowed if each.name == name]
    world.change(victim, pod(name, "borrower", node="n1", priority=100, metadata=DELETED))
    assert waiting.uid not in world.plugin._in_progress
    world.api.answers[name].set_result(Evicted())
    world.delete(victim)
    await world.later()
    assert world.api.binds == [("waiting", "n1")]
    assert [note for _, _, reason, _, note in world.api.events if reason == "Preempted"] == [
        "Preempted by pod waiting on node n1"
    ]
    world.change(waiting, waiting.on("n1"))
    assert world.held() == {}
    assert not world.plugin._in_progress


async def test_nobody_sneaks_into_the_room_of_a_lender() -> None:
    """The borrower's next pod is more important than the lender's, and comes while the victim is leaving."""
    world, waiting, greedy = World(), pod("waiting", "lender"), pod("greedy", "borrower", priority=50)
    world.create(waiting)
    await world.settle()
    (name,) = world.api.evictions
    (victim,) = [each for each in world.borrowed if each.name == name]
    world.create(greedy)
    world.delete(victim)
    await world.later()
    assert world.api.binds == [("waiting", "n1")]
    told = [message for name, _, message, _ in world.api.conditions if name == "greedy"]
    assert "total ElasticQuota used is more than min (cpu: 1500m used with this pod, 1 guaranteed in all)" in told[0]


async def evicted_for_many(world: LiveCore, nodes: list[int], wanted: int, priority: int = 0) -> list[str]:
    """Let a borrower fill nodes of so many cores and want one more, and a lender ask for its half; who was evicted?"""
    total = sum(nodes)
    for namespace in ("lender", "borrower"):
        world.core.objects.added(make_quota(namespace, {"cpu": total / 2}))
    for number, cores in enumerate(nodes):
        world.add_node(f"n{number}", cpu=cores)
        world.create(*(pod(f"b{number}-{i}", "borrower", cpu="1", node=f"n{number}") for i in range(cores)))
    world.create(pod("greedy", "borrower", cpu="1"))
    await world.settle()
    world.create(*(pod(f"l{i}", "lender", cpu="1", priority=priority) for i in range(wanted)))
    await world.settle()
    return world.api.evictions


@pytest.mark.parametrize("is_heard_of", [False, True])
async def test_many_pods_of_a_lender_evict_one_borrower_each(is_heard_of: bool) -> None:
    """None evicts for those before it once more, whether or not their victims are known to be leaving."""
    world = LiveCore(CapacityScheduling())
    evicted = await evicted_for_many(world, [2, 6], 2)
    if is_heard_of:
        for name in evicted:
            old = world.api.pods[f"borrower/{name}"]
            world.change(old, pod(name, "borrower", cpu="1", node=old.node_name, metadata=DELETED, status=EVICTED))
    world.create(pod("l2", "lender", cpu="1"), pod("l3", "lender", cpu="1"))
    await world.settle()
    assert len(set(evicted)) == 4  # one of whose leaving nothing was heard may be told so twice
    for name in set(evicted):
        world.delete(world.api.pods[f"borrower/{name}"])
    for _ in range(3):
        await asyncio.sleep(20)
        await world.settle()
    assert sorted(name for name, _ in world.api.binds) == ["l0", "l1", "l2", "l3"]
    assert len(set(evicted)) == 4


def victim_on(world: LiveCore, node: str) -> Pod:
    (found,) = [each for each in world.api.pods.values() if each.node_name == node and each.name in world.api.evictions]
    return found


@pytest.mark.parametrize("first", ["n0", "n1"])
async def test_a_nomination_stands_until_the_victims_of_all_have_gone(first: str) -> None:
    """The other plugin that makes room finds nobody to evict, and must not clears the nomination for that.

    The lender's pod would be overtaken by one of the borrower, which would have to go again.
    """
    world = LiveCore(CapacityScheduling())
    await evicted_for_many(world, [2, 2], 2)
    for node in (first, "n0" if first == "n1" else "n1"):
        world.delete(victim_on(world, node))
        await asyncio.sleep(20)
        await world.settle()
    assert sorted(name for name, _ in world.api.binds) == ["l0", "l1"]
    assert len(set(world.api.evictions)) == 2


async def test_what_one_plugin_evicts_is_known_to_the_other() -> None:
    """The borrowers matter less, so that DefaultPreemption evicts them; it is asked first."""
    world = LiveCore(CapacityScheduling())
    evicted = await evicted_for_many(world, [3, 3], 3, priority=10)
    assert len(set(evicted)) == 3
    for name in set(evicted):
        world.delete(world.api.pods[f"borrower/{name}"])
    await asyncio.sleep(20)
    await world.settle()
    assert sorted(name for name, _ in world.api.binds) == ["l0", "l1", "l2"]
    assert len(set(evicted)) == 3


async def test_one_that_leaves_makes_room_for_the_next_if_the_first_found_another_place() -> None:
    world, late = LiveCore(CapacityScheduling()), pod("l1", "lender", cpu="1")
    (evicted,) = await evicted_for_many(world, [2, 2], 1)
    victim = world.api.pods[f"borrower/{evicted}"]
    node = victim.node_name
    other = "n0" if node == "n1" else "n1"
    world.change(victim, pod(evicted, "borrower", cpu="1", node=node, metadata=DELETED, status=EVICTED))
    world.delete(next(each for each in world.api.pods.values() if each.node_name == other))  # ended by itself
    await asyncio.sleep(20)
    await world.settle()
    assert world.api.binds == [("l0", other)]
    world.create(late)  # before the victim has left
    await world.settle()
    assert world.api.evictions == [evicted]
    assert world.core.queue.nominator.node_of(late) == node


async def test_a_pod_that_was_stopped_before_its_bind_does_not_count_as_leaving() -> None:
    """It is back in the queue at once, and may get a place again."""
    world = World()
    for rule in world.core.engines[world.borrowed[0].scheduler_name].runner.eviction_rules:
        rule.evictions_began(pod("waiting", "lender"), world.borrowed)
        rule.evictions_cancelled(world.borrowed[:1])
    assert world.plugin._pending_evictions.all() == world.borrowed[1:]


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        pytest.param(Evicted(), False, id="one that is told to go is waited for"),
        pytest.param(NotEvicted("no"), True, id="one that may not be evicted is not"),
    ],
)
async def test_a_preemptor_that_is_tried_again_before_its_victim_leaves(answer: object, again: bool) -> None:
    world, waiting = World(), pod("waiting", "lender", cpu="400m")
    world.add_node("n2")
    idle = pod("idle", "borrower", cpu="1m", node="n2")
    world.create(idle)
    world.api.answers |= dict.fromkeys(("b0", "b1", "idle"), answer)
    world.create(waiting)
    await world.settle()
    world.delete(idle)  # something is free again, but not enough
    await world.later()
    assert len(set(world.api.evictions)) == 1
    assert (len(world.api.evictions) > 1) == again


async def test_another_min_wakes_a_pod_and_another_status_does_not() -> None:
    world, waiting = World(), pod("waiting", "lender", cpu="600m", priority=1)
    world.create(waiting)
    await world.later()
    assert world.place(waiting) == "unschedulable"
    assert world.api.conditions[-1][2].startswith(
        "0/1 nodes are available: Pod lender/waiting is rejected in PreFilter because total ElasticQuota used is more "
        "than min (cpu: 1600m used with this pod, 1 guaranteed in all)."
    )
    same = make_quota("lender", {"cpu": "500m"})
    world.core.objects.updated(same, same)
    assert world.place(waiting) == "unschedulable"
    world.core.objects.updated(same, make_quota("lender", {"cpu": "600m"}))
    assert world.place(waiting) in ("active", "backoff")


async def test_another_label_of_a_namespace_wakes_a_pod() -> None:
    world, waiting = World(), pod("waiting", "lender", cpu="600m")
    world.core.objects.added(make_quota("wide", selector={"matchLabels": {"wide": "yes"}}))
    world.core.objects.added(make_namespace("lender"))
    world.create(waiting)
    await world.later()
    assert world.place(waiting) == "unschedulable"
    world.core.objects.updated(make_namespace("lender"), make_namespace("lender"))
    assert world.place(waiting) == "unschedulable"
    world.core.objects.updated(make_namespace("lender"), make_namespace("lender", wide="yes"))
    assert world.place(waiting) in ("active", "backoff")
