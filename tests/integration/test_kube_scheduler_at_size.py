"""The real kube-scheduler on a thousand fake nodes, watched by the auditor: what all else is compared with."""

import time

from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from pilotage.testing import node_manifest, pod_manifest

NODES = 1000
PODS = 1000


def test_kube_scheduler_binds_a_thousand_pods_on_a_thousand_nodes(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, audit: Audit
) -> None:
    names = fake_nodes(*(node_manifest(f"size-{number}", pods=2) for number in range(NODES)))
    assert len(names) == NODES
    serves = {"system:kube-scheduler": ["default-scheduler"]}
    # The stock scheduler allows itself 50 requests a second; here its speed is not what is looked at.
    unlimited = ("--kube-api-qps=5000", "--kube-api-burst=5000")
    with audit(serves=serves) as running, control_plane.kube_scheduler(*unlimited):
        control_plane.create([pod_manifest(f"pod-{number}", namespace=namespace, cpu="1") for number in range(PODS)])
        deadline = time.monotonic() + 300
        while (bound := count_bound(control_plane, namespace)) < PODS:
            assert time.monotonic() < deadline, f"{bound} of {PODS} pods are bound"
            time.sleep(1)
    assert running.report["violations"] == []
    assert running.report["seen"]["bindings"] >= PODS


def count_bound(control_plane: ControlPlane, namespace: str) -> int:
    selector = "--field-selector=spec.nodeName!="
    return len(control_plane.kubectl("get", "pods", "-n", namespace, selector, "-o", "name").splitlines())
