from typing import Any

import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.scoring import BrokenLine
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.testing import FakeCluster, make_node, make_pod, score_all

GPU = "example.com/gpu"
RATIO = "RequestedToCapacityRatio"
Points = list[tuple[int, int]]


def fit(kind: str = "LeastAllocated", shape: Points | None = None, **weights: int) -> NodeResourcesFit:
    """Return the plugin with a strategy; `gpu` stands for its long name."""
    strategy: dict[str, Any] = {"type": kind}
    if weights:
        names = ((GPU if name == "gpu" else name.replace("_", "-"), weight) for name, weight in weights.items())
        strategy["resources"] = [{"name": name, "weight": weight} for name, weight in names]
    if shape is not None:
        strategy["requestedToCapacityRatio"] = {"shape": [{"utilization": x, "score": y} for x, y in shape]}
    plugin = NodeResourcesFit.of({"scoringStrategy": strategy})
    assert plugin.faults(()) == []
    return plugin


def cluster_x(*, taken: bool = True) -> FakeCluster:
    existing = make_pod("e", cpu="1500m", memory="2Gi", requests={GPU: 1}, node="n1")
    return FakeCluster(
        nodes=[
            make_node("n1", cpu=4, memory="8Gi", pods=3, allocatable={GPU: 2}),
            make_node("n2", cpu=2, memory="4Gi", pods=110),
        ],
        pods=[existing] if taken else [],
    )


ONE: dict[str, Any] = {"cpu": 1, "memory": "2Gi"}
HALF_OF_N1: dict[str, Any] = {"cpu": 2, "memory": "4Gi"}
WHOLE = make_pod(spec={"resources": {"requests": HALF_OF_N1}})
RISING, FALLING = [(0, 0), (100, 10)], [(0, 10), (100, 0)]


@pytest.mark.parametrize(
    ("plugin", "cluster", "pod", "n1", "n2"),
    [
        pytest.param(fit(), cluster_x(), make_pod(), 66, 95, id="a container without requests counts as small"),
        pytest.param(fit(), cluster_x(), make_pod(cpu=0, memory=0), 68, 100, id="explicit zeros count as zero"),
        pytest.param(fit(), cluster_x(), make_pod(**ONE), 43, 50, id="the least allocated node is best"),
        pytest.param(fit("MostAllocated"), cluster_x(), make_pod(**ONE), 56, 50, id="the most allocated node is best"),
        pytest.param(fit(RATIO, [(0, 0), (50, 8), (100, 10)], cpu=1, memory=3), cluster_x(), make_pod(**ONE), 81, 80,
                     id="a function with a bend, and weights"),
        pytest.param(fit(RATIO, FALLING), cluster_x(taken=False), make_pod(cpu=1, memory="4Gi"), 63, 50,
                     id="rounded, and a resource that scores nothing does not count"),
        pytest.param(fit(cpu=1, memory=1, gpu=5), cluster_x(taken=False), make_pod(**ONE, requests={GPU: 1}), 57, 50,
                     id="an extended resource, which one node lacks"),
        pytest.param(fit(cpu=1, memory=1, gpu=5), cluster_x(taken=False), make_pod(**ONE, requests={GPU: 0}), 75, 50,
                     id="which the pod does not want"),
        pytest.param(fit(), cluster_x(taken=False), WHOLE, 97, 95, id="blind to requests of the whole pod"),
        pytest.param(fit(), cluster_x(taken=False), make_pod(**HALF_OF_N1), 50, 0, id="but not of containers"),
        pytest.param(fit(ephemeral_storage=1), cluster_x(), make_pod(**ONE), 0, 0,
                     id="nodes without any of the resources"),
        pytest.param(fit(RATIO, FALLING, ephemeral_storage=1), cluster_x(), make_pod(**ONE), 0, 0,
                     id="also where the function is above zero"),
        pytest.param(fit(cpu=1, storage=50, pods=50), cluster_x(), make_pod(cpu=1), 37, 50,
                     id="resources that nobody accounts for"),
        pytest.param(fit(cpu=1), cluster_x(), make_pod(cpu=9), 0, 0, id="least, of more than there is"),
        pytest.param(fit("MostAllocated", cpu=1), cluster_x(), make_pod(cpu=9), 100, 100, id="most, of too much"),
        pytest.param(fit(RATIO, [(0, 3), (90, 7)], cpu=1), cluster_x(), make_pod(cpu=9), 70, 70, id="by a function"),
        pytest.param(fit(), cluster_x(), make_pod(spec={"containers": []}), 68, 100, id="a pod without containers"),
        pytest.param(fit(), cluster_x(), make_pod(init=[{"cpu": 1}], cpu=0, memory=0), 54, 72,
                     id="init containers count with defaults too"),
    ],
)  # fmt: skip
def test_score(plugin: NodeResourcesFit, cluster: FakeCluster, pod: Pod, n1: int, n2: int) -> None:
    assert score_all(plugin, cluster, pod) == {"n1": n1, "n2": n2}


def plain_cluster() -> FakeCluster:
    """Return two nodes of 4 and 6 cpus, of which 2 and 1 are taken."""
    return FakeCluster(
        nodes=[make_node("n1", cpu=4, memory=10000), make_node("n2", cpu=6, memory=10000)],
        pods=[make_pod("a", cpu=2, memory=4000, node="n1"), make_pod("b", cpu=1, memory=2000, node="n2")],
    )


@pytest.mark.parametrize(
    ("plugin", "pod", "n1", "n2"),
    [
        pytest.param(fit(), make_pod(cpu=1, memory=2000), 32, 63, id="the least allocated node is best"),
        pytest.param(fit("MostAllocated"), make_pod(cpu=1, memory=2000), 67, 36, id="the most allocated node is best"),
        pytest.param(fit(RATIO, FALLING), make_pod(cpu=3, memory=5000), 10, 32, id="a falling function"),
        pytest.param(fit(RATIO, RISING), make_pod(cpu=3, memory=5000), 95, 68, id="a rising function"),
    ],
)
def test_score_with_plain_numbers(plugin: NodeResourcesFit, pod: Pod, n1: int, n2: int) -> None:
    assert score_all(plugin, plain_cluster(), pod) == {"n1": n1, "n2": n2}


@pytest.mark.parametrize(
    ("points", "values"),
    [
        pytest.param([(10, 1), (90, 9)], {0: 1, 15: 1, 20: 2, 89: 8, 95: 9}, id="flat outside of the points"),
        pytest.param([(0, 2), (40, 10), (100, 0)], {20: 6, 70: 5}, id="up and down"),
    ],
)
def test_functions_by_points(points: Points, values: dict[int, int]) -> None:
    line = BrokenLine(points)
    assert {x: line(x) for x in values} == values


@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated"])
@pytest.mark.parametrize(
    ("node", "taken"),
    [
        pytest.param(make_node("n", cpu=0, memory=0), None, id="a node without capacity"),
        pytest.param(make_node("n", cpu=0), None, id="a node without cpu"),
        pytest.param(make_node("n", cpu=4), make_pod("e", cpu=9, node="n"), id="an over-committed node"),
        pytest.param(make_node("n", memory="80P"), None, id="a node with as much as the arithmetic can bear"),
    ],
)
def test_odd_nodes_score_alike_in_both_forms(kind: str, node: Node, taken: Pod | None) -> None:
    cluster = FakeCluster(nodes=[node, make_node("other")], pods=[taken] if taken else [])
    scores = score_all(fit(kind), cluster, make_pod(**ONE))
    assert isinstance(scores, dict)
    assert all(0 <= score <= 100 for score in scores.values())


def test_the_division_is_exact_for_large_numbers() -> None:
    # As floating point numbers, 49999999999999999 of 50000000000000000 would be all of it.
    cluster = FakeCluster(nodes=[make_node("n", memory="50P")])
    assert score_all(fit("MostAllocated", memory=1), cluster, make_pod(memory="49999999999999999")) == {"n": 99}


@pytest.mark.parametrize("plugin", [fit(), fit("MostAllocated"), fit(RATIO, RISING)])
def test_scores_need_no_pre_score(plugin: NodeResourcesFit) -> None:
    cluster, pod = cluster_x(), make_pod(**ONE)
    cycle: Cycle = cluster.cycle(pod)
    bare = {node.name: plugin.score(cycle, pod, node) for node in cluster.nodes}
    assert bare == score_all(plugin, cluster, pod)


def test_profiles_with_other_arguments_do_not_share_what_they_remember() -> None:
    cluster, pod = cluster_x(), make_pod(**ONE)
    assert score_all(fit(cpu=1), cluster, pod) == {"n1": 37, "n2": 50}
    assert score_all(fit(memory=1), cluster, pod) == {"n1": 50, "n2": 50}
    assert score_all(fit(cpu=3, memory=1), cluster, pod) == {"n1": 40, "n2": 50}
