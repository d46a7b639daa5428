"""News about the cluster: what each kind of news does to the cache and to the queue."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from kit.live_core import DELETED, LiveCore
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.watch.known_objects import KnownObjects
from pilotage.cluster.watch.resources import PODS
from pilotage.cluster.watch.watch_events import ObjectIdentity, UndecodableObject
from pilotage.framework.api.events import POD_GONE, Event, Retry
from pilotage.framework.api.plugin import Filter
from pilotage.framework.api.verdicts import Rejection, Wait
from pilotage.framework.api.waiting import WaitingPods
from pilotage.kinds.storage import PersistentVolumeClaim
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.queue.nominator import Nominator
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.intake import NODE_GONE, NodeIntake, ObjectIntake, PodIntake
from pilotage.scheduling.object_changes import ObjectChanges
from pilotage.testing import make_node, make_pod

OURS, FOREIGN = "default-scheduler", "somebody-elses"


class SpyQueue(SchedulingQueue):
    """Writes down what it is told, in the words of the table."""

    def __init__(self, said: list[str], cache: ClusterCache) -> None:
        self._said, self._cache = said, cache
        self.nominator = Nominator(lambda _key: None)

    def add(self, pod: Pod) -> None:
        self._said.append(f"add {pod.name}")

    def update(self, old: Pod, new: Pod) -> None:
        self._said.append(f"update {new.name}")

    def delete(self, pod: Pod) -> None:
        self._said.append(f"delete {pod.name}")

    def move_all(
        self, event: Event, old: Any = None, new: Any = None, precheck: Callable[[Pod], bool] | None = None
    ) -> None:
        some = " some" if precheck is not None else ""
        there = " while it is there" if event is NODE_GONE and self._cache.find_node(old.name) else ""
        self._said.append(f"move{some} {event.name}{there}")


class World:
    """The three intakes with a spy for everything that they tell."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.cache, self.waiting = ClusterCache(), WaitingPods()
        queue = self.queue = SpyQueue(self.said, self.cache)
        self.evictions: Any = type(
            "Evictions", (), {"noticed": lambda _, pod: self.said.append(f"leaves {pod.name}")}
        )()
        self.woken = 0
        self.pods = PodIntake(self.cache, queue, self.waiting, self.evictions, {OURS}, self._wake)
        self.pods.on_resolved.connect(lambda pod, uid: self.said.append(f"resolved {uid} {pod and pod.node_name}"))
        self.nodes = NodeIntake(self.cache, queue, self._wake)
        self.changes = ObjectChanges()
        self.objects = ObjectIntake(self.cache, queue, self._wake, self.changes)
        self.cache.put_node(make_node("n1"))

    def _wake(self) -> None:
        self.woken += 1

    @property
    def placed(self) -> dict[str, str]:
        return {pod.name: pod.node_name for pod in self.cache.pods()}


@pytest.fixture
async def world() -> World:
    return World()


def pod(**fields: Any) -> Pod:
    return make_pod("a", uid="a", **{"scheduler": OURS, **fields})


WAITS, BOUND = pod(), pod(node="n1")
DYING = pod(metadata=DELETED)
NOMINATED = pod(status={"nominatedNodeName": "n1"})


class TestPodsThatAppear:
    @pytest.mark.parametrize(
        ("new", "said", "placed"),
        [
            pytest.param(BOUND, ["move AssignedPodAdd"], {"a": "n1"}, id="with a node: it counts there"),
            pytest.param(
                pod(node="n1", scheduler=FOREIGN), ["move AssignedPodAdd"], {"a": "n1"}, id="a foreign one, too"
            ),
            pytest.param(pod(node="n9"), ["move AssignedPodAdd"], {"a": "n9"}, id="also on a node that is not known"),
            pytest.param(WAITS, ["add a"], {}, id="without a node: it is to be scheduled"),
            pytest.param(pod(scheduler=FOREIGN), [], {}, id="of another scheduler: it is not"),
            pytest.param(
                pod(scheduler=FOREIGN, status={"nominatedNodeName": "n1"}), [], {}, id="nor does its nomination count"
            ),
        ],
    )
    async def test_added(self, world: World, new: Pod, said: list[str], placed: dict[str, str]) -> None:
        world.pods.added(new)
        assert world.said == said
        assert world.placed == placed
        assert world.woken == 1


class TestPodsThatChange:
    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            pytest.param(BOUND, pod(node="n1", labels={"x": "y"}), ["move AssignedPodUpdatePodLabel"], id="its labels"),
            pytest.param(BOUND, pod(node="n1"), ["move AssignedPodUpdate"], id="anything else"),
            pytest.param(
                BOUND, pod(node="n1", metadata=DELETED), ["leaves a", "move AssignedPodUpdate"], id="it is deleted"
            ),
            pytest.param(
                pod(node="n1", scheduler=FOREIGN),
                pod(node="n1", scheduler=FOREIGN, labels={"x": "y"}),
                ["move AssignedPodUpdatePodLabel"],
                id="it is a foreign one",
            ),
        ],
    )
    async def test_on_its_node(self, world: World, old: Pod, new: Pod, said: list[str]) -> None:
        world.pods.added(old)
        world.said.clear()
        world.pods.updated(old, new)
        assert world.said == said
        assert world.cache.find_pod("a") is new

    @pytest.mark.parametrize(
        ("scheduler", "said"),
        [
            pytest.param(OURS, ["move AssignedPodAdd", "delete a", "resolved a n1"], id="ours leaves the queue"),
            pytest.param(FOREIGN, ["move AssignedPodAdd", "resolved a n1"], id="a foreign one never was there"),
        ],
    )
    @pytest.mark.parametrize("assumed", [pytest.param(True, id="as expected"), pytest.param(False, id="by others")])
    async def test_it_is_bound(self, world: World, scheduler: str, said: list[str], assumed: bool) -> None:
        old, new = pod(scheduler=scheduler), pod(scheduler=scheduler, node="n1")
        if assumed:
            world.cache.assume(new)
        world.pods.updated(old, new)
        assert world.said == said
        assert world.placed == {"a": "n1"}
        assert not world.cache.is_assumed("a")

    async def test_it_is_bound_to_another_node_than_we_thought(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        world.cache.put_node(make_node("n2"))
        world.cache.assume(pod(node="n2"))
        world.pods.updated(WAITS, BOUND)
        assert world.placed == {"a": "n1"}
        assert "pod default/a was expected on node n2 and is on n1" in caplog.text

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            pytest.param(WAITS, pod(labels={"x": "y"}), ["update a"], id="ours: the queue follows"),
            pytest.param(pod(scheduler=FOREIGN), pod(scheduler=FOREIGN, labels={"x": "y"}), [], id="a foreign one: no"),
            pytest.param(WAITS, DYING, ["leaves a", "update a"], id="it is deleted"),
            pytest.param(WAITS, NOMINATED, ["update a"], id="it gets a nomination"),
            pytest.param(NOMINATED, WAITS, ["update a", "move some AssignedPodDelete"], id="it loses its nomination"),
            pytest.param(
                NOMINATED,
                pod(status={"nominatedNodeName": "n2"}),
                ["update a", "move some AssignedPodDelete"],
                id="it is nominated another node",
            ),
            pytest.param(NOMINATED, pod(status={"nominatedNodeName": "n1"}), ["update a"], id="the nomination stands"),
        ],
    )
    async def test_while_it_waits(self, world: World, old: Pod, new: Pod, said: list[str]) -> None:
        world.pods.updated(old, new)
        assert world.said == said

    @pytest.mark.parametrize(
        ("old", "new", "said", "placed"),
        [
            pytest.param(WAITS, pod(labels={"x": "y"}), [], {"a": "n1"}, id="a change means nothing now"),
            pytest.param(NOMINATED, WAITS, [], {"a": "n1"}, id="a nomination neither"),
            pytest.param(
                WAITS, DYING, ["leaves a", "move AssignedPodDelete"], {}, id="its place is free if it is deleted"
            ),
            pytest.param(DYING, pod(metadata=DELETED, labels={"x": "y"}), [], {"a": "n1"}, id="but only once"),
        ],
    )
    async def test_while_it_is_bound(
        self, world: World, old: Pod, new: Pod, said: list[str], placed: dict[str, str]
    ) -> None:
        world.cache.assume(BOUND)
        world.pods.updated(old, new)
        assert world.said == said
        assert world.placed == placed

    async def test_deleted_while_it_waits_for_permission(self, world: World) -> None:
        world.cache.assume(BOUND)
        world.waiting.expect(BOUND, {"Gang": Wait(60)})
        world.pods.updated(WAITS, DYING)
        assert world.said == ["leaves a", "move AssignedPodDelete"]
        assert world.placed == {"a": "n1"}  # until those who hold something for it have let go
        rejection = await world.waiting.wait("a")
        assert rejection == Rejection("removed", plugin="")


class TestPodsThatGo:
    @pytest.mark.parametrize(
        ("last", "said"),
        [
            pytest.param(BOUND, ["leaves a", "move AssignedPodDelete", "resolved a None"], id="from its node"),
            pytest.param(
                pod(node="n1", scheduler=FOREIGN),
                ["leaves a", "move AssignedPodDelete", "resolved a None"],
                id="a foreign one from its node",
            ),
            pytest.param(WAITS, ["leaves a", "delete a", "resolved a None"], id="from the queue"),
            pytest.param(
                NOMINATED,
                ["leaves a", "delete a", "move some AssignedPodDelete", "resolved a None"],
                id="from the queue, with a nomination",
            ),
            pytest.param(pod(scheduler=FOREIGN), ["leaves a", "resolved a None"], id="a foreign one from its queue"),
            pytest.param(
                pod(scheduler=FOREIGN, status={"nominatedNodeName": "n1"}),
                ["leaves a", "resolved a None"],
                id="a foreign one whose nomination never counted",
            ),
        ],
    )
    async def test_deleted(self, world: World, last: Pod, said: list[str]) -> None:
        world.pods.added(last)
        world.said.clear()
        world.pods.deleted(last)
        assert world.said == said
        assert world.placed == {}

    async def test_deleted_before_the_api_server_has_told_of_its_nomination(self, world: World) -> None:
        world.pods.added(WAITS)
        world.queue.nominator.add(WAITS, "n1")
        world.said.clear()
        world.pods.deleted(WAITS)
        assert world.said == ["leaves a", "delete a", "move some AssignedPodDelete", "resolved a None"]

    @pytest.mark.parametrize(
        "last", [pytest.param(WAITS, id="never nominated"), pytest.param(NOMINATED, id="nominated")]
    )
    async def test_while_it_is_bound(self, world: World, last: Pod) -> None:
        world.cache.assume(BOUND)
        world.pods.deleted(last)
        assert world.said == ["leaves a", "delete a", "move AssignedPodDelete", "resolved a None"]
        assert world.placed == {}

    async def test_while_it_waits_for_permission(self, world: World) -> None:
        world.cache.assume(BOUND)
        world.waiting.expect(BOUND, {"Gang": Wait(60)})
        world.pods.deleted(WAITS)
        assert world.said == ["leaves a", "delete a", "move AssignedPodDelete", "resolved a None"]
        assert await world.waiting.wait("a") == Rejection("removed", plugin="")

    async def test_it_was_bound_and_deleted_while_nobody_looked(self, world: World) -> None:
        world.cache.put_pod(BOUND)
        world.pods.deleted(WAITS)  # as it was last told
        assert world.said == ["leaves a", "delete a", "move AssignedPodDelete", "resolved a None"]
        assert world.placed == {}


class TestPodsThatCannotBeUnderstood:
    @pytest.mark.parametrize(
        ("scheduler", "node", "told"),
        [
            pytest.param(OURS, "", ["default/a: the pod cannot be decoded: cpu"], id="ours: its owner is told"),
            pytest.param(FOREIGN, "", [], id="a foreign one: others tell"),
            pytest.param(OURS, "n1", [], id="it has its node already"),
        ],
    )
    async def test_undecodable(
        self, world: World, caplog: pytest.LogCaptureFixture, scheduler: str, node: str, told: list[str]
    ) -> None:
        found = []
        world.pods.on_undecodable.connect(lambda pod, reason: found.append(f"{pod.key}: {reason}"))
        identity = ObjectIdentity(name="a", namespace="default", uid="a", scheduler_name=scheduler, node_name=node)
        world.pods.undecodable(identity, "cpu")
        assert found == told
        assert "pod default/a cannot be decoded: cpu" in caplog.text
        assert world.said == []

    async def test_its_owner_is_told_by_an_event(self) -> None:
        live = LiveCore()
        identity = ObjectIdentity(name="a", namespace="default", uid="a", scheduler_name=OURS)
        live.core.pods.undecodable(identity, "cpu")
        text = "the pod cannot be decoded: cpu"
        assert live.api.events == [("a", "Warning", "FailedScheduling", "Scheduling", text)]
        assert len(live.core.queue) == 0

    async def test_nodes_are_done_without(self, world: World, caplog: pytest.LogCaptureFixture) -> None:
        world.nodes.undecodable(ObjectIdentity(name="n9"), "taints")
        assert "node n9 cannot be decoded, so no pods are scheduled there: taints" in caplog.text
        assert world.said == []
        assert all(record.levelno == logging.ERROR for record in caplog.records)

    async def test_nobody_minds_when_they_are_gone(self, world: World) -> None:
        world.pods.vanished(ObjectIdentity(name="a", namespace="default", uid="a", scheduler_name=OURS))
        world.nodes.vanished(ObjectIdentity(name="n9"))
        assert world.said == []


class TestNodes:
    async def test_added(self, world: World) -> None:
        world.nodes.added(make_node("n2"))
        assert world.cache.find_node("n2") is not None
        assert world.said == ["move NodeAdd"]
        assert world.woken == 1

    @pytest.mark.parametrize(
        ("new", "said"),
        [
            pytest.param(make_node("n1"), [], id="a heartbeat wakes nobody"),
            pytest.param(make_node("n1", labels={"x": "y"}), ["move NodeUpdateNodeLabel"], id="labels"),
            pytest.param(
                make_node("n1", labels={"x": "y"}, cpu="9"),
                ["move NodeUpdateNodeAllocatable", "move NodeUpdateNodeLabel"],
                id="several things: one event each",
            ),
        ],
    )
    async def test_changed(self, world: World, new: Any, said: list[str]) -> None:
        info = world.cache.find_node("n1")
        assert info is not None
        world.nodes.updated(info.node, new)
        assert info.node is new
        assert world.said == said
        assert world.woken == len(said)

    async def test_deleted_the_queue_hears_of_it_first(self, world: World) -> None:
        world.nodes.deleted(make_node("n1"))
        assert world.said == ["move NodeDelete while it is there"]
        assert world.cache.find_node("n1") is None
        assert world.woken == 1


class TestOtherObjects:
    CLAIM = PersistentVolumeClaim(Metadata(name="claim", namespace="x", uid="1"))
    BUDGET = PodDisruptionBudget(Metadata(name="budget", namespace="x", uid="2"))

    async def test_what_can_help_a_pod_is_told_to_the_queue(self, world: World) -> None:
        changed: list[object] = []
        world.changes.follow(PersistentVolumeClaim, changed.append)
        world.objects.added(self.CLAIM)
        assert world.cache.objects.all(PersistentVolumeClaim) == [self.CLAIM]
        world.objects.updated(self.CLAIM, self.CLAIM)
        world.objects.deleted(self.CLAIM)
        kind = "PersistentVolumeClaim"
        assert world.said == [f"move {kind}Add", f"move {kind}Update", f"move {kind}Delete"]
        assert world.cache.objects.all(PersistentVolumeClaim) == []
        assert changed == [self.CLAIM] * 3
        assert world.woken == 3

    async def test_one_that_cannot_be_understood_is_remembered_until_it_is_gone(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        broken = ObjectIdentity(
            name="claim", namespace="x", resource="persistentvolumeclaims", shape=PersistentVolumeClaim
        )
        world.objects.undecodable(broken, "size")
        assert world.cache.objects.troubles(PersistentVolumeClaim, "x") == {"claim": "size"}
        assert "persistentvolumeclaims x/claim cannot be decoded: size" in caplog.text
        world.objects.vanished(broken)
        assert world.cache.objects.troubles(PersistentVolumeClaim, "x") == {}
        assert world.said == ["move PersistentVolumeClaimUpdate"] * 2
        assert world.woken == 2

    async def test_what_cannot_is_only_looked_up(self, world: World) -> None:
        world.objects.added(self.BUDGET)
        assert world.cache.objects.all(PodDisruptionBudget) == [self.BUDGET]
        assert world.said == []
        assert world.woken == 0


class Never(Filter):
    """Rejects every pod, and waits for deletions."""

    retry_on = (Retry(POD_GONE.resource, POD_GONE.action),)

    def filter(self, cycle: Any, pod: Pod, node: Any) -> Rejection:
        return Rejection("never", preemption_helps=False)


@pytest.mark.looptime
@pytest.mark.parametrize(
    "by_deletion", [pytest.param(True, id="deleted"), pytest.param(False, id="no longer nominated")]
)
async def test_the_end_of_a_nomination_wakes_only_pods_that_it_kept_out(by_deletion: bool) -> None:
    live = LiveCore(Never())
    live.add_node()
    nominated = make_pod("nominated", priority=5, status={"nominatedNodeName": "n1"})
    others = {priority: make_pod(f"p{priority}", priority=priority) for priority in (4, 5, 6)}
    live.create(nominated, *others.values())
    await live.settle()
    assert {live.place(pod) for pod in others.values()} == {"unschedulable"}
    await asyncio.sleep(30)  # their back-off is over
    if by_deletion:
        live.delete(nominated)
    else:
        live.change(nominated, make_pod("nominated", uid=nominated.uid, priority=5))
    assert {priority: live.place(pod) for priority, pod in others.items()} == {
        4: "active",
        5: "active",
        6: "unschedulable",
    }


class TestAPodWhoseNewestStateCannotBeUnderstood:
    """Its room is never taken for free, and it is not placed by what is out of date."""

    @pytest.fixture
    async def live(self) -> LiveCore:
        live = LiveCore()
        live.add_node("n1", cpu="1")
        return live

    def known(self, live: LiveCore, pod: Pod) -> KnownObjects[Pod]:
        known = KnownObjects(live.core.pods, PODS.outlasts)
        known.put(pod)
        identity = ObjectIdentity("a", "default", "a", "6", resource="pods")
        assert known.lose(UndecodableObject(identity, "it has more than 16 MiB of JSON"))
        return known

    async def test_on_a_node_it_counts_until_it_is_gone(self, live: LiveCore) -> None:
        known = self.known(live, make_pod("a", uid="a", cpu="800m", node="n1", metadata={"resourceVersion": "5"}))
        live.create(make_pod("b", uid="b", cpu="800m"))
        await live.settle()
        assert live.api.binds == []
        known.remove(ObjectIdentity("a", "default", "a", "7"))
        await live.settle()
        assert live.api.binds == [("b", "n1")]

    async def test_without_a_node_it_waits(self, live: LiveCore) -> None:
        self.known(live, make_pod("a", uid="a", cpu="800m", metadata={"resourceVersion": "5"}))
        await live.settle()
        assert live.api.binds == []
        assert live.core.queue.find("default/a") is None
