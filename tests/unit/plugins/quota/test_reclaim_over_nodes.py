"""CapacityScheduling where those that borrowed are on several nodes, and too few of them on any one."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.plugin import Plugin
from pilotage.kinds.workloads import PodDisruptionBudget, PriorityClass
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_ports import NodePorts
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.preemption.preemption_toleration import PreemptionToleration
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod
from pilotage.testing.quotas import make_quota

LOW, MID, HIGH = 10, 100, 1000
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
# Six cores are sure and the nodes have sixteen: what is borrowed can be anywhere.
LENT: list[Kind] = [
    make_quota("lender", {"cpu": 4}),
    make_quota("borrower", {"cpu": 2}),
    make_quota("other", {"cpu": 0}),
]
NODES = [make_node(f"n{i}", cpu=4) for i in range(4)]


def on(node: str, name: str, priority: int = MID, namespace: str = "borrower", **fields: Any) -> Pod:
    return make_pod(name, namespace=namespace, priority=priority, node=node, **{"cpu": 1, **fields})


def lender(cpu: int = 4, **fields: Any) -> Pod:
    return make_pod("pod", namespace="lender", cpu=cpu, **{"priority": LOW, **fields})


def scheduler(
    pods: Iterable[Pod], objects: Iterable[Kind] = LENT, nodes: Sequence[Node] = NODES, also: Sequence[Plugin] = ()
) -> FakeScheduler:
    cluster = FakeCluster(nodes, pods, objects)
    return FakeScheduler(NodeResourcesFit(), InterPodAffinity(), *also, CapacityScheduling(), cluster=cluster)


def budget(allowed: int) -> PodDisruptionBudget:
    return msgspec.convert(
        {
            "metadata": {"name": "budget", "namespace": "borrower"},
            "spec": {"selector": {"matchLabels": {"app": "kept"}}},
            "status": {"disruptionsAllowed": allowed},
        },
        PodDisruptionBudget,
    )


KEPT: dict[str, Any] = {"labels": {"app": "kept"}}
# Two cores on each of three nodes: the lender's pod needs four of six back, and one whole node.
ROOM = [on(f"n{1 + i // 2}", f"b{i}", MID + i) for i in range(6)]
NO_ROOM = [*(on(f"n{i // 2}", f"b{i}", MID + i) for i in range(6)), on("n3", "full", cpu=4, namespace="free")]


@pytest.mark.parametrize(
    ("wanted", "pods", "objects", "node", "victims"),
    [
        pytest.param(lender(), ROOM, LENT, "n0", "b0 b1 b2 b3", id="a node has room, and borrowers of two others go"),
        pytest.param(lender(), NO_ROOM, LENT, "n0", "b0 b1 b2 b3", id="who is in the way, and the least important"),
        pytest.param(lender(3), NO_ROOM, LENT, "n0", "b0 b1 b2", id="nobody beyond the need"),
        pytest.param(
            lender(),
            [
                *(on(node, f"full-{node}", cpu=4, namespace="free") for node in ("n0", "n3")),
                *(on("n1", name, HIGH) for name in "abc"),
                *(on("n2", name, LOW) for name in "de"),
                on("n2", "f"),
                on("n2", "half", namespace="free"),
            ],
            LENT,
            "n1",
            "a b c e",
            id="who is in the way, though it matters more, where there can be room",
        ),
        pytest.param(
            lender(),
            [on("n1", "a", namespace="other"), *ROOM[1:4], on("n3", "b", LOW, namespace="other"), ROOM[5]],
            LENT,
            "n0",
            "a b b1 b2",
            id="all that have borrowed are asked",
        ),
        pytest.param(
            lender(),
            [*ROOM[:4], on("n3", "x", LOW, namespace="free"), on("n3", "y", 0, namespace="lender"), ROOM[5]],
            [*LENT[1:], make_quota("lender", {"cpu": 5})],
            "n0",
            "b0 b1 b2",
            id="nobody without a quota, and nobody of its own",
        ),
        pytest.param(
            lender(), ROOM, [*LENT, make_quota("idle", {"cpu": 1})], "n0", "b0 b1 b2", id="only what is missing"
        ),
        pytest.param(
            lender(), [on("n1", "a", LOW, cpu=2), *ROOM[2:]], LENT, "n0", "a b2 b3", id="fewer, if one has more"
        ),
        pytest.param(
            lender(),
            [on("n1", "a", LOW, cpu=3), on("n2", "b", LOW + 1, cpu=2), on("n2", "c"), on("n3", "d", HIGH)],
            [make_quota("lender", {"cpu": 4}), make_quota("borrower", {"cpu": 3})],
            "n0",
            "a c",
            id="min is not undercut: who has some of it stays, though it matters less",
        ),
        pytest.param(
            lender(),
            [on("n1", "a", LOW, **KEPT), *ROOM[1:4], on("n3", "b", LOW, **KEPT), ROOM[5]],
            [*LENT, budget(0)],
            "n0",
            "b1 b2 b3 b5",
            id="those that a budget protects go last",
        ),
        pytest.param(
            lender(),
            [on("n1", "a", LOW, **KEPT), *ROOM[1:4], on("n3", "b", LOW + 1, **KEPT), ROOM[5]],
            [*LENT, budget(1)],
            "n0",
            "a b1 b2 b3",
            id="as many as the budget allows go in their turn",
        ),
        pytest.param(
            lender(),
            [on("n1", "a", LOW, **KEPT), *ROOM[1:4], *(on("n3", name, **KEPT) for name in "bc")],
            [*LENT, budget(0)],
            "n0",
            "a b1 b2 b3",
            id="and more than it allows only if nothing else helps",
        ),
        pytest.param(
            lender(),
            [on("n1", "a", HIGH, metadata=LEAVING), *ROOM[1:4], on("n3", "b", HIGH, metadata=LEAVING), ROOM[5]],
            LENT,
            "n0",
            "a b b1 b2",
            id="those who leave anyway go first",
        ),
        pytest.param(
            lender(memory=1),
            [on(each.node_name, each.name, each.priority, memory=100) for each in ROOM],
            [make_quota("lender", {"cpu": 4, "memory": 100}), make_quota("borrower", {"cpu": 2, "memory": 900})],
            "n0",
            "b0 b1 b2 b3",
            id="a quota keeps its min of what is missing, and not of everything",
        ),
    ],
)
@pytest.mark.parametrize("also", [(), (DefaultPreemption(),)], ids=["alone", "beside DefaultPreemption"])
def test_a_lender_gets_back_what_is_spread_over_nodes(
    wanted: Pod, pods: list[Pod], objects: list[Kind], node: str, victims: str, also: tuple[Plugin, ...]
) -> None:
    """Issue 241."""
    found = scheduler(pods, objects, also=also).schedule(wanted)
    assert isinstance(found, Unplaced)
    assert (sorted(key.split("/")[1] for key in found.victims), found.nominate) == (victims.split(), node)
    assert set(found.other_nodes) == {pod.node_name for pod in pods if pod.name in victims.split()} - {node}
    assert found.message.endswith(f"on node {node}, preempting {len(found.victims)} victims")


NEAR_ONE_OF_THEM = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "kept"}}, "namespaces": ["borrower"], "topologyKey": "zone"}
        ]
    }
}


@pytest.mark.parametrize(
    ("wanted", "pods", "objects", "nodes"),
    [
        pytest.param(
            lender(),
            [on("n1", "a", cpu=3), on("n2", "b", cpu=3)],
            [make_quota("lender", {"cpu": 4}), make_quota("borrower", {"cpu": 4})],
            [make_node("n0", cpu=4), make_node("n1", cpu=3), make_node("n2", cpu=3)],
            id="each of them has some of what its quota is sure of",
        ),
        pytest.param(
            lender(),
            NO_ROOM[:6],
            LENT,
            [make_node(f"n{i}", cpu=3) for i in range(3)],
            id="there is room for the pod in all, and on no node",
        ),
        pytest.param(lender(5), ROOM, LENT, [make_node(f"n{i}", cpu=8) for i in range(4)], id="it would borrow itself"),
        pytest.param(
            lender(),
            [on(pod.node_name, pod.name, pod.priority, priority_class="calm") for pod in ROOM],
            [*LENT, msgspec.convert({"metadata": {"name": "calm"}, "value": MID}, PriorityClass)],
            NODES,
            id="another plugin spares them",
        ),
        pytest.param(
            lender(affinity=NEAR_ONE_OF_THEM),
            [on("n1", "a", LOW, **KEPT), *ROOM[1:]],
            LENT,
            [make_node(f"n{i}", cpu=4, labels={"zone": "z"}) for i in range(4)],
            id="it needs one of those that would go",
        ),
    ],
)
def test_nobody_goes_in_vain(wanted: Pod, pods: list[Pod], objects: list[Kind], nodes: list[Node]) -> None:
    found = scheduler(pods, objects, nodes, [PreemptionToleration()]).schedule(wanted)
    assert isinstance(found, Unplaced)
    assert (found.victims, found.nominate) == ((), "")


def test_who_is_in_the_way_for_another_cause_than_room_goes_too() -> None:
    at_port: dict[str, Any] = {"host_ports": [80]}
    halves = [on(node, f"half-{node}", namespace="free", cpu=2) for node in ("n1", "n2")]
    pods = [on("n0", "a", HIGH, **at_port), *ROOM[:4], *halves, on("n3", "full", namespace="free", cpu=4)]
    found = scheduler(pods, also=[NodePorts()]).schedule(lender(3, **at_port))
    assert isinstance(found, Unplaced)
    assert (sorted(found.victims), found.nominate) == (["borrower/a", "borrower/b0"], "n0")


def test_own_pods_stay_as_long_as_others_have_borrowed() -> None:
    own = [on("n0", "own", LOW, namespace="lender")]
    found = scheduler([*own, *ROOM[:5]]).schedule(lender(3, priority=HIGH))
    assert isinstance(found, Unplaced)
    assert sorted(found.victims) == ["borrower/b0", "borrower/b1", "borrower/b2"]


def test_one_who_was_told_to_go_is_not_told_for_another() -> None:
    """The second pod needs two more, and not the four once more that leave for the first."""
    quotas, plugin = [make_quota("lender", {"cpu": 6}), make_quota("borrower", {"cpu": 0})], CapacityScheduling()
    found = FakeScheduler(NodeResourcesFit(), plugin, cluster=FakeCluster(NODES, ROOM, quotas))
    first = lender()
    outcome = found.schedule(first)
    assert isinstance(outcome, Unplaced)
    assert sorted(outcome.victims) == [f"borrower/b{i}" for i in range(4)]
    plugin.evictions_began(first, [pod for pod in found.cluster.cache.pods() if pod.key in outcome.victims])
    found.cluster.nominations[outcome.nominate or ""] = [first.with_nominated_node(outcome.nominate or "")]
    again = found.schedule(first.with_nominated_node(outcome.nominate or ""))
    assert isinstance(again, Unplaced)
    assert (again.victims, again.nominate) == ((), None)
    second = found.schedule(make_pod("second", namespace="lender", cpu=2, priority=LOW))
    assert isinstance(second, Unplaced)
    assert sorted(second.victims) == ["borrower/b4", "borrower/b5"]


def fits(found: FakeScheduler, pod: Pod) -> bool:
    """Tell whether a pod fits on the node that was nominated for it."""
    attempt = found.attempt(pod)
    return attempt.run_pre_filter().rejection is None and attempt.fitting_nominated_node() is not None


@examples(200)
@given(
    nodes=st.lists(st.integers(3, 6), min_size=3, max_size=5),
    least=st.tuples(st.integers(3, 6), st.integers(0, 2), st.integers(0, 2)),
    filling=st.lists(st.tuples(st.integers(1, 2), st.integers(1, 3), st.sampled_from([0, 5])), min_size=8, max_size=16),
    left=st.integers(0, 2),
)
def test_whoever_goes_goes_rightly(
    nodes: list[int], least: tuple[int, int, int], filling: list[tuple[int, int, int]], left: int
) -> None:
    """The pod has its place when they are gone, each was needed, and nobody elsewhere had what its quota is sure of."""
    quotas = [make_quota(f"ns{i}", {"cpu": cores}) for i, cores in enumerate(least)]
    found = scheduler([], quotas, [make_node(f"n{i}", cpu=cores) for i, cores in enumerate(nodes)])
    for number, (of, size, priority) in enumerate(filling):
        found.schedule(
            make_pod(f"f{number}", namespace=f"ns{of}", cpu=size, priority=priority)
        )  # whoever fits, borrows
    pod = make_pod("pod", namespace="ns0", cpu=least[0] - left, priority=9)
    outcome = found.schedule(pod)
    if isinstance(outcome, Placed) or not outcome.other_nodes:
        return
    victims = [each for each in found.cluster.cache.pods() if each.key in outcome.victims]
    for victim in victims:
        found.cluster.remove_pod(victim)
    in_the_way = {victim.namespace for victim in victims if victim.node_name == outcome.nominate}
    for namespace in {victim.namespace for victim in victims} - in_the_way:
        kept = [each for each in found.cluster.cache.pods() if each.namespace == namespace]
        assert sum(each.requests["cpu"] for each in kept) >= 1000 * least[int(namespace[-1])]
    nominated = pod.with_nominated_node(outcome.nominate or "")
    for victim in victims:
        found.cluster.add_pod(victim)
        assert not fits(found, nominated)
        found.cluster.remove_pod(victim)
    assert isinstance(found.schedule(nominated), Placed)
