"""Pods on other nodes that keep a pod away from a node."""

from typing import Any

import pytest

from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.preemption.cross_node_preemption.far_pods import FarPods
from pilotage.testing import FakeCluster, Manifest, make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"app": "web"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def away(key: str = ZONE, **term: Any) -> Manifest:
    full = {"topologyKey": key, "labelSelector": {"matchLabels": WEB}} | term
    return {"affinity": {"podAntiAffinity": {REQUIRED: [full]}}}


def near() -> Manifest:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": WEB}}
    return {"affinity": {"podAffinity": {REQUIRED: [term]}}}


def spread(action: str = "DoNotSchedule", **selector: Any) -> Manifest:
    wish = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": action}
    return {"topologySpreadConstraints": [wish | {"labelSelector": selector or {"matchLabels": WEB}}]}


NODES = [
    make_node("n1", labels={ZONE: "a"}),
    make_node("n2", labels={ZONE: "a"}),
    make_node("n3", labels={ZONE: "b"}),
    make_node("n4"),
]
PODS = [
    make_pod("here", node="n1", labels=WEB),
    make_pod("there", node="n2", labels=WEB),
    make_pod("other", node="n2"),
    make_pod("foreign", node="n2", labels=WEB, namespace="else"),
    make_pod("shy", node="n2", spec=away()),
    make_pod("afar", node="n3", labels=WEB),
    make_pod("nowhere", node="n4", labels=WEB),
]


def found(pod: Pod, node: str = "n1") -> set[str]:
    cluster = FakeCluster(NODES, PODS, [Namespace(Metadata(name)) for name in ("default", "else")])
    info = cluster.nodes.find(node)
    assert info is not None
    return {other.name for other in FarPods(cluster.cycle(pod), pod).about(info)}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod(), set(), id="nothing ties a pod without constraints to others"),
        pytest.param(make_pod(spec=away()), {"there"}, id="those that it shuns in the same zone"),
        pytest.param(make_pod(spec=away(HOST)), set(), id="which are none elsewhere, if the zone is the node"),
        pytest.param(
            make_pod(spec=away(namespaceSelector={})), {"there", "foreign"}, id="in all namespaces that it names"
        ),
        pytest.param(make_pod(spec=spread()), {"there"}, id="those that count against it"),
        pytest.param(make_pod(spec=spread("ScheduleAnyway")), set(), id="not if that is only a wish"),
        pytest.param(make_pod(labels=WEB), {"shy"}, id="those that shun it"),
        pytest.param(make_pod(labels=WEB, spec=away()), {"there", "shy"}, id="each once, whatever the ties"),
        pytest.param(make_pod(spec=near()), set(), id="those that it wants are not in the way"),
        pytest.param(
            make_pod(spec=spread(matchExpressions=[{"key": "a", "operator": "Nonsense"}])),
            set(),
            id="none, for a pod whose constraints cannot be read",
        ),
        pytest.param(
            make_pod(spec=away(labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]})),
            set(),
            id="none, for a pod whose terms cannot be read",
        ),
    ],
)
def test_who_keeps_a_pod_away(pod: Pod, expected: set[str]) -> None:
    assert found(pod) == expected


def test_a_node_in_no_domain_is_tied_to_nobody() -> None:
    assert found(make_pod(spec=away()), "n4") == set()
