from typing import Any

import pytest

from auditor.node import taints_of
from auditor.placement import allows, endures, placement_of


def requires(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


NODES = {"n1": {"zone": "a", "gen": "07"}, "n2": {"zone": "b", "gen": "1_0"}, "n3": {}}


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        pytest.param({}, "n1 n2 n3", id="no rule allows all"),
        pytest.param({"nodeSelector": {}}, "n1 n2 n3", id="an empty selector allows all"),
        pytest.param({"nodeSelector": {"zone": "a"}}, "n1", id="a selector is exact"),
        pytest.param({"nodeSelector": {"zone": "a", "gen": "8"}}, "", id="all of a selector must match"),
        pytest.param(requires(label("zone", "In", "a", "c")), "n1", id="In wants one of the values"),
        pytest.param(requires(label("zone", "NotIn", "a")), "n2 n3", id="NotIn allows nodes without the label"),
        pytest.param(requires(label("zone", "Exists")), "n1 n2", id="Exists wants the label"),
        pytest.param(requires(label("zone", "DoesNotExist")), "n3", id="DoesNotExist wants none"),
        pytest.param(requires(label("gen", "Gt", "6")), "n1", id="Gt compares numbers as Go reads them"),
        pytest.param(requires(label("gen", "Lt", "8")), "n1", id="Lt compares numbers as Go reads them"),
        pytest.param(requires(label("gen", "Gt", "7")), "", id="Gt is strict"),
        pytest.param(requires(label("gen", "Gt", "x")), "", id="Gt with no number never holds"),
        pytest.param(requires(label("gen", "Near", "7")), "", id="an unknown operator never holds"),
        pytest.param(requires(label("zone", "NotIn")), "", id="NotIn of nothing cannot be parsed and never holds"),
        pytest.param(requires(named("In", "n2")), "n2", id="a node by name"),
        pytest.param(requires(named("NotIn", "n2")), "n1 n3", id="all nodes but one"),
        pytest.param(requires(named("In", "n1", "n2")), "", id="two names in one field never hold"),
        pytest.param(requires(named("In", "n1"), named("In", "n3")), "n1 n3", id="one of the terms is enough"),
        pytest.param(requires(label("zone", "In", "a") | named("In", "n2")), "", id="all of a term must hold"),
        pytest.param(requires(), "", id="no term allows none"),
        pytest.param(requires({}), "", id="an empty term allows none"),
    ],
)
def test_allows(spec: dict[str, Any], allowed: str) -> None:
    placement = placement_of(spec)
    assert [name for name, labels in NODES.items() if allows(placement, name, labels)] == allowed.split()


TAINT = {"taints": [{"key": "dedicated", "value": "user1", "effect": "NoSchedule"}]}
CORDON = {"unschedulable": True}


@pytest.mark.parametrize(
    ("node", "toleration", "endured"),
    [
        pytest.param(TAINT, {}, False, id="an empty toleration compares values"),
        pytest.param(TAINT, {"key": "dedicated", "value": "user1", "effect": "NoSchedule"}, True, id="an equal one"),
        pytest.param(TAINT, {"key": "dedicated", "operator": "Equal", "value": "user2"}, False, id="another value"),
        pytest.param(TAINT, {"key": "other", "operator": "Exists"}, False, id="another key"),
        pytest.param(TAINT, {"operator": "Exists"}, True, id="a toleration of everything"),
        pytest.param(
            TAINT, {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, False, id="other effect"
        ),
        pytest.param(TAINT, {"key": "dedicated", "operator": "Gt", "value": "1"}, False, id="comparison is not served"),
        pytest.param({"taints": [{"key": "x", "effect": "NoExecute"}]}, {}, True, id="an empty one endures no value"),
        pytest.param({"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}, None, True, id="a wish is no obstacle"),
        pytest.param(CORDON, None, False, id="a cordoned node keeps pods away"),
        pytest.param(CORDON, {"operator": "Exists"}, True, id="a cordon can be tolerated"),
        pytest.param(
            CORDON, {"key": "node.kubernetes.io/unschedulable", "value": "true"}, False, id="a cordon has no value"
        ),
        pytest.param(
            CORDON,
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"},
            False,
            id="a cordon's effect is NoSchedule",
        ),
    ],
)
def test_endures(node: dict[str, Any], toleration: dict[str, Any] | None, endured: bool) -> None:
    tolerations = placement_of({"tolerations": [] if toleration is None else [toleration]}).tolerations
    assert all(endures(tolerations, taint) for taint in taints_of(node)) is endured
