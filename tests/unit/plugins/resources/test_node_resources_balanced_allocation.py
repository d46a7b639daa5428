from typing import Any

import pytest

from pilotage.config.faults import Stage
from pilotage.framework.api.plugin import NODE
from pilotage.framework.api.verdicts import SKIP
from pilotage.model.pod import Pod
from pilotage.plugins.resources.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from pilotage.testing import FakeCluster, make_node, make_pod, score_all

GPU = "example.com/gpu"
AT = ("profiles", 0, "pluginConfig", 1, "args")


def balanced(*resources: str) -> NodeResourcesBalancedAllocation:
    given = {"resources": [{"name": name} for name in resources]}
    return NodeResourcesBalancedAllocation.of(given)


def two_nodes(first: dict[str, Any], second: dict[str, Any], *pods: Pod) -> FakeCluster:
    return FakeCluster(nodes=[make_node("n1", **first), make_node("n2", **second)], pods=pods)


def like(node: dict[str, Any], *pods: Pod) -> FakeCluster:
    return two_nodes(node, node, *pods)


def taken(node: str, **fields: Any) -> Pod:
    return make_pod(f"on-{node}", node=node, **fields)


X = two_nodes(
    {"cpu": 4, "memory": "8Gi", "allocatable": {GPU: 2}},
    {"cpu": 2, "memory": "4Gi"},
    taken("n1", cpu="1500m", memory="2Gi", requests={GPU: 1}),
)
THREE = {"cpu": "3500m", "memory": 40000, "allocatable": {GPU: 8}}


@pytest.mark.parametrize(
    ("plugin", "cluster", "pod", "n1", "n2"),
    [
        pytest.param(balanced(), two_nodes({"cpu": 4, "memory": 10000}, {"cpu": 6, "memory": 10000}),
                     make_pod(cpu=3, memory=5000), 68, 75, id="from even to uneven, and to even"),
        pytest.param(balanced(), like({"cpu": 10, "memory": 20000}, taken("n1", cpu=3, memory=0),
                                      taken("n2", cpu=3, memory=5000)),
                     make_pod(cpu=3, memory=5000), 73, 74, id="a little worse"),
        pytest.param(balanced(), like({"cpu": 3, "memory": 5000}, taken("n1", cpu=3, memory=0)),
                     make_pod(memory=5000), 100, 50, id="the best and the worst"),
        pytest.param(balanced(), X, make_pod(cpu=2), 62, 50, id="cpu alone"),
        pytest.param(balanced("cpu", "memory", GPU),
                     like(THREE, taken("n1", cpu=3, memory=5000, requests={GPU: 3}), taken("n2", cpu=3, memory=5000)),
                     make_pod(cpu=0, memory=0, requests={GPU: 1}), 75, 76, id="three resources"),
        pytest.param(balanced("cpu", "memory", GPU), X, make_pod(cpu=2), 62, 50,
                     id="an extended resource that the pod does not want is left out"),
        pytest.param(balanced("cpu", GPU), X, make_pod(cpu=1, requests={GPU: 1}), 69, 75,
                     id="a node with one of the resources has nothing to balance"),
        pytest.param(balanced("ephemeral-storage", "memory"), X, make_pod(memory="1Gi"), 75, 75,
                     id="nor has one with none but memory"),
        pytest.param(balanced(), like({"cpu": 0, "memory": 0}), make_pod(cpu=1), 75, 75, id="nodes without anything"),
        pytest.param(balanced(), like({"cpu": 1, "memory": 100}, taken("n1", cpu=5, memory=50)),
                     make_pod(memory=1000), 87, 50, id="more than all counts as all"),
    ],
)  # fmt: skip
def test_score(plugin: NodeResourcesBalancedAllocation, cluster: FakeCluster, pod: Pod, n1: int, n2: int) -> None:
    assert score_all(plugin, cluster, pod) == {"n1": n1, "n2": n2}


@pytest.mark.parametrize(
    ("plugin", "pod"),
    [
        pytest.param(balanced(), make_pod(), id="no requests"),
        pytest.param(balanced(), make_pod(cpu=0, memory=0), id="explicit zeros"),
        pytest.param(balanced(), make_pod(requests={GPU: 1}), id="requests for other resources"),
        pytest.param(balanced("storage"), make_pod(cpu=1), id="resources that nobody accounts for"),
    ],
)
def test_best_effort_pods_are_skipped(plugin: NodeResourcesBalancedAllocation, pod: Pod) -> None:
    assert score_all(plugin, X, pod) is SKIP
    cycle = X.cycle(pod)
    assert plugin.score_nodes(cycle, pod, X.nodes) == plugin.score(cycle, pod, X.nodes[0]) == 0


def test_requests_of_the_whole_pod_count() -> None:
    pod = make_pod(spec={"resources": {"requests": {"cpu": "2"}}})
    assert score_all(balanced(), X, pod) == {"n1": 62, "n2": 50}


def test_containers_without_requests_count_as_nothing() -> None:
    cluster = like({"cpu": 1, "memory": "1Gi"}, taken("n1"))
    assert score_all(balanced(), cluster, make_pod(cpu="500m")) == {"n1": 62, "n2": 62}


def test_scores_need_no_pre_score() -> None:
    pod = make_pod(cpu=2)
    cycle = X.cycle(pod)
    assert {node.name: balanced().score(cycle, pod, node) for node in X.nodes} == score_all(balanced(), X, pod)


def test_what_the_answer_depends_on() -> None:
    plugin = NodeResourcesBalancedAllocation
    assert (plugin.depends_on, plugin.same_for_shape) == (NODE, True)


CPU_AND_MEMORY = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


@pytest.mark.parametrize(
    ("given", "resources"),
    [
        pytest.param({}, CPU_AND_MEMORY, id="nothing"),
        pytest.param({"resources": []}, CPU_AND_MEMORY, id="no resources"),
        pytest.param({"resources": [{"name": "cpu", "weight": 0}]}, [{"name": "cpu", "weight": 1}], id="no weight"),
    ],
)
def test_defaults(given: dict[str, Any], resources: list[dict[str, Any]]) -> None:
    read = NodeResourcesBalancedAllocation.read_arguments(given, AT)
    assert (read.value, read.faults) == ({"resources": resources}, ())


def test_faults() -> None:
    given = {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]}
    faults = NodeResourcesBalancedAllocation.read_arguments(given, AT).faults
    prefix = "profiles[0].pluginConfig[1].args.resources"
    assert {fault.stage for fault in faults} == {Stage.VALIDATION}
    assert [fault.text for fault in faults] == [
        f"{prefix}[0].weight: Invalid value: 2: must be 1",
        f'{prefix}[1].name: Duplicate value: "cpu"',
    ]


def test_constructed_without_arguments() -> None:
    (fault,) = NodeResourcesBalancedAllocation.read_arguments(None, AT).faults
    wanted = "want args to be of type NodeResourcesBalancedAllocationArgs, got <nil>"
    assert (fault.stage, fault.text) == (Stage.PROFILES, wanted)
