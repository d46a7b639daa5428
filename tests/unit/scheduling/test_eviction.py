"""Making room: whom is sent away and how, who waits for it behind the gate, and that nobody waits for ever."""

import asyncio
from typing import Any

import pytest

from kit.live_core import DELETED, LiveCore, One
from pilotage.cluster.write.evictor import Evicted, NotEvicted
from pilotage.framework.api.events import POD_GONE
from pilotage.framework.api.verdicts import PluginFailed, Wait
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import Unplaced
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime


def future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


def victim(name: str, cpu: str = "500m", **fields: Any) -> Pod:
    return make_pod(name, uid=name, cpu=cpu, **{"node": "n1", "priority": 1, **fields})


def preemptor(name: str = "high", priority: int = 9, cpu: str = "1") -> Pod:
    return make_pod(name, uid=name, cpu=cpu, priority=priority)


class World(LiveCore):
    """A full node."""

    def __init__(self, *plugins: Any, victims: tuple[str, ...] = ("v1", "v2"), **options: Any) -> None:
        super().__init__(*plugins, **options)
        self.add_node("n1")
        self.victims = [victim(name) for name in victims]
        self.create(*self.victims)
        self.results: list[str] = []
        self.core.evictions.on_ended.connect(self.results.append)

    def is_gated(self, name: str = "high") -> bool:
        return name in self.preemption._in_progress

    def dies(self, pod: Pod) -> None:
        """Let the watch show that a pod is being deleted."""
        self.change(pod, victim(pod.name, metadata=DELETED))


class TestOneThatGoesWell:
    async def test_the_whole_story(self) -> None:
        world, high = World(), preemptor()
        for name in ("v1", "v2"):
            world.api.answers[name] = future()
        world.create(high)
        await world.settle()
        # The last one is the one that is waited for; it goes when the others have gone.
        assert world.api.evictions == ["v1"]
        assert world.place(high) == "unschedulable"
        assert world.is_gated()
        assert world.api.conditions[-1][3] == "n1"
        assert list(world.core.queue.nominator.nodes) == ["n1"]
        world.api.answers["v1"].set_result(Evicted())
        await world.settle()
        assert world.api.evictions == ["v1", "v2"]
        world.dies(world.victims[0])
        world.delete(world.victims[0])
        assert world.place(high) == "gated"  # not the last one
        world.dies(world.victims[1])
        assert not world.is_gated()
        world.delete(world.victims[1])
        assert world.place(high) in ("active", "backoff")
        world.api.answers["v2"].set_result(Evicted())
        await asyncio.sleep(10)
        await world.settle()
        assert world.api.binds == [("high", "n1")]
        assert world.results == ["success"]
        assert world.api.events[1:3] == [
            (name, "Normal", "Preempted", "Preempting", "Preempted by pod high on node n1") for name in ("v1", "v2")
        ]
        world.change(high, high.on("n1"))
        assert world.held() == {}

    async def test_the_gate_stays_shut_until_the_last_one_is_seen_to_leave(self) -> None:
        world, high = World(victims=("v1",)), preemptor()
        world.add_node("n2")
        world.create(victim("v2", node="n2", cpu="1", priority=2), victim("other", node="n2", cpu="0", priority=9))
        world.create(high)
        await world.settle()
        assert world.results == ["success"]
        assert world.is_gated()  # the API server has said yes, and the watch is late
        world.delete(make_pod("other", uid="other", node="n2"))  # somebody else leaves meanwhile
        await asyncio.sleep(10)
        await world.settle()
        assert world.place(high) == "gated"
        assert world.api.evictions == ["v1"]  # and not v2 on top of it
        world.delete(world.victims[0])
        await asyncio.sleep(10)
        await world.settle()
        assert world.api.binds == [("high", "n1")]
        assert world.held().keys() <= {"assumed"}

    async def test_a_pod_behind_the_gate_is_not_asked_about_at_every_event(self) -> None:
        world, high = World(victims=("v1",)), preemptor()
        world.create(high)
        await world.settle()
        gone = make_pod("gone", uid="gone", node="n1", cpu="0", priority=9)
        asked: list[str] = []
        for _ in range(3):
            world.create(gone)
            world.delete(gone)
            asked += [queued.key for queued in world.core.queue._candidates(POD_GONE, None, None)]
        assert world.place(high) == "gated"
        assert asked == []
        world.dies(world.victims[0])
        assert [queued.key for queued in world.core.queue._candidates(POD_GONE, None, None)] == ["default/high"]

    async def test_one_that_was_gone_is_no_event(self) -> None:
        world = World(victims=("v1",))
        world.api.answers["v1"] = Evicted(was_gone=True)
        world.create(preemptor())
        await world.settle()
        assert world.results == ["success"]
        assert [event[2] for event in world.api.events] == ["FailedScheduling"]
        assert world.is_gated()
        world.delete(world.victims[0])  # the watch tells what the answer told
        assert not world.is_gated()


class TestWhatGoesWrong:
    @pytest.mark.parametrize(
        ("failing", "asked"),
        [
            pytest.param("v1", ["v1"], id="one of the others: the last one stays"),
            pytest.param("v2", ["v1", "v2"], id="the last one"),
        ],
    )
    @pytest.mark.parametrize("surprise", [False, True])
    async def test_a_victim_stays(
        self, failing: str, asked: list[str], surprise: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        world, high = World(), preemptor()
        world.api.answers[failing] = future()
        world.create(high)
        await world.settle()
        assert world.place(high) == "unschedulable"
        assert world.is_gated()
        world.api.answers[failing].set_result(ZeroDivisionError("oh") if surprise else NotEvicted("it is protected"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert world.api.evictions == asked
        assert world.place(high) == "active"  # at once: nobody else would wake it
        assert world.results == ["error"]
        assert "evicting pods for pod default/high failed: " in caplog.text
        assert ("oh" if surprise else f"pod default/{failing}: it is protected") in caplog.text
        assert world.held() == {}

    async def test_nobody_is_evicted_without_the_right_to_act(self, caplog: pytest.LogCaptureFixture) -> None:
        leads = [True]
        world = World(may_act=lambda: leads[0])
        world.api.answers["v1"] = future()
        world.create(preemptor())
        await world.settle()
        leads[0] = False
        world.api.answers["v1"].set_result(Evicted())
        await world.settle()
        assert world.api.evictions == ["v1"]
        assert "pod default/v2: this scheduler is not the leader any more" in caplog.text

    async def test_all_others_are_tried_before_it_ends(self) -> None:
        world = World(victims=("v1", "v2", "v3"))
        first, second, last = world.victims
        world.api.answers["v1"] = NotEvicted("protected")
        world.core.evictions.start(preemptor(), Unplaced("", nominate="n1", victims=(first.key, second.key, last.key)))
        await world.settle()
        assert world.api.evictions == ["v1", "v2"]
        assert world.results == ["error"]

    async def test_the_preemptor_is_deleted_meanwhile(self) -> None:
        world, high = World(victims=("v1",)), preemptor()
        world.api.answers["v1"] = future()
        world.create(high)
        await world.settle()
        world.delete(high)
        world.api.answers["v1"].set_result(NotEvicted("protected"))
        await world.settle()
        assert world.place(high) == "nowhere"
        assert world.held() == {}


class TestWhoIsNoVictim:
    async def test_who_leaves_already_is_left_alone(self) -> None:
        world = World()
        world.dies(world.victims[1])
        keys = tuple(pod.key for pod in world.victims)
        world.core.evictions.start(preemptor(), Unplaced("", nominate="n1", victims=keys))
        await world.settle()
        assert world.api.evictions == ["v1"]
        assert [event[0] for event in world.api.events] == ["v1"]

    @pytest.mark.parametrize(
        ("node", "dying"),
        [
            pytest.param("n1", True, id="all of them leave already"),
            pytest.param("n7", False, id="the node is gone"),
        ],
    )
    async def test_nothing_is_begun(self, node: str, dying: bool) -> None:
        world = World()
        for each in world.victims:
            if dying:
                world.dies(each)
        keys = tuple(pod.key for pod in world.victims)
        world.core.evictions.start(preemptor(), Unplaced("", nominate=node, victims=keys))
        assert not world.is_gated()
        assert not len(world.core.evictions)
        assert world.held() == {}


class TestVictimsOnOtherNodes:
    """Some plugins free a node by evictions elsewhere, too."""

    async def test_they_go_like_all_others(self) -> None:
        world = World(victims=("v1",))
        world.add_node("n2")
        world.create(victim("far", node="n2"))
        keys = ("default/v1", "default/far")
        outcome = Unplaced("", nominate="n1", victims=keys, other_nodes=("n2",))
        world.core.evictions.start(preemptor(), outcome)
        await world.settle()
        assert world.api.evictions == ["v1", "far"]
        assert [event[4] for event in world.api.events] == ["Preempted by pod high on node n1"] * 2

    async def test_nobody_on_a_node_that_was_not_named_does(self) -> None:
        world = World(victims=("v1",))
        world.add_node("n2")
        world.create(victim("v9", node="n2"))
        world.core.evictions.start(preemptor(), Unplaced("", nominate="n1", victims=("default/v1", "default/v9")))
        await world.settle()
        assert world.api.evictions == ["v1"]


class TestVictimsThatAreNotBoundYet:
    async def test_one_that_waits_for_permission_is_sent_back(self) -> None:
        world, high = LiveCore(One(answers={"permit": Wait(600.0)})), preemptor()
        world.add_node("n1")
        low = make_pod("low", uid="low", cpu="1", priority=1)
        world.create(low)
        await world.settle()
        assert len(world.core.waiting) == 1
        world.create(high)
        await world.settle()
        assert world.api.evictions == []
        note = "Preempted by pod high on node n1 (in kube-scheduler memory)."
        assert ("low", "Normal", "Preempted", "Preempting", note) in world.api.events
        assert ("low", "SchedulerError", "waiting on permit for pod: preempted", "") in world.api.conditions
        assert world.place(low) == "backoff"
        assert [each.pod.name for each in world.core.waiting] == ["high"]  # nobody else would have woken it

    async def test_one_that_is_prepared_is_stopped(self) -> None:
        world, high = LiveCore(One(answers={"pre_bind": lambda: future()})), preemptor()
        world.add_node("n1")
        low = make_pod("low", uid="low", cpu="1", priority=1)
        world.create(low)
        await world.settle()
        world.create(high)
        await world.settle()
        assert world.api.evictions == []
        assert ("low", "SchedulerError", "preempted by DefaultPreemption", "") in world.api.conditions
        assert world.place(low) == "backoff"
        assert world.place(high) == "binding"

    async def test_for_one_that_is_being_bound_it_is_too_late(self) -> None:
        world, high = LiveCore(), preemptor()
        world.add_node("n1")
        low = make_pod("low", uid="low", cpu="1", priority=1)
        bound = world.api.answers["low"] = future()
        world.create(low)
        await world.settle()
        world.create(high)
        await world.settle()
        assert world.api.evictions == ["low"]
        bound.set_result(None)
        await world.settle()
        assert ("low", "Normal", "Preempted", "Preempting", "Preempted by pod high on node n1") in world.api.events

    async def test_the_preemptor_is_woken_by_a_victim_that_only_memory_knew(self) -> None:
        world, high = LiveCore(One(answers={"permit": Wait(600.0)})), preemptor(cpu="500m")
        world.add_node("n1")
        world.create(make_pod("low", uid="low", cpu="1", priority=1))
        await world.settle()
        world.core.evictions.start(high, Unplaced("", nominate="n1", victims=("default/low",)))
        world.create(high)
        assert world.place(high) == "gated"
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert world.place(high) == "active"


class TestNominationsOfOthers:
    async def test_lower_ones_lose_theirs(self) -> None:
        world = World()
        for name, priority, node in (("lower", 8, "n1"), ("equal", 9, "n1"), ("elsewhere", 1, "n2")):
            status = {"nominatedNodeName": node}
            world.create(make_pod(name, uid=name, cpu="9", priority=priority, status=status))
        keys = tuple(pod.key for pod in world.victims)
        world.core.evictions.start(preemptor(), Unplaced("", nominate="n1", victims=keys))
        await asyncio.sleep(0)
        assert world.api.nominations == [("lower", "")]


class TestTwoWhoWaitForTheSame:
    async def test_both_are_let_in_when_it_leaves(self) -> None:
        world = World(victims=("v1",))
        first, second = preemptor("first", 8), preemptor("second", 9)
        world.api.answers["v1"] = future()
        for each in (first, second):
            world.core.evictions.start(each, Unplaced("", nominate="n1", victims=("default/v1",)))
        await world.settle()
        world.dies(world.victims[0])
        assert not world.is_gated("first")
        assert not world.is_gated("second")
        world.api.answers["v1"].set_result(Evicted())
        await world.settle()
        assert world.held() == {}

    async def test_the_end_of_one_does_not_make_the_other_wait_for_ever(self) -> None:
        world = World(victims=("v1", "v2"))
        quick, slow = preemptor("quick", 8), preemptor("slow", 9)
        world.api.answers["v1"] = future()
        world.core.evictions.start(quick, Unplaced("", nominate="n1", victims=("default/v2",)))
        world.core.evictions.start(slow, Unplaced("", nominate="n1", victims=("default/v1", "default/v2")))
        await world.settle()
        assert world.is_gated("quick")  # it has done what it wanted, and does not see it yet
        assert world.is_gated("slow")
        world.delete(world.victims[1])
        assert not world.is_gated("quick")
        assert not world.is_gated("slow")
        world.api.answers["v1"].set_result(Evicted())
        await world.settle()
        assert world.held() == {}


async def test_a_failure_in_pre_bind_is_no_preemption() -> None:
    world = LiveCore(One(answers={"pre_bind": PluginFailed("off")}))
    world.add_node("n1")
    world.create(make_pod("a", uid="a"))
    await world.settle()
    assert [event[2] for event in world.api.events] == ["FailedScheduling"]
