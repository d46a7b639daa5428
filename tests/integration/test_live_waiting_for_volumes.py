"""Pods whose volumes nobody makes hold up nobody else, however many of them there are."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from kit.admin import Admin
from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from kit.looking_glass import LookingGlass, free_port
from kit.stage import Stage
from pilotage.scheduling.loop import MOST_BINDS
from pilotage.testing import node_manifest, pod_manifest
from pilotage.testing.storage import claim_volumes

WAITING = MOST_BINDS + 60
HELD_UP = "pilotage_loop_held_up_seconds_total", 'reason="binds"'


@pytest.fixture
def silent_class(control_plane: ControlPlane, namespace: str) -> Iterator[str]:
    """A StorageClass whose provisioner never answers."""
    manifest = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": namespace}}
    about = {"provisioner": "nobody.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    control_plane.kubectl.create({**manifest, **about})
    yield namespace
    control_plane.kubectl("delete", "storageclass", namespace)


def test_another_tenant_s_pod_is_placed_at_once(
    control_plane: ControlPlane,
    namespace: str,
    fake_nodes: Nodes,
    silent_class: str,
    audit: Audit,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake_nodes(*(node_manifest(f"{namespace}-{number}", cpu="64") for number in range(12)))
    port = free_port()
    flags = (f"--secure-port={port}", "--bind-address=127.0.0.1")
    with (
        closing(Admin(control_plane.cluster)) as admin,
        audit(serves={"system:kube-scheduler": ["default-scheduler"]}, wait_limit=0) as auditor,
        control_plane.pilotage(*flags),
        LookingGlass(control_plane.cluster, port) as glass,
    ):
        glass.until_ready()
        stage = Stage(admin, "default")
        create_waiting(control_plane, namespace, silent_class)
        stage.until(lambda: under_way(glass) == WAITING, f"{WAITING} pods wait for their volumes", 180.0)
        began = time.monotonic()
        stage.create(namespace)
        stage.until(lambda: stage.node_of(namespace), "the pod of another tenant has a node")
        seconds = time.monotonic() - began
        assert under_way(glass) == WAITING
        assert glass.metrics()[HELD_UP] == 0
        stage.delete(namespace, gracePeriodSeconds=0)
    assert auditor.report["violations"] == []
    with capsys.disabled():
        print(f"\n{WAITING} pods wait for volumes; the pod of another tenant was placed within {seconds:.2f} s")


def under_way(glass: LookingGlass) -> float:
    """Return how many pods are between their place and their bind."""
    return glass.metrics()["scheduler_goroutines", 'operation="binding"']


def create_waiting(control_plane: ControlPlane, namespace: str, storage_class: str) -> None:
    def create(numbers: range) -> None:
        with closing(Admin(control_plane.cluster)) as admin:
            for number in numbers:
                name, base = f"waits-{number}", f"/api/v1/namespaces/{namespace}"
                admin.post(f"{base}/persistentvolumeclaims", claim(name, storage_class))
                admin.post(f"{base}/pods", pod_manifest(name, namespace=namespace, spec=claim_volumes(name)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, (range(start, WAITING, 4) for start in range(4))))


def claim(name: str, storage_class: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": {**spec, "storageClassName": storage_class}}
