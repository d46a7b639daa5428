from typing import Any

import pytest

from pilotage.framework.api.events import Event, Resource
from pilotage.framework.runtime.changes import node_events, pod_events
from pilotage.model.node import Node
from pilotage.testing import make_node, make_pod
from pilotage.testing.manifests import node_manifest
from pilotage.testing.objects import decode_node

READY = {"type": "Ready", "status": "True"}


def names(events: list[Event]) -> list[str]:
    return [event.name for event in events]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({}, {}, ["Update"], id="nothing that matters: a general update"),
        pytest.param({}, {"annotations": {"a": "1"}}, ["Update"], id="an annotation: a general update"),
        pytest.param({"labels": {"a": "1"}}, {"labels": {"a": "2"}}, ["UpdatePodLabel"], id="a label"),
        pytest.param({"cpu": "2"}, {"cpu": "1"}, ["UpdatePodScaleDown"], id="asks for less"),
        pytest.param({"cpu": "1"}, {"cpu": "1500m"}, ["UpdatePodScaleUp"], id="asks for more"),
        pytest.param({"cpu": "1"}, {"cpu": "1000m"}, ["Update"], id="asks for the same in other words"),
        pytest.param({"cpu": "1"}, {}, ["UpdatePodScaleDown"], id="asks for it no more"),
        pytest.param({}, {"memory": "1Gi"}, ["UpdatePodScaleUp"], id="asks for something else too"),
        pytest.param(
            {"cpu": "2", "memory": "1Gi"},
            {"cpu": "1", "memory": "2Gi"},
            ["UpdatePodScaleDown", "UpdatePodScaleUp"],
            id="asks for less of one and more of another",
        ),
        pytest.param(
            {"gates": ["a"]}, {}, ["UpdatePodSchedulingGatesEliminated"], id="the last scheduling gate is gone"
        ),
        pytest.param({"gates": ["a", "b"]}, {"gates": ["a"]}, ["Update"], id="one of two scheduling gates is gone"),
        pytest.param({}, {"gates": ["a"]}, ["Update"], id="a scheduling gate more"),
        pytest.param(
            {}, {"tolerations": [{"key": "a", "operator": "Exists"}]}, ["UpdatePodToleration"], id="a toleration more"
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {"tolerations": [{"key": "b", "operator": "Exists"}]},
            ["Update"],
            id="as many tolerations as before",
        ),
        pytest.param(
            {},
            {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "x"}]}},
            ["UpdatePodGeneratedResourceClaim"],
            id="a claim was made for it",
        ),
        pytest.param(
            {"gates": ["a"], "cpu": "2"},
            {"labels": {"a": "1"}, "cpu": "1", "tolerations": [{"operator": "Exists"}]},
            ["UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodSchedulingGatesEliminated", "UpdatePodToleration"],
            id="several at once, in a fixed order",
        ),
    ],
)
def test_pods(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    events = pod_events(make_pod(**old), make_pod(**new), target=True)
    assert names(events) == [f"TargetPod{action}" for action in expected]


def resized(asked: str, given: str) -> dict[str, Any]:
    return {
        "cpu": asked,
        "node": "n1",
        "status": {
            "containerStatuses": [
                {
                    "name": "main",
                    "allocatedResources": {"cpu": given},
                    "resources": {"requests": {"cpu": given}},
                }
            ]
        },
    }


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(resized("2", "2"), resized("1", "2"), ["Update"], id="less is asked for, but not given back yet"),
        pytest.param(resized("1", "2"), resized("1", "1"), ["UpdatePodScaleDown"], id="now it is given back"),
        pytest.param(resized("1", "1"), resized("2", "1"), ["UpdatePodScaleUp"], id="more counts at once"),
    ],
)
def test_a_resize_counts_as_the_larger_of_before_and_after(
    old: dict[str, Any], new: dict[str, Any], expected: list[str]
) -> None:
    events = pod_events(make_pod(**old), make_pod(**new), target=False)
    assert names(events) == [f"AssignedPod{action}" for action in expected]


@pytest.mark.parametrize(
    ("node", "target", "resource"),
    [
        pytest.param(None, True, Resource.TARGET_POD, id="the waiting pod itself"),
        pytest.param(None, False, Resource.UNSCHEDULED_POD, id="another waiting pod"),
        pytest.param("n1", False, Resource.ASSIGNED_POD, id="a placed pod"),
        pytest.param("n1", True, Resource.ASSIGNED_POD, id="a pod that got its node just now"),
    ],
)
def test_whose_event_it_is(node: str | None, target: bool, resource: Resource) -> None:
    assert [event.resource for event in pod_events(make_pod(), make_pod(node=node), target=target)] == [resource]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({}, {}, [], id="nothing is no event"),
        pytest.param({}, {"images": [("nginx", 1)]}, [], id="images are no event"),
        pytest.param({}, {"unschedulable": True}, [], id="a cordon is no event"),
        pytest.param({"unschedulable": True}, {}, ["UpdateNodeTaint"], id="the end of a cordon is a change of taints"),
        pytest.param({"cpu": "4"}, {"cpu": "8"}, ["UpdateNodeAllocatable"], id="allocatable"),
        pytest.param({"cpu": "4"}, {"cpu": "4000m"}, [], id="the same amount in other words"),
        pytest.param({"pods": 10}, {"pods": 11}, ["UpdateNodeAllocatable"], id="the number of pods"),
        pytest.param({}, {"labels": {"a": "1"}}, ["UpdateNodeLabel"], id="labels"),
        pytest.param({}, {"taints": [{"key": "a", "effect": "NoSchedule"}]}, ["UpdateNodeTaint"], id="taints"),
        pytest.param({}, {"annotations": {"a": "1"}}, ["UpdateNodeAnnotation"], id="annotations"),
        pytest.param({}, {"declared_features": ["a"]}, ["UpdateNodeDeclaredFeature"], id="declared features"),
        pytest.param(
            {"unschedulable": True, "taints": [{"key": "a", "effect": "NoSchedule"}]},
            {"cpu": "8", "labels": {"a": "1"}},
            ["UpdateNodeTaint", "UpdateNodeAllocatable", "UpdateNodeLabel", "UpdateNodeTaint"],
            id="several at once, in a fixed order",
        ),
    ],
)
def test_nodes(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert names(node_events(make_node("n1", **old), make_node("n1", **new))) == [f"Node{each}" for each in expected]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param([READY], [], id="the same"),
        pytest.param([READY | {"lastHeartbeatTime": "later", "reason": "other"}], [], id="a heartbeat"),
        pytest.param([{"type": "Ready", "status": "False"}], ["NodeUpdateNodeCondition"], id="another status"),
        pytest.param([], ["NodeUpdateNodeCondition"], id="a condition less"),
    ],
)
def test_conditions_of_a_node(conditions: list[dict[str, str]], expected: list[str]) -> None:
    assert names(node_events(node_with([READY]), node_with(conditions))) == expected


def node_with(conditions: list[dict[str, str]]) -> Node:
    manifest = node_manifest("n1")
    manifest["status"]["conditions"] = conditions
    return decode_node(manifest)
