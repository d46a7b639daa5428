"""Where objects are, and how the scheduler says what it has seen of them."""

import pytest

from oracle.kinds import KINDS, ORDER
from oracle.sentinels import SEEN


@pytest.mark.parametrize(
    ("kind", "namespace", "path"),
    [
        pytest.param("Node", None, "/api/v1/nodes", id="a kind of the core without namespaces"),
        pytest.param("Pod", "blue", "/api/v1/namespaces/blue/pods", id="a kind of the core in namespaces"),
        pytest.param("CSINode", None, "/apis/storage.k8s.io/v1/csinodes", id="a kind of a group without namespaces"),
        pytest.param(
            "ReplicaSet", "blue", "/apis/apps/v1/namespaces/blue/replicasets", id="a kind of a group in namespaces"
        ),
    ],
)
def test_a_collection_has_a_path(kind: str, namespace: str | None, path: str) -> None:
    assert KINDS[kind].collection(namespace) == path


def test_pods_come_last_and_nodes_before_them() -> None:
    assert sorted(ORDER, key=lambda kind: ORDER[kind])[-2:] == ["Node", "Pod"]


def test_the_scheduler_tells_how_far_it_has_read() -> None:
    line = (
        'informer_store_resource_version{group="storage.k8s.io",name="kube-scheduler",'
        'resource="csinodes",version="v1"} 1.234e+03'
    )
    assert SEEN.findall(line) == [("storage.k8s.io", "csinodes", "1.234e+03")]
