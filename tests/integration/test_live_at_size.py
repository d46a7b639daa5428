"""Our scheduler on a thousand fake nodes with thousands of pods of many shapes, watched by the auditor."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from pilotage.testing import node_manifest, pod_manifest

NODES, PODS = 1000, int(os.environ.get("PILOTAGE_SIZE_PODS", "1500"))  # 5000 where there is time
ZONES = ("north", "east", "south")
SPREAD = {
    "maxSkew": 5,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "spread"}},
}


def nodes() -> Iterator[dict[str, Any]]:
    for number in range(NODES):
        labels = {"topology.kubernetes.io/zone": ZONES[number % 3], "disk": "ssd" if number % 4 else "hdd"}
        taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if number % 10 == 0 else []
        yield node_manifest(f"live-{number}", labels=labels, taints=taints, cpu="4", memory="16Gi", pods=20)


def shape(number: int) -> dict[str, Any]:
    """Return what makes a pod different from others; every sixth has no wishes."""
    match number % 6:
        case 1:
            return {"node_selector": {"disk": "ssd"}, "cpu": "200m"}
        case 2:
            return {"labels": {"app": "spread"}, "spec": {"topologySpreadConstraints": [SPREAD]}, "memory": "100Mi"}
        case 3:
            group = {"matchLabels": {"group": f"g{number % 60}"}}
            apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": group}
            affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
            return {"labels": group["matchLabels"], "affinity": affinity}
        case 4:
            return {"tolerations": [{"key": "dedicated", "operator": "Exists"}], "cpu": "300m", "memory": "64Mi"}
        case 5:
            return {"host_ports": [8000 + number % 7], "init": [{"cpu": "500m"}], "sidecars": [{"memory": "10Mi"}]}
    return {"cpu": "100m", "memory": "500Mi"}


@pytest.mark.timeout(600)  # longer than it waits itself
@pytest.mark.parametrize("scheduler", ["pilotage", "default-scheduler"], ids=["as a second scheduler", "in its place"])
def test_all_pods_of_many_shapes_are_bound_and_no_rule_is_broken(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, audit: Audit, tmp_path: Path, scheduler: str
) -> None:
    fake_nodes(*nodes())
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(configuration(scheduler)))
    pods = [pod_manifest(f"pod-{n}", namespace=namespace, scheduler=scheduler, **shape(n)) for n in range(PODS)]
    serves = {"system:kube-scheduler": [scheduler]}
    # How long a pod waits is not what is looked at: here the machine is busy with everything at once.
    with audit(serves=serves, wait_limit=0) as running, control_plane.pilotage(f"--config={config}"):
        control_plane.create(pods)
        deadline = time.monotonic() + 300
        while (bound := count_bound(control_plane, namespace)) < PODS:
            assert time.monotonic() < deadline, f"{bound} of {PODS} pods are bound"
            time.sleep(1)
        assert count_events(control_plane, namespace, deadline) == PODS
    assert running.report["violations"] == []
    # Not the bindings that were answered with success: one whose answer came too late is as good.
    assert running.report["seen"]["arrivals"] >= PODS


def configuration(scheduler: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": scheduler}],
    }


def count_bound(control_plane: ControlPlane, namespace: str) -> int:
    selector = "--field-selector=spec.nodeName!="
    return len(control_plane.kubectl("get", "pods", "-n", namespace, selector, "-o", "name").splitlines())


def count_events(control_plane: ControlPlane, namespace: str, deadline: float) -> int:
    """Return how many pods were told that they are scheduled; events follow the binds."""
    told = 0
    while told < PODS and time.monotonic() < deadline:
        selector = "--field-selector=reason=Scheduled"
        told = len(control_plane.kubectl("get", "events", "-n", namespace, selector, "-o", "name").splitlines())
        time.sleep(1)
    return told
