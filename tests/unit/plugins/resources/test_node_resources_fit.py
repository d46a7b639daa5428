from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.plugin import NODE
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.testing import FakeCluster, filter_all, make_node, make_pod

GPU = "example.com/gpu"
FULL = Rejection("Too many pods")


def insufficient(*resources: str, hopeless: bool = False) -> Rejection:
    return Rejection(*(f"Insufficient {resource}" for resource in resources), preemption_helps=not hopeless)


def cluster_x() -> FakeCluster:
    return FakeCluster(
        nodes=[
            make_node("n1", cpu=4, memory="8Gi", pods=3, allocatable={GPU: 2}),
            make_node("n2", cpu=2, memory="4Gi", pods=110),
        ],
        pods=[make_pod("e", cpu="1500m", memory="2Gi", requests={GPU: 1}, node="n1")],
    )


INIT = [
    {"name": "i1", "resources": {"requests": {"cpu": "2"}}},
    {"name": "s", "resources": {"requests": {"cpu": "500m"}}, "restartPolicy": "Always"},
    {"name": "i2", "resources": {"requests": {"cpu": "1800m"}}},
]


@pytest.mark.parametrize(
    ("pod", "n1", "n2"),
    [
        pytest.param(make_pod(cpu="2501m"), insufficient("cpu"), insufficient("cpu", hopeless=True),
                     id="one thousandth too much"),
        pytest.param(make_pod(cpu="2500m"), None, insufficient("cpu", hopeless=True), id="exactly what is left"),
        pytest.param(make_pod(requests={GPU: 2}), insufficient(GPU), insufficient(GPU, hopeless=True),
                     id="an extended resource that another pod has, or that the node lacks"),
        pytest.param(make_pod(cpu=5, requests={GPU: 3}), insufficient("cpu", GPU, hopeless=True),
                     insufficient("cpu", GPU, hopeless=True), id="every reason is told"),
        pytest.param(make_pod(cpu=3, requests={GPU: 3}), insufficient("cpu", GPU, hopeless=True),
                     insufficient("cpu", GPU, hopeless=True), id="one hopeless reason is enough"),
        pytest.param(make_pod(cpu=1, spec={"initContainers": INIT}), None, insufficient("cpu", hopeless=True),
                     id="sidecars and init containers"),
        pytest.param(make_pod(cpu=1, init=[{"cpu": 2}, {"cpu": 2}]), None, None,
                     id="init containers run one by one and do not add up"),
        pytest.param(make_pod(), None, None, id="nothing asked: a place is enough"),
        pytest.param(make_pod(requests={GPU: 0}), None, None, id="an explicit zero is nothing"),
        pytest.param(make_pod(requests={"hugepages-2Mi": "2Mi"}), insufficient("hugepages-2Mi", hopeless=True),
                     insufficient("hugepages-2Mi", hopeless=True), id="huge pages"),
        pytest.param(make_pod(spec={"resources": {"requests": {"hugepages-2Mi": "2Mi"}}}),
                     insufficient("hugepages-2Mi", hopeless=True), insufficient("hugepages-2Mi", hopeless=True),
                     id="huge pages of the whole pod"),
        pytest.param(make_pod(requests={"kubernetes.io/x": 1}), insufficient("kubernetes.io/x", hopeless=True),
                     insufficient("kubernetes.io/x", hopeless=True), id="a resource of Kubernetes that nobody has"),
        pytest.param(make_pod(requests={"ephemeral-storage": 1}), insufficient("ephemeral-storage", hopeless=True),
                     insufficient("ephemeral-storage", hopeless=True), id="storage on nodes that tell of none"),
        pytest.param(make_pod(requests={"ephemeral-storage": 0}), None, None, id="no storage"),
        pytest.param(make_pod(requests={"storage": 9}), None, None, id="a name that nobody accounts for"),
        pytest.param(make_pod(requests={GPU: 3, "ephemeral-storage": 1}, memory="9Gi", cpu=9),
                     insufficient("cpu", "memory", "ephemeral-storage", GPU, hopeless=True),
                     insufficient("cpu", "memory", "ephemeral-storage", GPU, hopeless=True),
                     id="in kube-scheduler's order"),
    ],
)  # fmt: skip
def test_filter(pod: Pod, n1: Rejection | None, n2: Rejection | None) -> None:
    assert filter_all(NodeResourcesFit(), cluster_x(), pod) == {"n1": n1, "n2": n2}


def one_node(taken: Pod | None = None, **fields: Any) -> FakeCluster:
    return FakeCluster(nodes=[make_node("n", **fields)], pods=[taken] if taken else [])


@pytest.mark.parametrize(
    ("cluster", "pod", "expected"),
    [
        pytest.param(one_node(make_pod("e", node="n"), pods=1), make_pod(), FULL, id="no place for a pod"),
        pytest.param(one_node(pods=0), make_pod(), FULL, id="a node that takes no pods"),
        pytest.param(one_node(pods=0), make_pod(cpu=9), Rejection("Too many pods", "Insufficient cpu",
                     preemption_helps=False), id="no place and no cpu"),
        pytest.param(one_node(make_pod("e", node="n", cpu=4), pods=1), make_pod(cpu=1),
                     Rejection("Too many pods", "Insufficient cpu"), id="both of which eviction would change"),
        pytest.param(one_node(make_pod("e", cpu="5m", memory=5, node="n"), cpu="10m", memory=20),
                     make_pod(cpu="1m", memory=1, overhead={"cpu": "1m", "memory": "15"}), insufficient("memory"),
                     id="overhead"),
        pytest.param(one_node(make_pod("e", cpu="5m", node="n"), cpu="10m"),
                     make_pod(spec={"resources": {"requests": {"cpu": "7m"}}}), insufficient("cpu"),
                     id="requests of the whole pod"),
        pytest.param(one_node(make_pod("e", requests={GPU: 5}, node="n"), allocatable={GPU: 2}),
                     make_pod(requests={GPU: 0}), None, id="nothing of what is over-committed"),
        pytest.param(one_node(make_pod("e", cpu=9, node="n"), cpu=4), make_pod(memory=1), None,
                     id="another resource than the over-committed one"),
        pytest.param(one_node(make_pod("e", cpu=9, node="n"), cpu=4), make_pod(cpu="1m"), insufficient("cpu"),
                     id="the over-committed resource itself"),
        pytest.param(one_node(make_pod("e", requests={"ephemeral-storage": 10}, node="n"),
                              allocatable={"ephemeral-storage": 20}),
                     make_pod(requests={"ephemeral-storage": 11}), insufficient("ephemeral-storage"), id="storage"),
    ],
)  # fmt: skip
def test_filter_on_one_node(cluster: FakeCluster, pod: Pod, expected: Rejection | None) -> None:
    assert filter_all(NodeResourcesFit(), cluster, pod) == {"n": expected}


@pytest.mark.parametrize(
    ("arguments", "wanted", "expected"),
    [
        pytest.param({"ignoredResourceGroups": ["example.com"]}, {"example.com/bbb": 1, "kubernetes.io/something": 1},
                     insufficient("kubernetes.io/something", hopeless=True), id="a whole group"),
        pytest.param({"ignoredResources": ["example.com/bbb"]}, {"example.com/bbb": 1}, None, id="one resource"),
        pytest.param({"ignoredResources": ["example.com/aaa"]}, {"example.com/bbb": 1},
                     insufficient("example.com/bbb", hopeless=True), id="another resource"),
        pytest.param({"ignoredResources": ["cpu", "hugepages-2Mi", "kubernetes.io/x"]},
                     {"cpu": 9, "hugepages-2Mi": 1, "kubernetes.io/x": 1},
                     insufficient("cpu", "hugepages-2Mi", "kubernetes.io/x", hopeless=True),
                     id="only extended resources can be ignored"),
        pytest.param({"ignoredResourceGroups": ["kubernetes.io"]}, {"kubernetes.io/x": 1},
                     insufficient("kubernetes.io/x", hopeless=True), id="and not those of Kubernetes"),
    ],
)  # fmt: skip
def test_ignored_resources(arguments: dict[str, Any], wanted: dict[str, int], expected: Rejection | None) -> None:
    pod = make_pod(requests=wanted)
    # The same shape, asked first by a profile that ignores nothing.
    filter_all(NodeResourcesFit(), one_node(), pod)
    assert filter_all(NodeResourcesFit.of(arguments), one_node(), pod) == {"n": expected}


def test_a_pod_that_is_shrinking_holds_what_it_had() -> None:
    used = {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}
    cluster = one_node(make_pod("e", cpu=1, status=used, node="n"))
    assert filter_all(NodeResourcesFit(), cluster, make_pod(cpu=2)) == {"n": insufficient("cpu")}


def test_what_the_answer_depends_on() -> None:
    assert (NodeResourcesFit.depends_on, NodeResourcesFit.same_for_shape) == (NODE, True)


def after(resource: Resource, action: Action, pod: Pod, old: Pod | Node | None, new: Pod | Node | None) -> bool:
    """Tell whether the plugin, if it rejected the pod, lets it try again after this event."""
    plugin, event = NodeResourcesFit.of({"ignoredResources": [GPU]}), Event(resource, action)
    found = [retry for retry in plugin.retry_on if retry.matches(event)]
    return any(retry.hint is None or getattr(plugin, retry.hint)(pod, event, old, new) for retry in found)


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(make_pod(node="n"), True, id="a placed pod, whatever it asked for"),
        pytest.param(make_pod(status={"nominatedNodeName": "n"}), True, id="a pod with the nomination of a node"),
        pytest.param(make_pod(cpu=9), False, id="a pod that had nothing"),
    ],
)
def test_retry_after_a_pod_is_deleted(deleted: Pod, expected: bool) -> None:
    assert after(Resource.ASSIGNED_POD, Action.DELETE, make_pod(cpu=1), deleted, None) is expected


@pytest.mark.parametrize(
    ("pod", "new", "expected"),
    [
        pytest.param(make_pod(cpu=4), make_node(cpu=4), True, id="large enough"),
        pytest.param(make_pod(cpu="4001m"), make_node(cpu=4), False, id="too small"),
        pytest.param(make_pod(), make_node(pods=0), False, id="no place"),
        pytest.param(make_pod(requests={GPU: 1}), make_node(), False,
                     id="what filtering ignores counts here, as in kube-scheduler"),
    ],
)  # fmt: skip
def test_retry_after_a_node_is_added(pod: Pod, new: Node, expected: bool) -> None:
    assert after(Resource.NODE, Action.ADD, pod, None, new) is expected


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        pytest.param(make_pod(cpu=1), make_node(cpu=2), make_node(cpu=4), True, id="more of what the pod wants"),
        pytest.param(make_pod(cpu=1), make_node(cpu=4), make_node(cpu=2), False, id="less of it"),
        pytest.param(make_pod(cpu=1), make_node(memory=1), make_node(memory=9), False, id="more of something else"),
        pytest.param(make_pod(cpu=8), make_node(cpu=2), make_node(cpu=4), False, id="more, but not enough"),
        pytest.param(make_pod(cpu=1), make_node(pods=1), make_node(pods=2), True, id="more places"),
        pytest.param(make_pod(), make_node(cpu=1), make_node(cpu=9), False, id="a pod that wants nothing but a place"),
        pytest.param(make_pod(requests={GPU: 1}), make_node(), make_node(allocatable={GPU: 1}), True,
                     id="an extended resource comes up"),
        pytest.param(make_pod(requests={GPU: 0}), make_node(), make_node(allocatable={GPU: 1}), False,
                     id="one that the pod wants none of"),
    ],
)  # fmt: skip
def test_retry_after_a_node_changes(pod: Pod, old: Node, new: Node, expected: bool) -> None:
    assert after(Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE, pod, old, new) is expected


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        pytest.param(make_pod(cpu=1), make_pod(cpu=2, node="n"), make_pod(cpu=1, node="n"), True, id="less cpu"),
        pytest.param(make_pod(memory=1), make_pod(cpu=2, node="n"), make_pod(cpu=1, node="n"), False,
                     id="less of what the pod does not want"),
        pytest.param(make_pod(cpu=1), make_pod(cpu=2), make_pod(cpu=1), False, id="a pod without a node"),
        pytest.param(make_pod(cpu=1), make_pod(cpu=1, node="n"), make_pod(cpu=2, node="n"), False, id="more cpu"),
        pytest.param(
            make_pod(cpu=1), make_pod(cpu=2, node="n"),
            make_pod(cpu=1, node="n", status={"containerStatuses": [{"name": "main",
                                                                     "allocatedResources": {"cpu": "2"}}]}),
            False, id="less is asked, but not yet given back"),
    ],
)  # fmt: skip
def test_retry_after_a_pod_is_scaled_down(pod: Pod, old: Pod, new: Pod, expected: bool) -> None:
    assert after(Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN, pod, old, new) is expected


@pytest.mark.parametrize(
    ("resource", "action", "expected"),
    [
        pytest.param(Resource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN, True, id="the pod itself asks for less"),
        pytest.param(Resource.TARGET_POD, Action.UPDATE_POD_SCALE_UP, False, id="the pod itself asks for more"),
        pytest.param(Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_UP, False, id="another pod takes more"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_LABEL, False, id="a label of a node"),
        pytest.param(Resource.ASSIGNED_POD, Action.ADD, False, id="another pod is placed"),
    ],
)
def test_other_events(resource: Resource, action: Action, expected: bool) -> None:
    assert after(resource, action, make_pod(cpu=1), make_pod(cpu=2), make_pod(cpu=1)) is expected
