"""The shapes of pods that are there: which pods are of one shape, and that one more of them is asked about rightly."""

from typing import Any

import pytest

from kit.what_if_ground import ask
from pilotage.model.gangs import GROUP_LABEL
from pilotage.offline.what_if.seen_shapes import SeenShape, seen_shapes
from pilotage.testing import make_node, make_pod, pod_manifest

FAR = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}]}
CONTAINER = {"name": "main", "image": "web:2", "env": [{"name": "PASSWORD", "value": "secret"}]}


def pod(name: str, *, owner: str = "", created: str = "", phase: str = "", **fields: Any) -> dict[str, Any]:
    made = pod_manifest(name, **fields)
    made["metadata"]["uid"] = name
    if owner:
        made["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "o", "controller": True}
        ]
    made["metadata"] |= {"creationTimestamp": created} if created else {}
    return {**made, "status": {"phase": phase}} if phase else made


def counts(*manifests: dict[str, Any], most: int = 10) -> dict[str, tuple[int, int]]:
    """Return by its example how many pods a shape has, and how many of them wait."""
    return {each.example: (each.pods, each.waiting) for each in seen_shapes(manifests, most)}


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        pytest.param({"cpu": "1"}, {"cpu": "1"}, True, id="the same requests"),
        pytest.param({"cpu": "1"}, {"cpu": "1000m"}, False, id="the same amount in other words"),
        pytest.param({"cpu": "1"}, {"cpu": "2"}, False, id="another amount"),
        pytest.param(
            {"cpu": "1"}, {"cpu": "1", "namespace": "shop"}, False, id="another namespace, whose quota differs"
        ),
        pytest.param({"cpu": "1"}, {"cpu": "1", "scheduler": "batch"}, False, id="another scheduler"),
        pytest.param({"cpu": "1"}, {"cpu": "1", "spec": {"priority": 5}}, False, id="another priority"),
        pytest.param({"cpu": "1"}, {"cpu": "1", "node_selector": {"disk": "nvme"}}, False, id="other nodes"),
        pytest.param({"cpu": "1"}, {"cpu": "1", "labels": {"app": "web"}}, True, id="labels that decide nothing"),
        pytest.param(
            {"affinity": FAR, "labels": {"app": "a"}},
            {"affinity": FAR, "labels": {"app": "b"}},
            False,
            id="labels of pods that stay away from pods",
        ),
        pytest.param({"cpu": "1"}, {"cpu": "1", "spec": CLAIM}, True, id="a claim of its own"),
        pytest.param({"cpu": "1"}, {"cpu": "1", "gates": ["hold"]}, True, id="a scheduling gate"),
        pytest.param({"cpu": "1"}, {"cpu": "1", "image": "other"}, True, id="another image"),
        pytest.param({"cpu": "1"}, {"cpu": "1", "node": "n1"}, True, id="one of them has a node"),
        pytest.param({"cpu": "1"}, {"cpu": "1", "labels": {GROUP_LABEL: "train"}}, True, id="one of them is in a gang"),
    ],
)
def test_pods_are_of_one_shape_if_they_ask_for_the_same(
    one: dict[str, Any], other: dict[str, Any], together: bool
) -> None:
    assert len(seen_shapes([pod("a", **one), pod("b", **other)], 10)) == (1 if together else 2)


def test_the_most_frequent_come_first_and_of_two_the_newest() -> None:
    found = counts(
        pod("old", cpu="1", created="2026-01-01T00:00:00Z"),
        pod("new", cpu="2", created="2026-02-01T00:00:00Z"),
        pod("web-1", cpu="3", node="n1"),
        pod("web-2", cpu="3"),
        pod("web-3", cpu="3", phase="Succeeded"),
        pod("older", cpu="4", created="2025-01-01T00:00:00Z"),
        most=3,
    )
    assert list(found.items()) == [("default/web-1", (3, 1)), ("default/new", (1, 1)), ("default/old", (1, 1))]


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod("logs", owner="DaemonSet", cpu="1"), id="of a DaemonSet: there is one on each node"),
        pytest.param(pod("etcd", owner="Node", cpu="1"), id="of a kubelet"),
        pytest.param(pod("odd", cpu="much"), id="one that no scheduler can read"),
    ],
)
def test_pods_that_have_no_shape(manifest: dict[str, Any]) -> None:
    assert counts(manifest) == {}


def shape_of(**fields: Any) -> SeenShape:
    [found] = seen_shapes([pod("web", **fields)], 1)
    return found


def test_one_more_has_nothing_of_the_pod_but_what_decides_where_it_fits() -> None:
    shape = shape_of(
        node="n1",
        gates=["hold"],
        labels={"app": "web", GROUP_LABEL: "train"},
        spec={**CLAIM, "containers": [CONTAINER]},
    )
    metadata, spec = shape.manifest["metadata"], shape.manifest["spec"]
    assert (metadata["labels"], metadata["uid"]) == ({"app": "web"}, "")
    assert (spec["nodeName"], spec["schedulingGates"], spec["volumes"]) == ("", [], [])
    assert "secret" not in str(shape.manifest)
    assert "web:2" not in str(shape.manifest)


def test_what_limits_where_it_may_go_is_told() -> None:
    toleration = {"key": "gpu", "operator": "Exists"}
    shape = shape_of(node_selector={"disk": "nvme"}, tolerations=[toleration], host_ports=[80], affinity=FAR)
    assert shape.constraints == ["disk=nvme", "pod affinity", "tolerations", "host ports"]
    assert shape_of(cpu="1").constraints == []


def test_its_manifest_is_one_that_can_be_asked_about() -> None:
    shape = shape_of(cpu="1", node="n1", spec=CLAIM, node_selector={"disk": "nvme"}, affinity=FAR)
    nodes = [make_node(f"n{number}", cpu="4", labels={"disk": "nvme", "zone": f"z{number}"}) for number in (1, 2)]
    answer = ask([*nodes, make_pod("web", node="n1")], {"add": {"manifests": [shape.manifest]}}, ask=["fill"])
    assert answer.fill is not None
    assert answer.fill.copies == 8
