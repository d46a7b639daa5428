"""CapacityScheduling: who is let in, and who has to go for whom."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest

from pilotage.framework.api.objects import Kind
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.verdicts import SKIP_KIND, NoRoom, Rejection, Verdicts
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.plugins.quota.capacity_scheduling.quota_standing import Reach
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod
from pilotage.testing.quotas import make_namespace, make_quota

GPU = "nvidia.com/gpu"
LOW, MID, HIGH = 10, 100, 1000
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def pod(namespace: str, name: str = "pod", priority: int = MID, node: str | None = None, **fields: Any) -> Pod:
    return make_pod(name, namespace=namespace, priority=priority, node=node, **fields)


def running(namespace: str, name: str, priority: int = MID, **fields: Any) -> Pod:
    return pod(namespace, name, priority, **{"node": "n1", **fields})


def scheduler(
    pods: Iterable[Pod] = (), objects: Iterable[Kind] = (), nodes: Sequence[Node] = (), also: Sequence[Plugin] = ()
) -> FakeScheduler:
    cluster = FakeCluster(nodes or [make_node("n1", cpu=1000)], pods, objects)
    return FakeScheduler(NodeResourcesFit(), *also, CapacityScheduling(), cluster=cluster)


def decision(found: Placed | Unplaced) -> str | tuple[str, ...]:
    """Return the node, or the victims, or the message."""
    return found.node if isinstance(found, Placed) else found.victims or found.message


def rejected(wanted: Pod, objects: Iterable[Kind], used: Iterable[Pod] = (), nodes: Sequence[Node] = ()) -> str | None:
    """Return why PreFilter does not let a pod in."""
    before = scheduler(used, objects, nodes).attempt(wanted).run_pre_filter()
    return None if before.rejection is None else before.rejection.message


def over_max(of: str, why: str, name: str = "pod") -> str:
    return f"Pod {of}/{name} is rejected in PreFilter because ElasticQuota {of} is more than Max ({why})"


def over_total(of: str, why: str, name: str = "pod") -> str:
    return f"Pod {of}/{name} is rejected in PreFilter because total ElasticQuota used is more than min ({why})"


ONE = [make_quota("ns1", {"memory": 1000}, {"memory": 2000})]
TWO = [*ONE, make_quota("ns2", {"memory": 1000}, {"memory": 2000})]
USED_300 = [running("ns1", "a", memory=300)]
USED_1800_200 = [running("ns1", "a", memory=1800), running("ns2", "b", memory=200)]
CPU_ONLY = [make_quota("ns1", {"cpu": 4}, {"cpu": 6}), make_quota("ns2", {"cpu": 4}, {"cpu": 6})]


@pytest.mark.parametrize(
    ("wanted", "objects", "used", "reason"),
    [
        pytest.param(pod("ns1", memory=500), ONE, USED_300, None, id="within min"),
        pytest.param(
            pod("ns1", memory=1800),
            ONE,
            USED_300,
            over_max("ns1", "memory: 2100 used with this pod, 2000 allowed"),
            id="over max",
        ),
        pytest.param(
            pod("ns2", memory=500),
            TWO,
            USED_1800_200,
            over_total("ns2", "memory: 2500 used with this pod, 2000 guaranteed in all"),
            id="all quotas together are over min",
        ),
        pytest.param(pod("ns1", memory=5000), [], [], None, id="without quotas there is no limit"),
        pytest.param(
            pod("ns1", cpu=1, memory="1Mi"),
            CPU_ONLY,
            [],
            None,
            id="memory, which max leaves out, is unlimited",
        ),
        pytest.param(
            pod("ns1", cpu=2), CPU_ONLY, [running("ns1", "a", cpu=4)], None, id="what others do not use is lent"
        ),
        pytest.param(
            pod("ns1", cpu=2),
            CPU_ONLY,
            [running("ns1", "a", cpu=5)],
            over_max("ns1", "cpu: 7 used with this pod, 6 allowed"),
            id="the reason tells the resource and by how much it is over",
        ),
        pytest.param(
            pod("ns1", cpu="1500m", memory="3Gi"),
            [make_quota("ns1", most={"cpu": 1, "memory": "2Gi"})],
            [],
            over_max("ns1", "cpu: 1500m used with this pod, 1 allowed; memory: 3Gi used with this pod, 2Gi allowed"),
            id="all resources that are over are told",
        ),
        pytest.param(
            pod("ns1", requests={GPU: 1, "cpu": 1}),
            [make_quota("ns1", {"cpu": 4})],
            [],
            None,
            id="a resource that no quota names is nobody's business",
        ),
        pytest.param(
            pod("ns1", requests={"ephemeral-storage": "1Gi"}), ONE, [], None, id="and so is ephemeral storage"
        ),
        pytest.param(
            pod("ns1", cpu=3),
            [make_quota("ns1", most={"cpu": 6})],
            [running("ns1", "a", cpu=3)],
            None,
            id="max alone is a cap",
        ),
        pytest.param(
            pod("ns1", cpu=1),
            [make_quota("ns1", {"cpu": 0}, {"cpu": 6})],
            [],
            over_total("ns1", "cpu: 1 used with this pod, 0 guaranteed in all"),
            id="nothing can be borrowed where nothing is guaranteed",
        ),
        pytest.param(
            pod("ns1"),
            [make_quota("ns1", most={"pods": 2})],
            [running("ns1", "a"), running("ns1", "b")],
            over_max("ns1", "pods: 3 used with this pod, 2 allowed"),
            id="pods are counted",
        ),
        pytest.param(
            pod("ns1", cpu=1),
            [make_quota("ns1", most={"cpu": 4, "memory": 1000})],
            [running("ns1", "a", memory=2000)],
            None,
            id="a pod that takes none of what is overdrawn is let in",
        ),
        pytest.param(
            pod("ns1", cpu=1),
            CPU_ONLY,
            [running("ns1", "done", cpu=6, status={"phase": "Succeeded"}), running("none", "b", cpu=90)],
            None,
            id="finished pods and those of no quota do not count",
        ),
        pytest.param(
            pod("ns1", cpu=1, sidecars=[{"cpu": 2}], overhead={"cpu": 1}),
            [make_quota("ns1", most={"cpu": 3})],
            [],
            over_max("ns1", "cpu: 4 used with this pod, 3 allowed"),
            id="sidecars and overhead count",
        ),
        pytest.param(
            pod("ns1", spec={"resources": {"requests": {"cpu": 5}}}),
            [make_quota("ns1", most={"cpu": 4})],
            [],
            over_max("ns1", "cpu: 5 used with this pod, 4 allowed"),
            id="the request of the pod as a whole counts",
        ),
        pytest.param(
            pod("ns1", cpu=3),
            [make_quota("ns1", most={"cpu": "4", "memory": "lots"})],
            [],
            None,
            id="a bound that cannot be read is overlooked",
        ),
        pytest.param(
            pod("b", cpu=3),
            [make_quota("a", most={"cpu": 4}, selector={"matchLabels": {"team": "x"}}), make_namespace("b", team="x")],
            [running("a", "one", cpu=2)],
            "Pod b/pod is rejected in PreFilter because ElasticQuota a is more than Max "
            "(cpu: 5 used with this pod, 4 allowed)",
            id="namespaces with the labels share the quota",
        ),
        pytest.param(
            pod("c", cpu=9),
            [make_quota("a", most={"cpu": 4}, selector={"matchLabels": {"team": "x"}}), make_namespace("c", team="y")],
            [],
            None,
            id="namespaces with other labels do not",
        ),
        pytest.param(
            pod("ns1", cpu=3),
            [
                make_quota("ns1", most={"cpu": 2}, name="young", made="2026-02-01T00:00:00Z"),
                make_quota("ns1", most={"cpu": 4}, name="old", made="2026-01-01T00:00:00Z"),
            ],
            [],
            None,
            id="of two quotas the oldest counts",
        ),
        pytest.param(
            pod("ns1", cpu=9, priority_class="low"),
            [make_quota("ns1", most={"cpu": 4}, classes="high")],
            [],
            None,
            id="a quota for a priority class does not limit others",
        ),
        pytest.param(
            pod("ns1", cpu=2, priority_class="high"),
            [make_quota("ns1", most={"cpu": 2}, name="rest"), make_quota("ns1", most={"cpu": 4}, classes="top,high")],
            [running("ns1", "a", cpu=3, priority_class="high"), running("ns1", "b", cpu=9, priority_class="low")],
            "Pod ns1/pod is rejected in PreFilter because ElasticQuota ns1/quota is more than Max "
            "(cpu: 5 used with this pod, 4 allowed)",
            id="it counts those of its classes, and comes before one for all",
        ),
        pytest.param(
            pod("ns1", cpu=2, priority_class="low"),
            [make_quota("ns1", most={"cpu": 3}, name="rest"), make_quota("ns1", most={"cpu": 4}, classes="high")],
            [running("ns1", "a", cpu=1, priority_class="high"), running("ns1", "b", cpu=2)],
            over_max("ns1", "cpu: 4 used with this pod, 3 allowed"),
            id="all others count for the one that names no class",
        ),
        pytest.param(
            pod("ns1", cpu=9),
            [make_quota("ns1", most={"cpu": 4}, classes="High")],
            [],
            None,
            id="a quota whose classes cannot be read limits nobody",
        ),
    ],
)
def test_pre_filter(wanted: Pod, objects: list[Kind], used: list[Pod], reason: str | None) -> None:
    assert rejected(wanted, objects, used) == reason


def test_a_pod_without_a_quota_is_no_concern() -> None:
    attempt = scheduler([], ONE).attempt(pod("other"))
    assert attempt.run_pre_filter().skipped == {"CapacityScheduling"}
    assert CapacityScheduling().pre_filter(attempt.cycle, pod("other")) is SKIP_KIND


def test_nobody_goes_beyond_a_quota_that_cannot_be_understood() -> None:
    cluster = FakeCluster([make_node("n1", cpu=1000)])
    cluster.cache.objects.note_trouble(ElasticQuota, "cores", "ns1", "why")
    found = FakeScheduler(NodeResourcesFit(), CapacityScheduling(), cluster=cluster)
    told = found.schedule(pod("ns1"))
    assert isinstance(told, Unplaced)
    assert (
        "Pod ns1/pod is rejected in PreFilter because ElasticQuota ns1/cores cannot be decoded: why; "
        "correct it, or delete it"
    ) in told.message
    assert isinstance(found.schedule(pod("ns2")), Placed)
    cluster.cache.objects.forget_trouble(ElasticQuota, "cores", "ns1")
    assert isinstance(found.schedule(pod("ns1")), Placed)


def nominated(*given: Pod, objects: Iterable[Kind], used: Iterable[Pod] = ()) -> FakeScheduler:
    found = scheduler(used, objects)
    found.cluster.nominations["n1"] = list(given)
    return found


@pytest.mark.parametrize(
    ("waiting", "reason"),
    [
        pytest.param(
            pod("ns1", "w", MID, memory=1800),
            over_max("ns1", "memory: 2300 used with this pod, 2000 allowed"),
            id="room that was nominated for one of the same quota and priority is taken",
        ),
        pytest.param(pod("ns1", "w", LOW, memory=1800), None, id="not that of one with a lower priority"),
        pytest.param(
            pod("ns2", "w", HIGH, memory=1800), None, id="not that of one with which another quota would borrow"
        ),
        pytest.param(pod("none", "w", HIGH, memory=1800), None, id="those without a quota do not count here"),
    ],
)
def test_nominated_pods(waiting: Pod, reason: str | None) -> None:
    attempt = nominated(waiting, objects=TWO).attempt(pod("ns1", memory=500))
    rejection = attempt.run_pre_filter().rejection
    assert (rejection and rejection.message) == reason


@pytest.mark.parametrize(
    ("used", "wanted", "reason"),
    [
        pytest.param(0, 1100, "2100 used with this pod", id="what it is sure of, whatever the priority"),
        pytest.param(0, 1000, None, id="which is all that it can be"),
        pytest.param(500, 1100, "2100 used with this pod", id="with what it has got"),
        pytest.param(600, 1100, "2100 used with this pod", id="not what it would borrow, of two nominations one"),
        pytest.param(1000, 1000, None, id="nothing any more: the others can have what they are sure of"),
    ],
)
def test_what_is_left_to_another_quota(used: int, wanted: int, reason: str | None) -> None:
    """Of a quota that would borrow only later nothing can be got back yet, and nobody would say when it can."""
    sizes = [500, 500] if used < 600 else [500, 400, 100]
    waiting = [pod("ns2", f"w{i}", LOW, memory=size) for i, size in enumerate(sizes)]
    placed = [running("ns2", "a", memory=used)] if used else []
    rejection = nominated(*waiting, objects=TWO, used=placed).attempt(pod("ns1", memory=wanted)).run_pre_filter()
    told = rejection.rejection and rejection.rejection.message
    assert (told is None) if reason is None else (reason in str(told))


def test_what_was_nominated_to_a_borrower_is_not_left_to_it() -> None:
    waiting, used = pod("ns2", "w", HIGH, memory=500), [running("ns2", "a", memory=1100)]
    attempt = nominated(waiting, objects=TWO, used=used).attempt(pod("ns1", memory=700))
    assert attempt.run_pre_filter().rejection is None


def test_a_pod_does_not_count_twice_that_waits_and_is_tried() -> None:
    waiting = pod("ns1", memory=1000)
    assert nominated(waiting, objects=ONE).attempt(waiting).run_pre_filter().rejection is None


def test_what_was_nominated_on_a_node_that_is_gone_does_not_count() -> None:
    found = scheduler([], ONE)
    found.cluster.nominations["gone"] = [pod("ns1", "w", HIGH, memory=1000)]
    assert decision(found.schedule(pod("ns1", memory=1000))) == "n1"


def test_nominations_are_counted_once_where_they_were_made() -> None:
    waiting = pod("ns1", "w", HIGH, memory=400)
    found = nominated(waiting, objects=ONE).schedule(pod("ns1", memory=600))
    assert decision(found) == "n1"


NODE_150 = [make_node("n1", memory=150)]
VECTOR_4 = [running("ns1", "a", memory=50), running("ns2", "b", memory=50), running("ns2", "c", memory=50)]
VECTOR_5 = [running("ns1", "a", memory=50), running("ns2", "b", HIGH, memory=50), running("ns2", "c", memory=50)]
BORROWED = [make_quota("ns1", {"memory": 150}, {"memory": 200}), make_quota("ns2", {"memory": 50}, {"memory": 200})]


@pytest.mark.parametrize(
    ("wanted", "objects", "used", "expected"),
    [
        pytest.param(
            pod("ns1", priority=HIGH, memory=50),
            [make_quota("ns1", {"memory": 50}, {"memory": 200}), make_quota("ns2", {"memory": 200}, {"memory": 200})],
            VECTOR_4,
            ("ns1/a",),
            id="over its own min, one of its own goes",
        ),
        pytest.param(
            pod("ns1", priority=HIGH, memory=50),
            BORROWED,
            VECTOR_5,
            ("ns2/c",),
            id="a borrower gives it back",
        ),
        pytest.param(
            pod("ns1", priority=LOW, memory=50),
            BORROWED,
            VECTOR_5,
            ("ns2/c",),
            id="priority plays no part in getting back what is lent",
        ),
        pytest.param(
            pod("other", priority=HIGH, memory=50),
            BORROWED,
            [*VECTOR_5[:2], running("free", "f", memory=50)],
            ("free/f",),
            id="without a quota only those without one go",
        ),
        pytest.param(
            pod("other", priority=HIGH, memory=50),
            BORROWED,
            VECTOR_5,
            "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: "
            "1 No preemption victims found for incoming pod.",
            id="and if there are none, nobody",
        ),
        pytest.param(
            pod("ns1", priority=HIGH, memory=50),
            BORROWED,
            [running("free", name, LOW, memory=50) for name in "abc"],
            "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: "
            "1 No preemption victims found for incoming pod.",
            id="with a quota nobody without one goes",
        ),
        pytest.param(
            pod("ns1", priority=HIGH, memory=50),
            [make_quota("ns1", {"memory": 150}), make_quota("ns2", {"memory": 100})],
            [running("ns1", "a", LOW, memory=50), *VECTOR_5[1:]],
            ("ns1/a",),
            id="if nobody has borrowed, one of its own with lower priority goes",
        ),
        pytest.param(
            pod("ns1", priority=LOW, memory=50),
            [make_quota("ns1", {"memory": 150}), make_quota("ns2", {"memory": 100})],
            VECTOR_4,
            "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: "
            "1 No preemption victims found for incoming pod.",
            id="what others are sure of stays theirs",
        ),
        pytest.param(
            pod("ns1", priority=HIGH, memory=50),
            [make_quota("ns1", {"memory": 50}, {"memory": 100}), make_quota("ns2", {"memory": 50})],
            [running("ns1", name, memory=30) for name in "abc"],
            ("ns1/b", "ns1/c"),
            id="a full quota makes room by priority",
        ),
        pytest.param(
            pod("ns1", priority=LOW, memory=100),
            [make_quota("ns1", {"memory": 100}), make_quota("ns2", {"memory": 30})],
            [running("ns2", name, memory=25) for name in "ab"],
            ("ns2/b",),
            id="a borrower gives back though the node has room",
        ),
        pytest.param(
            pod("ns1", priority=HIGH, memory=150),
            [make_quota("ns1", {"memory": 50}, {"memory": 100})],
            [running("ns1", "a", memory=30)],
            "0/1 nodes are available: Pod ns1/pod is rejected in PreFilter because ElasticQuota ns1 is more than Max "
            "(memory: 180 used with this pod, 100 allowed). preemption: 0/1 nodes are available: "
            "1 global quota max exceeded (memory).",
            id="a pod that is larger than its quota evicts nobody in vain",
        ),
    ],
)
def test_preemption(wanted: Pod, objects: list[Kind], used: list[Pod], expected: str | tuple[str, ...]) -> None:
    found = scheduler(used, objects, NODE_150).schedule(wanted)
    assert decision(found) == expected


TWO_OF_ONE = [make_quota("ns1", {"memory": 100}, name="high", classes="high"), make_quota("ns1", {"memory": 50})]


def of_class(name: str, priority_class: str, priority: int = MID, **fields: Any) -> Pod:
    return running("ns1", name, priority, priority_class=priority_class, **{"memory": 50, **fields})


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        pytest.param(
            of_class("pod", "high", LOW, node=None),
            [of_class("a", "high", LOW), of_class("b", "low", HIGH), of_class("c", "low", MID)],
            ("ns1/c",),
            id="a borrower gives back, whatever the priority",
        ),
        pytest.param(
            of_class("pod", "high", HIGH, node=None),
            [of_class("a", "high", MID), of_class("b", "high", HIGH), of_class("c", "low", LOW)],
            ("ns1/a",),
            id="within one quota the less important goes, and no other of the namespace",
        ),
        pytest.param(
            of_class("pod", "low", HIGH, node=None, memory=100),
            [of_class("a", "high", LOW), of_class("b", "high", LOW), of_class("c", "low", HIGH)],
            (),
            id="what a quota is sure of stays, though it matters less",
        ),
    ],
)
@pytest.mark.parametrize("also", [(), (DefaultPreemption(),)], ids=["alone", "beside DefaultPreemption"])
def test_quotas_of_one_namespace_are_as_strange_to_each_other_as_those_of_two(
    wanted: Pod, used: list[Pod], expected: tuple[str, ...], also: tuple[Plugin, ...]
) -> None:
    found = scheduler(used, TWO_OF_ONE, NODE_150, also).schedule(wanted)
    assert isinstance(found, Unplaced)
    assert found.victims == expected


@pytest.mark.parametrize("also", [(), (DefaultPreemption(),)], ids=["alone", "beside DefaultPreemption"])
def test_pods_without_a_quota_leave_those_of_a_class_alone(also: tuple[Plugin, ...]) -> None:
    used = [of_class("a", "high", LOW, memory=100), of_class("b", "low", MID)]
    found = scheduler(used, TWO_OF_ONE[:1], NODE_150, also).schedule(of_class("pod", "low", HIGH, node=None))
    assert isinstance(found, Unplaced)
    assert found.victims == ("ns1/b",)


def test_pods_count_at_once_for_a_quota_that_gets_other_classes() -> None:
    found = scheduler([running("ns1", "a", cpu=5, priority_class="low")], [make_quota("ns1", most={"cpu": 6})])
    assert isinstance(found.schedule(pod("ns1", "b", cpu=2, priority_class="high")), Unplaced)
    found.cluster.cache.objects.put(make_quota("ns1", most={"cpu": 6}, classes="high"))
    assert isinstance(found.schedule(pod("ns1", "b", cpu=2, priority_class="high")), Placed)


def test_gpus_come_back_to_their_owner_whatever_the_pods_ask_for_besides() -> None:
    """Issue 683: quotas that name gpus alone, and pods that ask for cpu and memory too."""
    objects = [make_quota("a", {GPU: 4}, {GPU: 5}), make_quota("b", {GPU: 1})]
    used = [running("a", f"p{i}", requests={GPU: 1, "cpu": 1, "memory": "1Gi"}) for i in range(5)]
    found = scheduler(used, objects, [make_node("n1", cpu=100, allocatable={GPU: 5})]).schedule(
        pod("b", requests={GPU: 1, "cpu": 1, "memory": "1Gi"})
    )
    assert isinstance(found, Unplaced)
    assert len(found.victims) == 1


def test_a_cap_does_not_keep_a_quota_from_what_it_is_sure_of() -> None:
    objects = [make_quota("a", {GPU: 4}, {GPU: 5, "cpu": 50}), make_quota("b", {GPU: 1}, {GPU: 5, "cpu": 50})]
    used = [running("a", f"p{i}", requests={GPU: 1, "cpu": 1}) for i in range(5)]
    node = make_node("n1", cpu=100, allocatable={GPU: 5})
    found = scheduler(used, objects, [node]).schedule(pod("b", requests={GPU: 1, "cpu": 1}))
    assert isinstance(found, Unplaced)
    assert len(found.victims) == 1


def test_two_quotas_that_are_sure_of_different_things_do_not_take_turns() -> None:
    objects = [make_quota("a", {"cpu": 1}, {GPU: 1}), make_quota("b", {GPU: 1}, {"cpu": 1})]
    node, both = make_node("n1", cpu=1, allocatable={GPU: 1}), {GPU: 1, "cpu": 1}
    for here, there in (("a", "b"), ("b", "a")):
        found = scheduler([running(here, "p", requests=both)], objects, [node]).schedule(pod(there, requests=both))
        assert isinstance(found, Unplaced)
        assert found.victims == ()


def test_the_demo_of_the_original() -> None:
    """Two quotas of min 4 and max 6 on 8 cores."""
    found = scheduler([], CPU_ONLY, [make_node("n1", cpu=8)])
    first = [found.schedule(pod("ns1", f"a{i}", cpu=2)) for i in range(4)]
    assert [isinstance(each, Placed) for each in first] == [True, True, True, False]
    assert isinstance(found.schedule(pod("ns2", "b0", cpu=2)), Placed)
    second = found.schedule(pod("ns2", "b1", cpu=2))
    assert isinstance(second, Unplaced)
    (victim,) = second.victims
    assert victim.startswith("ns1/")
    (evicted,) = [each for each in found.cluster.cache.pods() if each.key == victim]
    found.cluster.remove_pod(evicted)
    assert isinstance(found.schedule(pod("ns2", "b1", cpu=2)), Placed)


def test_a_budget_is_spared_even_if_its_pods_matter_less() -> None:
    budget = msgspec.convert(
        {
            "metadata": {"name": "budget", "namespace": "ns2"},
            "spec": {"selector": {"matchLabels": {"app": "kept"}}},
            "status": {"disruptionsAllowed": 0},
        },
        PodDisruptionBudget,
    )
    used = [
        running("ns1", "a", memory=50),
        running("ns2", "b", HIGH, memory=50),
        running("ns2", "c", MID, memory=50, labels={"app": "kept"}),
    ]
    objects: list[Kind] = [make_quota("ns1", {"memory": 150}), make_quota("ns2", {"memory": 20}), budget]
    assert decision(scheduler(used, objects, NODE_150).schedule(pod("ns1", memory=50))) == ("ns2/b",)


def test_the_node_where_it_does_the_least_harm_is_freed() -> None:
    nodes = [make_node("n1", memory=50), make_node("n2", memory=50)]
    used = [running("ns2", "a", HIGH, memory=50), running("ns2", "b", LOW, memory=50, node="n2")]
    found = scheduler(used, BORROWED, nodes).schedule(pod("ns1", memory=50))
    assert isinstance(found, Unplaced)
    assert (found.nominate, found.victims) == ("n2", ("ns2/b",))


def test_a_quota_is_left_what_it_is_sure_of() -> None:
    """Reclaim ends with what was borrowed, though more would be needed on the node."""
    objects = [make_quota("ns1", {"memory": 150}), make_quota("ns2", {"memory": 50})]
    used = [running("ns2", name, memory=50) for name in "abc"]
    found = scheduler(used, objects, NODE_150).schedule(pod("ns1", memory=150))
    assert not found.victims if isinstance(found, Unplaced) else False


@pytest.mark.parametrize(
    ("objects", "eligible"),
    [
        pytest.param([make_quota("ns2", {"memory": 50})], True, id="a quota for the other alone"),
        pytest.param([], False, id="no quotas"),
        pytest.param(
            [make_quota("ns1", {"memory": 50}), make_quota("ns2", {"memory": 50})],
            False,
            id="it gives back what it lent",
        ),
        pytest.param(
            [make_quota("ns1", {"memory": 50}), make_quota("ns2", {"memory": 100})],
            True,
            id="it has not borrowed anything",
        ),
    ],
)
def test_a_pod_that_waits_for_a_victim_evicts_nobody_else(objects: list[Kind], eligible: bool) -> None:
    used = [
        running("ns2", "leaving", MID, memory=50, metadata=LEAVING),
        running("ns2", "stays", HIGH, memory=50),
    ]
    waiting = pod("ns1", priority=HIGH, memory=50, status={"nominatedNodeName": "n1"})
    found = scheduler(used, objects, [make_node("n1", memory=100)]).schedule(waiting)
    assert isinstance(found, Unplaced)
    told = "preemption: not eligible due to a terminating pod on the nominated node."
    assert (told in found.message) is not eligible
    assert eligible or found.nominate is None  # the nomination stands


def test_a_pod_that_waits_for_one_of_its_own_evicts_nobody_else() -> None:
    used = [running("ns1", "leaving", LOW, memory=50, metadata=LEAVING), running("ns2", "b", LOW, memory=50)]
    objects = [make_quota("ns1", {"memory": 100}), make_quota("ns2", {"memory": 0})]
    waiting = pod("ns1", priority=HIGH, memory=50, status={"nominatedNodeName": "n1"})
    found = scheduler(used, objects, [make_node("n1", memory=100)]).schedule(waiting)
    assert isinstance(found, Unplaced)
    assert found.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")


def test_a_quota_that_guarantees_nothing_gets_nothing_back() -> None:
    """Its pods make room for each other, also by DefaultPreemption alone."""
    objects = [make_quota("ns1", most={"memory": 200}), make_quota("ns2", most={"memory": 200})]
    used = [running("ns1", "a", memory=50), running("ns2", "b", LOW, memory=100)]
    attempt = scheduler(used, objects, NODE_150, [DefaultPreemption()]).attempt(pod("ns1", priority=HIGH, memory=50))
    attempt.run_pre_filter()
    assert attempt.cycle.notes["CapacityScheduling"].reach is Reach.OWN
    attempt.feasible()
    assert attempt.post_filter().victims == ("ns1/a",)


def test_a_pod_that_never_preempts() -> None:
    wanted = pod("ns1", priority=HIGH, memory=50, spec={"preemptionPolicy": "Never"})
    found = scheduler(VECTOR_5, BORROWED, NODE_150).schedule(wanted)
    assert isinstance(found, Unplaced)
    assert found.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_without_its_pre_filter_it_evicts_nobody() -> None:
    plugin, cluster, wanted = CapacityScheduling(), FakeCluster(NODE_150, VECTOR_5, BORROWED), pod("ns1", memory=50)
    rejection = Rejection("Insufficient memory")
    verdicts = Verdicts.where(Verdicts.all_fit(1).codes == 0, rejection)
    found = plugin.post_filter(cluster.cycle(wanted), wanted, verdicts)
    assert found == NoRoom("preemption: not eligible due to failed to read from cycleState", keeps_nomination=True)


QUOTAS = [make_quota("ns1", {"memory": 100}), make_quota("ns2", {"memory": 50})]


@pytest.mark.parametrize(
    ("wanted", "used", "victims"),
    [
        pytest.param(
            pod("free", priority=HIGH, memory=50),
            [
                running("ns1", "a", LOW, memory=50),
                running("ns2", "b", LOW, memory=50),
                running("free", "f", MID, memory=50),
            ],
            ("free/f",),
            id="without a quota: one without a quota goes, though pods of quotas matter less",
        ),
        pytest.param(
            pod("free", priority=HIGH, memory=50),
            [running("ns1", "a", LOW, memory=50), running("ns2", "b", LOW, memory=100)],
            (),
            id="without a quota: nobody of a quota goes, not even a borrower",
        ),
        pytest.param(
            pod("ns1", priority=HIGH, memory=50),
            [running("ns1", "a", MID, memory=100), running("free", "f", LOW, memory=50)],
            ("ns1/a",),
            id="within a quota: by priority, and nobody without a quota",
        ),
        pytest.param(
            pod("ns1", priority=MID, memory=50),
            [
                running("ns1", "a", LOW, memory=50),
                running("ns2", "b", LOW, memory=50),
                running("ns2", "c", MID, memory=50),
            ],
            ("ns2/b",),
            id="across quotas: what was borrowed, the less important first",
        ),
        pytest.param(
            pod("ns1", priority=LOW, memory=50),
            [running("ns1", "a", MID, memory=50), running("ns2", "b", HIGH, memory=100)],
            ("ns2/b",),
            id="across quotas: what was borrowed, even by a higher priority",
        ),
        pytest.param(
            pod("ns1", priority=HIGH, memory=50),
            [running("ns1", "a", HIGH, memory=100), running("ns2", "b", LOW, memory=50)],
            (),
            id="across quotas: never what another is sure of, though it matters less",
        ),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["after DefaultPreemption", "before DefaultPreemption"])
def test_default_preemption_does_not_defeat_quotas(
    wanted: Pod, used: list[Pod], victims: tuple[str, ...], first: bool
) -> None:
    plugins = [DefaultPreemption(), CapacityScheduling()] if first else [CapacityScheduling(), DefaultPreemption()]
    cluster = FakeCluster(NODE_150, used, QUOTAS)
    found = FakeScheduler(NodeResourcesFit(), *plugins, cluster=cluster).schedule(wanted)
    assert isinstance(found, Unplaced)
    assert found.victims == victims


def test_what_was_true_for_one_pod_is_not_told_to_the_next() -> None:
    """Quotas change with pods on other nodes: what was found out about a node must not be remembered."""
    objects = [make_quota(f"ns{i}", {"memory": 100}) for i in range(4)]  # so that there is something to borrow
    nodes = [make_node("n1", memory=100), make_node("n2", memory=50, cpu=0)]
    elsewhere = running("ns2", "c", LOW, memory=50, node="n2")
    used = [running("ns2", name, LOW, memory=50) for name in "ab"]
    found = scheduler([*used, elsewhere], objects, nodes, [DefaultPreemption()])
    first, second = (found.schedule(pod("ns1", name, HIGH, memory=50, cpu=1)) for name in ("x", "y"))
    assert isinstance(first, Unplaced)
    assert isinstance(second, Unplaced)
    assert len(first.victims) == len(second.victims) == 1
    found.cluster.remove_pod(elsewhere)
    third = found.schedule(pod("ns1", "z", HIGH, memory=50, cpu=1))
    assert isinstance(third, Unplaced)
    assert third.victims == ()  # a and b are what ns2 is sure of


def test_every_node_is_tried_as_things_are() -> None:
    nodes = [make_node("n1", memory=60), make_node("n2", memory=50)]
    used = [running("ns2", "a", HIGH, memory=60), running("ns2", "b", LOW, memory=50, node="n2")]
    objects = [make_quota("ns1", {"memory": 60}), make_quota("ns2", {"memory": 60})]
    assert decision(scheduler(used, objects, nodes).schedule(pod("ns1", memory=60))) == ("ns2/a",)


def test_one_that_has_nothing_of_what_was_borrowed_stays() -> None:
    objects = [make_quota("ns1", {GPU: 1}), make_quota("ns2", {GPU: 0})]
    node = make_node("n1", cpu=2, allocatable={GPU: 2})
    used = [running("ns2", "gpu", requests={GPU: 1, "cpu": 1}), running("ns2", "cpu", LOW, cpu=1)]
    assert decision(scheduler(used, objects, [node]).schedule(pod("ns1", requests={GPU: 1, "cpu": 1}))) == ("ns2/gpu",)
    found = scheduler(used, objects, [node]).schedule(pod("ns1", requests={GPU: 1, "cpu": 2}))
    assert isinstance(found, Unplaced)
    assert found.victims == ()


def test_pods_count_at_once_for_a_quota_that_comes_later() -> None:
    found = scheduler([running("ns1", "a", cpu=5)])
    found.cluster.cache.objects.put(make_quota("ns1", most={"cpu": 6}))
    assert isinstance(found.schedule(pod("ns1", "b", cpu=2)), Unplaced)
    found.cluster.cache.objects.put(make_quota("ns1", most={"cpu": 7}))
    assert isinstance(found.schedule(pod("ns1", "b", cpu=2)), Placed)
    found.cluster.cache.objects.drop(make_quota("ns1"))
    assert isinstance(found.schedule(pod("ns1", "c", cpu=200)), Placed)


def test_pods_count_at_once_for_a_namespace_that_gets_the_label() -> None:
    shared = make_quota("team", most={"cpu": 6}, selector={"matchLabels": {"team": "x"}})
    found = scheduler([running("a", "one", cpu=5)], [shared, make_namespace("a"), make_namespace("b", team="x")])
    assert isinstance(found.schedule(pod("b", "two", cpu=3)), Placed)
    found.cluster.cache.objects.put(make_namespace("a", team="x"))
    refused = found.schedule(pod("b", "three", cpu=1))
    assert "cpu: 9 used with this pod, 6 allowed" in str(decision(refused))


def test_a_pod_that_got_its_place_counts_before_it_is_bound() -> None:
    found = scheduler([], [make_quota("ns1", most={"cpu": 3})])
    assert isinstance(found.schedule(pod("ns1", "a", cpu=2)), Placed)
    assert isinstance(found.schedule(pod("ns1", "b", cpu=2)), Unplaced)


def test_what_cannot_be_read_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
    found = scheduler([], [make_quota("ns1", {"cpu": "much"}, {"memory": "-1x"}, selector=wrong, classes="")])
    for i in range(3):
        assert isinstance(found.schedule(pod("ns1", f"p{i}", cpu=1)), Placed)
        found.cluster.cache.objects.put(make_namespace("another"))
    told = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[1].strip() for line in told] == [
        "spec.min.cpu",
        "spec.max.memory",
        "spec.namespaceSelector",
        "metadata.annotations.quota.pilotage.dev/priority-classes",
    ]
    assert all(line.startswith("quota ns1/quota: ") and line.endswith("; it is ignored") for line in told)


def test_messages_do_not_grow_with_the_number_of_nodes() -> None:
    """Each node has other pods, so that by how much the quota is over depends on whose node it is."""
    nodes = [make_node(f"n{number}", memory=1000) for number in range(60)]
    used = [running("ns1", f"p{number}", LOW, memory=10 + number, node=f"n{number}") for number in range(30)]
    objects = [make_quota("ns1", {"memory": 50}, {"memory": 100})]
    found = scheduler(used, objects, nodes).schedule(pod("ns1", priority=HIGH, memory=90))
    text = decision(found)
    assert isinstance(text, str)
    assert text.endswith(
        "preemption: 0/60 nodes are available: 30 No preemption victims found for incoming pod, "
        "30 global quota max exceeded (memory)."
    )
