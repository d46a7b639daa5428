"""What becomes of a rejection by a kubelet: who stays away from the node for how long, and what is told."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from kit.live_core import LiveCore
from pilotage.framework.api.remit import Remit
from pilotage.model.kubelet_rejection import WITHOUT_NUMBERS, KubeletRejection
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import PodSpec
from pilotage.model.selectors import LabelSelector, compile_label_selector
from pilotage.plugins.nodes.node_ports import NodePorts
from pilotage.scheduling.sharing.held_nodes import hold_end
from pilotage.scheduling.sharing.rejection_messages import JOB_ADVICE
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

REPLICAS = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
JOB = REPLICAS | {"apiVersion": "batch/v1", "kind": "Job"}
OTHER = "default-scheduler-of-others"
STARTED = {"startTime": "2026-01-01T00:00:00Z"}
PORTS = KubeletRejection("NodePorts")


def out_of(resource: str, requested: int, used: int, capacity: int) -> KubeletRejection:
    return KubeletRejection(f"OutOf{resource}", resource, requested, used, capacity)


def owned(name: str, *, owner: dict[str, Any] = REPLICAS, **fields: Any) -> Pod:
    return make_pod(name, uid=name, **{"cpu": "500m", **fields}, metadata={"ownerReferences": [owner]})


class World(LiveCore):
    """One node of one CPU, where pods are rejected as a kubelet would."""

    def __init__(self, *plugins: Any) -> None:
        super().__init__(*plugins)
        self.add_node("n1")

    async def after(self, seconds: float) -> "World":
        await asyncio.sleep(seconds)
        await self.settle()
        return self

    async def bind(self, pod: Pod) -> Pod:
        """Let a pod be placed, and the watch show it."""
        self.create(pod)
        await self.settle()
        bound = pod.on(dict(self.api.binds)[pod.name])
        self.change(pod, bound)
        return bound

    async def reject(self, pod: Pod, rejection: KubeletRejection) -> None:
        """Let a pod be placed, and its kubelet not take it."""
        self.refuse(await self.bind(pod), rejection)
        await self.settle()

    def refuse(self, bound: Pod, rejection: KubeletRejection) -> None:
        self.delete(bound)
        self.core.guard.rejected(bound, rejection)

    def start(self, bound: Pod) -> None:
        started = make_pod(bound.name, uid=bound.uid, cpu="100m", node=bound.node_name, status=STARTED)
        self.change(bound, started)

    def bound(self, name: str) -> bool:
        return name in dict(self.api.binds)

    def free(self, resource: str = "cpu") -> int:
        info = self.core.cache.find_node("n1")
        assert info is not None
        return info.free(resource)


async def waits_for(world: World, pod: Pod, seconds: float) -> None:
    """Make sure that a pod waits for so long, and no second longer."""
    if world.place(pod) == "nowhere":
        world.create(pod)
    await world.after(seconds - 0.5)
    assert not world.bound(pod.name)
    assert world.place(pod) in ("unschedulable", "backoff")
    await world.after(1.0)
    await world.after(1.0)  # the back-off of its own attempts
    assert world.bound(pod.name)


class TestWhoStaysAway:
    async def test_everybody_for_two_seconds(self) -> None:
        world = World()
        await world.reject(owned("a"), out_of("cpu", 500, 0, 1000))
        await waits_for(world, make_pod("b", uid="b", cpu="100m"), 2)

    async def test_twins_for_a_minute(self) -> None:
        world = World()
        await world.reject(owned("a"), out_of("cpu", 500, 0, 1000))
        await waits_for(world, owned("b"), 60)

    async def test_whoever_needs_what_only_the_kubelet_sees_for_ten_seconds(self) -> None:
        world = World()
        await world.reject(make_pod("a", uid="a", cpu="500m"), out_of("cpu", 500, 800, 1000))
        assert world.free() == 200
        await world.after(2)
        world.create(make_pod("small", uid="small", cpu="200m"))
        await world.settle()
        assert world.bound("small")
        await waits_for(world, make_pod("b", uid="b", cpu="500m"), 8)
        assert world.free() == 300

    async def test_pods_of_the_same_shape_for_ten_seconds_where_there_are_no_numbers(self) -> None:
        world = World(NodePorts())
        ports = {"containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]}
        await world.reject(make_pod("a", uid="a", spec=ports), PORTS)
        await waits_for(world, make_pod("b", uid="b", spec=ports), 10)

    @pytest.mark.parametrize("reason", sorted(WITHOUT_NUMBERS))
    async def test_nobody_else_where_there_are_no_numbers_however_often_a_tenant_provokes_it(self, reason: str) -> None:
        world = World()
        for place in range(5):
            await world.reject(make_pod(f"a{place}", uid=f"a{place}", cpu=f"{place + 1}m"), KubeletRejection(reason))
            world.create(make_pod(f"other{place}", uid=f"other{place}", cpu="100m"))
            await world.settle()
            assert world.bound(f"other{place}")

    async def test_nobody_gets_the_room_of_a_pod_rejected_without_numbers_before_its_kubelet_is_done(self) -> None:
        world = World()
        await world.reject(make_pod("a", uid="a", cpu="600m"), KubeletRejection("TopologyAffinityError"))
        assert world.free() == 400
        await world.after(1)
        assert world.free() == 1000

    @pytest.mark.parametrize(
        ("used", "seconds"),
        [pytest.param(2, 10, id="a pod that we do not see"), pytest.param(0, 2, id="we see as many")],
    )
    async def test_everybody_where_there_are_more_pods_than_we_see(self, used: int, seconds: float) -> None:
        world = World()
        await world.reject(make_pod("a", uid="a", cpu="100m"), out_of("pods", 1, used, 2))
        await waits_for(world, make_pod("b", uid="b", cpu="200m"), seconds)

    async def test_other_nodes_are_used_meanwhile(self) -> None:
        world = World()
        await world.reject(owned("a"), out_of("cpu", 500, 0, 1000))
        world.add_node("n2")
        world.create(owned("b"))
        await world.settle()
        assert dict(world.api.binds)["b"] == "n2"

    async def test_nobody_is_evicted_for_a_pod_that_has_only_to_wait(self) -> None:
        world = World()
        await world.reject(owned("a"), out_of("cpu", 500, 0, 1000))
        world.add_node("n2")
        world.create(make_pod("weak", uid="weak", cpu="1", node="n2", priority=-5))
        world.create(owned("b", priority=5))
        await world.settle()
        assert world.api.evictions == []
        [(_, reason, message, nomination)] = world.api.conditions[-1:]
        assert (reason, nomination) == ("Queued", None)  # an autoscaler need not buy a node
        assert message == (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) rejected pods recently and are avoided for a while."
        )


class TestForHowLong:
    async def test_twice_as_long_each_time_and_five_minutes_at_most(self) -> None:
        world, lengths = World(), []
        for place in range(7):
            await world.reject(make_pod(f"a{place}", uid=f"a{place}", cpu="500m"), out_of("cpu", 500, 800, 1000))
            [until] = [until for hold, until in world.core.cache.holds if hold.whom == "belief"]
            lengths.append(until - world.core.guard.records["n1"].last)
            await world.after(lengths[-1] + 12)
        assert lengths == [10, 20, 40, 80, 160, 300, 300]

    async def test_pods_that_were_on_their_way_are_the_same_rejection(self) -> None:
        world = World()
        bound = [await world.bind(make_pod(f"a{place}", uid=f"a{place}", cpu="100m")) for place in range(5)]
        for pod in bound:
            world.refuse(pod, out_of("cpu", 100, 950, 1000))
        assert world.core.guard.records["n1"].hold == 10
        assert world.core.guard.records["n1"].rejections == 5

    async def test_until_the_node_takes_a_pod_of_ours(self) -> None:
        world = World()
        await world.reject(make_pod("a", uid="a", cpu="500m"), out_of("cpu", 500, 800, 1000))
        await world.after(2)
        small = await world.bind(make_pod("small", uid="small", cpu="100m"))
        assert world.free() == 100
        world.create(make_pod("b", uid="b", cpu="500m"))
        await world.after(1)
        assert not world.bound("b")
        world.start(small)
        assert world.free() == 900
        await world.after(1)
        assert world.bound("b")

    async def test_a_pod_that_was_on_its_way_before_says_nothing_by_its_start(self) -> None:
        world = World()
        before = await world.bind(make_pod("before", uid="before", cpu="100m"))
        await world.reject(make_pod("a", uid="a", cpu="500m"), out_of("cpu", 500, 800, 1000))
        world.start(before)
        assert world.free() == 200

    async def test_a_rejection_that_says_less_corrects_the_one_before(self) -> None:
        world = World()
        first, second = [await world.bind(make_pod(name, uid=name, cpu="100m")) for name in "ab"]
        world.refuse(first, out_of("cpu", 100, 950, 1000))
        assert world.free() == 50
        world.refuse(second, out_of("cpu", 100, 300, 1000))
        assert world.free() == 700

    async def test_a_node_that_comes_back_under_its_name_has_nothing_taken(self) -> None:
        world = World()
        await world.reject(make_pod("a", uid="a", cpu="500m"), out_of("cpu", 500, 800, 1000))
        world.core.nodes.deleted(world.node("n1"))
        world.add_node("n1")
        assert world.free() == 1000
        await world.after(300)
        assert world.free() == 1000


class TestWhatIsBelieved:
    async def test_the_room_of_a_pod_that_is_gone_while_schedulers_race(self) -> None:
        world = World()
        gone, later = (make_pod(name, uid=name, cpu="800m", node="n1") for name in ("gone", "later"))
        world.create(gone)
        world.delete(gone)
        assert world.free() == 1000  # nobody races
        world.core.guard.rejected(make_pod("a", uid="a", node="n1"), PORTS)
        await world.after(3)
        world.create(later)
        world.delete(later)
        assert world.free() == 200
        world.create(make_pod("b", uid="b", cpu="500m"))
        await world.settle()
        assert not world.bound("b")
        await world.after(1)
        await world.after(1)
        assert world.free() == 500
        assert world.bound("b")

    async def test_a_kubelet_that_still_counts_it_is_not_believed_twice(self) -> None:
        world = World()
        world.core.guard.rejected(make_pod("a", uid="a", node="n1"), PORTS)
        gone = make_pod("gone", uid="gone", cpu="300m", node="n1")
        world.create(gone)
        world.delete(gone)
        world.core.guard.rejected(make_pod("c", uid="c", node="n1"), out_of("cpu", 800, 300, 1000))
        assert world.free() == 700

    @pytest.mark.parametrize(
        ("used", "free"),
        [
            pytest.param(700, 300, id="more than we see"),
            pytest.param(200, 800, id="as much as we see"),
            pytest.param(0, 800, id="less than we see"),
            pytest.param(10**18, 0, id="more than the node has"),
        ],
    )
    async def test_what_is_left_of_the_node(self, used: int, free: int) -> None:
        world = World()
        world.create(make_pod("there", uid="there", cpu="200m", node="n1"))
        await world.reject(make_pod("a", uid="a", cpu="500m"), out_of("cpu", 500, used, 1000))
        assert world.free() == free

    async def test_a_resource_that_the_node_does_not_have(self) -> None:
        world = World()
        await world.reject(make_pod("a", uid="a", cpu="500m"), out_of("example.com/gpu", 1, 5, 8))
        assert world.free("example.com/gpu") == 0
        assert world.core.cache.believed("n1") == {}

    async def test_one_node_says_nothing_about_another(self) -> None:
        world = World()
        await world.reject(make_pod("a", uid="a", cpu="500m"), out_of("cpu", 500, 1000, 1000))
        world.add_node("n2")
        found = world.core.cache.find_node("n2")
        assert found is not None
        assert found.free("cpu") == 1000
        assert not world.core.cache.holds.on("n2")


class TestWhoIsListenedTo:
    async def test_a_pod_that_nobody_serves(self) -> None:
        world = World()
        foreign = make_pod("a", uid="a", node="n1", scheduler=OTHER)
        world.core.guard.rejected(foreign, out_of("cpu", 500, 1000, 1000))
        assert world.free() == 1000
        assert not world.core.cache.holds

    async def test_a_profile_without_the_guard_only_counts(self) -> None:
        world = World()
        world.core.engines["default-scheduler"].guard = False
        await world.reject(owned("a"), out_of("cpu", 500, 1000, 1000))
        world.create(owned("b"))
        await world.settle()
        assert world.bound("b")
        assert world.core.guard.rejections == {"OutOfcpu": 1}
        assert [event for event in world.api.events if event[2] == "RejectedByKubelet"] == []

    async def test_a_profile_without_the_guard_goes_where_others_stay_away(self) -> None:
        world = World()
        await world.reject(owned("a"), out_of("cpu", 500, 0, 1000))
        world.core.engines["default-scheduler"].guard = False
        world.create(owned("b"))
        await world.settle()
        assert world.bound("b")


class TestForeignBinds:
    def foreign(self, name: str, node: str, **fields: Any) -> Pod:
        return make_pod(name, uid=name, cpu="100m", node=node, scheduler=OTHER, **fields)

    async def test_binds_of_others_are_counted(self) -> None:
        world = World()
        guard = world.core.guard
        for name in "abc":
            world.create(self.foreign(name, ""))
            world.change(self.foreign(name, ""), self.foreign(name, "n1"))
        assert guard.foreign.total == 3
        found = guard.foreign.at("n1")
        assert found is not None
        assert (found.pods, found.scheduler) == (3, OTHER)
        await world.after(59)
        world.create(self.foreign("d", ""))
        world.change(self.foreign("d", ""), self.foreign("d", "n1"))
        found = guard.foreign.at("n1")
        assert found is not None
        assert found.pods == 1
        assert guard.foreign.per_minute(world.core.guard._clock()) == 3

    async def test_pods_that_have_their_node_when_they_are_first_seen_are_not(self) -> None:
        world = World()
        world.create(self.foreign("a", "n1"))
        assert world.core.guard.foreign.total == 0

    async def test_pods_that_a_kubelet_shows_are_not(self) -> None:
        world, mirror = World(), {"annotations": {"kubernetes.io/config.mirror": "hash"}}
        world.change(self.foreign("a", "", **mirror), self.foreign("a", "n1", **mirror))
        assert world.core.guard.foreign.total == 0

    async def test_our_own_pods_are_not_whoever_has_bound_them(self) -> None:
        world, pod = World(), make_pod("a", uid="a", cpu="100m")
        world.create(pod)
        world.change(pod, pod.on("n1"))  # by another replica of ours, before we were asked
        assert world.core.guard.foreign.total == 0

    async def test_what_is_long_ago_is_forgotten(self) -> None:
        world = World()
        world.change(self.foreign("a", ""), self.foreign("a", "n1"))
        await world.reject(owned("b"), PORTS)
        await world.after(700)
        assert world.core.guard.foreign.nodes() == []
        assert world.core.guard.records == {}


class TestSpread:
    async def chosen(self, world: World, count: int) -> set[str]:
        """Return the nodes of pods that come one after the other, each after the one before is gone."""
        found = set()
        for place in range(count):
            pod = make_pod(f"p{place}", uid=f"p{place}", cpu="10m")
            world.create(pod)
            await world.settle()
            node = dict(world.api.binds)[pod.name]
            found.add(node)
            world.change(pod, pod.on(node))
            world.delete(pod.on(node))
            await world.after(1)  # its kubelet may count it a little longer
        return found

    async def world(self) -> World:
        world = World()
        for place in range(2, 8):  # a little fuller than the best, each a little more
            world.add_node(f"n{place}")
            world.create(make_pod(f"there{place}", cpu=f"{10 * place}m", memory="1Mi", node=f"n{place}"))
        return world

    async def test_the_best_node_while_nobody_races(self) -> None:
        assert await self.chosen(await self.world(), 20) == {"n1"}

    async def test_any_of_the_nearly_best_for_ten_minutes_after_a_race(self) -> None:
        world = await self.world()
        await world.reject(owned("a"), out_of("cpu", 500, 0, 1000))
        await world.after(3)
        assert len(await self.chosen(world, 40)) > 3
        await world.after(600)
        assert await self.chosen(world, 20) == {"n1"}

    async def test_the_best_node_if_the_profile_wants_no_other(self) -> None:
        world = await self.world()
        world.core.engines["default-scheduler"].spread = 0
        await world.reject(owned("a"), out_of("cpu", 500, 0, 1000))
        await world.after(3)
        assert await self.chosen(world, 20) == {"n1"}


class TestNodesOfOnesOwn:
    async def world(self) -> World:
        """n1 is the profile's own, n2 is not."""
        world = World()
        labels = compile_label_selector(LabelSelector({"kubernetes.io/hostname": "n1"}))
        world.core.engines["default-scheduler"].remit = Remit(labels=labels)
        world.add_node("n2")
        return world

    @pytest.mark.parametrize(("node", "spread"), [("n1", 5), ("n2", 0)], ids=["an own node", "a node of others"])
    async def test_only_races_on_own_nodes_count(self, node: str, spread: int) -> None:
        world = await self.world()
        world.core.guard.rejected(make_pod("a", uid="a", node=node), PORTS)
        assert world.core.guard.spread(world.core.engines["default-scheduler"]) == spread

    async def test_a_node_of_others_is_not_told_to_be_left_alone(self) -> None:
        world = await self.world()
        for node in ("n1", "n2"):
            world.core.guard.rejected(make_pod(f"on-{node}", uid=node, node=node), out_of("cpu", 500, 0, 1000))
        world.create(make_pod("b", uid="b", cpu="2"))
        await world.settle()
        assert "1 node(s) rejected pods recently" in world.api.conditions[-1][2]


class TestWhatIsTold:
    @pytest.mark.parametrize(
        ("rejection", "note"),
        [
            pytest.param(
                out_of("cpu", 500, 900, 1000),
                "node n1 rejected the pod (OutOfcpu: 500m requested, 100m free by its kubelet, 800m by our cache)",
                id="what the kubelet had and what we saw",
            ),
            pytest.param(
                out_of("memory", 2**28, 2**30, 2**30),
                "node n1 rejected the pod (OutOfmemory: 256Mi requested, 0 free by its kubelet, 1Gi by our cache)",
                id="bytes as people write them",
            ),
            pytest.param(
                out_of("pods", 1, 110, 110),
                "node n1 rejected the pod (OutOfpods: 1 requested, 0 free by its kubelet, 109 by our cache)",
                id="places for pods",
            ),
            pytest.param(PORTS, "node n1 rejected the pod (NodePorts)", id="no numbers"),
        ],
    )
    async def test_the_event(self, rejection: KubeletRejection, note: str) -> None:
        world = World()
        world.create(make_pod("there", uid="there", cpu="200m", node="n1"))
        await world.reject(owned("a"), rejection)
        assert world.api.events[-1] == ("a", "Warning", "RejectedByKubelet", "Binding", note)

    async def test_who_else_has_just_placed_pods_there(self) -> None:
        world = World()
        for name in "xy":
            pod = make_pod(name, uid=name, cpu="100m", scheduler=OTHER)
            world.create(pod)
            world.change(pod, pod.on("n1"))
        await world.reject(owned("a"), PORTS)
        assert world.api.events[-1][-1].endswith(f"(NodePorts; {OTHER} placed 2 pods there in the last second)")

    async def test_the_owner_of_a_job(self) -> None:
        world = World()
        await world.reject(owned("a", owner=JOB), PORTS)
        assert world.api.events[-1][-1].endswith(JOB_ADVICE)

    async def test_a_kubelet_that_was_away_is_no_race(self) -> None:
        world = World()
        bound_at = datetime.fromtimestamp(world.core.guard._clock() - 95, UTC).isoformat()
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": bound_at}
        pod = make_pod("a", uid="a", cpu="100m", node="n1", status={"conditions": [condition]})
        world.create(pod)
        world.refuse(pod, out_of("pods", 1, 110, 110))
        assert world.api.events[-1][-1].endswith("; it was bound 95 s ago)")
        assert world.core.guard.spread(world.core.engines["default-scheduler"]) == 0
        assert world.core.cache.holds  # the node is full all the same


class TestContention:
    async def test_more_than_one_in_two_hundred_binds(self) -> None:
        world = World()
        guard, now = world.core.guard, world.core.guard._clock
        pod = make_pod("a", uid="a", cpu="100m", node="n1")
        for _ in range(400):
            guard.bound(pod)
        for rejections, contended in ((1, False), (2, False), (3, True)):
            guard.rejected(pod, PORTS)
            assert guard.contention["default-scheduler"].counts(now()) == (400, rejections)
            assert guard.contention["default-scheduler"].is_too_much(now()) is contended
        for _ in range(9):
            await world.after(60)
        assert guard.contention["default-scheduler"].counts(now()) == (400, 3)
        for _ in range(3):
            await world.after(60)
        assert guard.contention["default-scheduler"].counts(now()) == (0, 0)
        assert not guard.contention["default-scheduler"].is_too_much(now())


def test_the_end_of_a_hold_asks_for_nothing() -> None:
    assert hold_end("n1").spec == PodSpec(node_name="n1")
    assert hold_end("n1").requests == {}
