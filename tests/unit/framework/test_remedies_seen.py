"""What somebody sees of a remedy who may not see all of the cluster: no foreign name."""

from dataclasses import replace

import pytest

from pilotage.framework.api.remedies import (
    Change,
    Difference,
    NodeName,
    PodNames,
    Remedy,
    Target,
    as_json,
)
from pilotage.testing import make_node, make_pod

MOVE = Remedy(
    code="freePods",
    actor="admin",
    words="move {count} pods off {node} ({pods})",
    values={"node": NodeName("n7"), "pods": PodNames(("shop/a", "bank/b", "bank/c")), "count": 3},
    difference=Difference(leaving=(make_pod("b", namespace="bank"),)),
    nodes=1,
    example="n7",
)
LABEL = Remedy(
    code="labelNode",
    actor="admin",
    words="label {node} with {labels}",
    values={"node": NodeName("n7"), "labels": ("disk=ssd",)},
    changes=(Change("metadata.labels.disk", None, "ssd"),),
    target=Target("Node", "n7", patch_type="merge"),
    patch={"metadata": {"labels": {"disk": "ssd"}}},
    difference=Difference(nodes=(make_node("n7"),)),
    nodes=1,
    example="n7",
)
REQUEST = Remedy(
    code="reduceRequest",
    actor="owner",
    words="ask for {resource} {to} instead of {from}",
    values={"resource": "cpu", "to": "3", "from": "3.5"},
    target=Target("Deployment", "web", "shop"),
    patch={"spec": {}},
    nodes=2,
    example="n7",
)
HOST = Remedy(
    code="otherLabel",
    actor="owner",
    words="ask for {key}={to} instead of {from}",
    values={"key": "kubernetes.io/hostname", "to": NodeName("n7"), "from": "n77"},
    changes=(Change("spec.nodeSelector.kubernetes.io/hostname", "n77", "n7"),),
    target=Target("Pod", "web", "shop"),
    patch={"spec": {"nodeSelector": {"kubernetes.io/hostname": "n7"}}},
    nodes=1,
    example="n7",
)
QUOTED = Remedy(
    code="satisfyPlugin",
    actor="admin",
    words="resolve what {plugin} reports: {reason}",
    values={"plugin": "Rack", "reason": "rack of n7 is full"},
    nodes=1,
    example="n7",
)
QUOTA = replace(REQUEST, target=Target("ElasticQuota", "quota", "bank"))
BOTH = replace(
    REQUEST, code="both", words="", values={}, target=None, patch=None, steps=(LABEL, REQUEST), changes=LABEL.changes
)
CASES = [MOVE, LABEL, REQUEST, HOST, QUOTED, QUOTA, BOTH]


def test_who_sees_all_sees_the_same() -> None:
    for remedy in CASES:
        seen = remedy.seen_by(True, lambda _: True)
        assert seen is not None
        assert as_json(seen) == as_json(remedy)


@pytest.mark.parametrize(
    ("remedy", "text"),
    [
        (MOVE, "move 3 pods off a node (shop/a, 2 pods of other namespaces): fits on 1 node"),
        (LABEL, "label a node with disk=ssd: fits on 1 node"),
        (REQUEST, "ask for cpu 3 instead of 3.5: fits on 2 nodes"),
        (HOST, "ask for kubernetes.io/hostname=a node instead of n77: fits on 1 node"),
        (QUOTED, "resolve what Rack reports: rack of ...: fits on 1 node"),
        (QUOTA, None),
        (BOTH, "label a node with disk=ssd, and ask for cpu 3 instead of 3.5: fits on 2 nodes"),
    ],
    ids=["pods to move", "a node to label", "a request", "another hostname", "a plugin's words", "a quota", "a pair"],
)
def test_who_sees_one_namespace_alone(remedy: Remedy, text: str | None) -> None:
    seen = remedy.seen_by(False, lambda namespace: namespace == "shop")
    assert (seen and seen.text) == text
    if seen is not None:
        told = str(as_json(seen)).replace("n77", "")
        assert "n7" not in told
        assert "bank" not in told
        assert seen.difference == Difference()


def test_names_with_markup_are_data() -> None:
    name = "<b>{values}</b>"
    remedy = replace(MOVE, values={**MOVE.values, "pods": PodNames((f"shop/{name}",))}, words="move {pods} off {node}")
    assert remedy.text == f"move shop/{name} off n7"
