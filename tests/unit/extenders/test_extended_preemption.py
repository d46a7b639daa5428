"""Whom to evict for a pod that extenders have a word in."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kit.scripted_extender import Extenders, leaves, schedule
from kit.tiny_plugins import cluster_of, unplaced
from pilotage.plugins.nodes.node_affinity import NodeAffinity
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.plugins.preemption.cross_node_preemption import CrossNodePreemption
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.testing import FakeCluster, make_node, make_pod


@pytest.fixture
async def start() -> AsyncIterator[Extenders]:
    async with AsyncExitStack() as stack:
        yield Extenders(stack)


LOW = make_pod("low", uid="u-low", priority=1, cpu=1, node="n1")
OTHER = make_pod("other", uid="u-other", priority=5, cpu=1, node="n2")


def agrees(**uids: list[str]) -> dict[str, Any]:
    return {"NodeNameToMetaVictims": {node: {"Pods": [{"UID": uid} for uid in each]} for node, each in uids.items()}}


def full() -> FakeCluster:
    return FakeCluster([make_node("n1", cpu=1), make_node("n2", cpu=1)], [LOW, OTHER])


@pytest.mark.parametrize(
    ("answer", "ignorable", "nominate", "message"),
    [
        pytest.param(
            agrees(n2=["u-other"]),
            False,
            "n2",
            "preemption: found a potential placement for pod on node n2, preempting 1 victims",
            id="leaves one node",
        ),
        pytest.param(agrees(), False, None, "preemption: no candidate node for preemption", id="leaves no node"),
        pytest.param(
            agrees(n2=[]), False, None, 'preemption: expected at least one victim pod on node "n2"', id="fails"
        ),
        pytest.param(
            agrees(n2=["u-low"]),
            True,
            "n1",
            "preemption: found a potential placement for pod on node n1, preempting 1 victims",
            id="fails, and may",
        ),
    ],
)
async def test_an_extender_has_a_word_in_whom_to_evict(
    start: Extenders, answer: Any, ignorable: bool, nominate: str | None, message: str
) -> None:
    extender = await start({"preempt": answer}, ignorable=ignorable)
    plugins = NodeResourcesFit(), DefaultPreemption()
    outcome = unplaced(await schedule(*plugins, extenders=[extender], cluster=full()))
    assert outcome.message == f"0/2 nodes are available: 2 Insufficient cpu. {message}"
    assert outcome.nominate == nominate
    assert len(outcome.victims) == (nominate is not None)
    assert outcome.rejected_by == {"NodeResourcesFit"}


async def test_whoever_may_not_preempt_is_no_question_for_extenders(start: Extenders) -> None:
    extender = await start({"preempt": AssertionError})
    plugins = NodeResourcesFit(), DefaultPreemption()
    pod = make_pod("meek", cpu=1, priority=10, spec={"preemptionPolicy": "Never"})
    outcome = unplaced(await schedule(*plugins, extenders=[extender], cluster=full(), pod=pod))
    assert outcome.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert start.asked() == [[]]


@pytest.mark.parametrize("preempts", [False, True])
async def test_nobody_elsewhere_goes_for_a_pod_that_extenders_have_a_word_in(start: Extenders, preempts: bool) -> None:
    extender = await start({"filter": {}} | ({"preempt": agrees(n1=["u-low"])} if preempts else {}))
    labels = {"topology.kubernetes.io/zone": "a"}
    others = [make_pod(name, labels={"app": "x"}, node=name.replace("p", "n")) for name in ("p1", "p2")]
    cluster = FakeCluster([make_node("n1", labels=labels), make_node("n2", labels=labels)], others)
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    plugin = CrossNodePreemption.of({"maxSeconds": 100})
    pod = make_pod("high", priority=9, spec=spec)
    outcome = unplaced(await schedule(InterPodAffinity(), plugin, extenders=[extender], cluster=cluster, pod=pod))
    assert len(outcome.victims) == (0 if preempts else 2)


@pytest.mark.parametrize("preempts", [False, True])
async def test_the_message_is_the_one_of_kube_scheduler(start: Extenders, preempts: bool) -> None:
    # As v1.37.1 wrote it with `pilotage extender` and a plugin that leaves out nodes with an odd number.
    extender = await start({"filter": leaves(n3="the node is odd")} | ({"preempt": agrees()} if preempts else {}))
    pod = make_pod("odd", node_selector={"kubernetes.io/hostname": "n3"})
    outcome = unplaced(
        await schedule(NodeAffinity(), DefaultPreemption(), extenders=[extender], cluster=cluster_of(5), pod=pod)
    )
    assert outcome.message == (
        "0/5 nodes are available: 1 the node is odd, 4 node(s) didn't match Pod's node affinity/selector. "
        "preemption: 0/5 nodes are available: 1 No preemption victims found for incoming pod, "
        "4 Preemption is not helpful for scheduling."
    )
    assert outcome.rejected_by == {"Extender", "NodeAffinity"}
