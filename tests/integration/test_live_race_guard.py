"""A node whose kubelet rejects pods, on a real API server; the test writes what a kubelet would.

The watch of unfinished pods says of a rejected one only that it is gone, so that nothing here can work by it alone.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from kit.stage import Stage, stage
from pilotage.testing import node_manifest

NODE = "racing-a"
LEFT_ALONE = "1 node(s) rejected pods recently and are avoided for a while"
FULL = "1 Insufficient cpu"


@pytest.fixture
def on(control_plane: ControlPlane, fake_nodes: Nodes) -> Iterator[Stage]:
    """A stage with one node of two CPUs that nobody plays but the test."""
    fake_nodes(node_manifest(NODE, cpu="2"))
    with stage(control_plane, f"test-{uuid.uuid4().hex[:10]}") as playing:
        playing.admin.patch(f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {"type": None}}})
        yield playing


def reject(on: Stage, name: str, used: int) -> None:
    """Write the status that a kubelet writes of a pod that it does not take."""
    on.until(lambda: on.node_of(name), f"{name} has a node")
    text = f"Node didn't have enough resource: cpu, requested: 500, used: {used}, capacity: 2000"
    status = {"phase": "Failed", "reason": "OutOfcpu", "message": f"Pod was rejected: {text}", "qosClass": "Burstable"}
    on.admin.patch(f"/api/v1/namespaces/{on.namespace}/pods/{name}/status", {"status": status})


def why(on: Stage, name: str) -> str:
    conditions: list[Any] = on.pod(name)["status"].get("conditions", [])
    return next((str(each.get("message", "")) for each in conditions if each["type"] == "PodScheduled"), "")


def test_a_rejection_is_seen_believed_and_told(control_plane: ControlPlane, on: Stage, audit: Audit) -> None:
    with audit(), control_plane.pilotage():
        on.create("first", cpu="500m")
        reject(on, "first", used=1900)
        on.until_told("first", "RejectedByKubelet")
        [note] = on.notes("first", "RejectedByKubelet")
        amounts = "500m requested, 100m free by its kubelet, 2 by our cache"
        assert note == f"node {NODE} rejected the pod (OutOfcpu: {amounts})"
        on.create("small", cpu="50m")
        on.create("large", cpu="1500m")
        # Nothing happens on the cluster any more: whoever waits is woken by the end of what was believed.
        on.until(lambda: LEFT_ALONE in why(on, "large"), "the node is left alone")
        on.until(lambda: FULL in why(on, "large"), "the kubelet's numbers count")
        on.until(lambda: on.node_of("small"), "a pod that fits beside them is placed")
        assert on.node_of("large") is None
        on.until_bound("large")
        assert on.times_told("first", "RejectedByKubelet") == 1


@pytest.mark.full
def test_binds_of_others_are_seen(control_plane: ControlPlane, on: Stage) -> None:
    with control_plane.pilotage():
        on.create("warm-up", cpu="100m")
        on.until_bound("warm-up")
        on.create("theirs", cpu="1500m", scheduler="another")
        binding = {"metadata": {"name": "theirs"}, "target": {"kind": "Node", "name": NODE}}
        on.admin.post(f"/api/v1/namespaces/{on.namespace}/pods/theirs/binding", binding)
        on.create("ours", cpu="500m")
        on.until_refused("ours")
        on.delete("theirs", gracePeriodSeconds=0)
        on.until_bound("ours")
