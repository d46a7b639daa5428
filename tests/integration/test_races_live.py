"""Kubelets that reject: whoever makes the pods again at once is not fed with the same node again and again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from kit.commands import Manifest
from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.kubelet_admission import CUSTOM_STATUS, KubeletAdmission
from kit.tiers import tiered
from pilotage.testing import node_manifest, pod_manifest
from races.contest import FIRST, configuration, profile
from races.feed import Feed

SCHEDULER = "second"
NODES, SECONDS = 4, 20.0
REST = 2.0  # seconds for which a node that rejected a pod gets none
PACKING = 60.0
FEW, MANY = 40, 100  # failed pods: kubelets that are asked by two backlogs at once, on ten nodes that are always full
LIFE = 10.0
GUARDED = pytest.mark.parametrize(
    "guard", [True, pytest.param(False, marks=pytest.mark.full)], ids=["with the guard", "without it"]
)


@contextmanager
def ours(control_plane: ControlPlane, folder: Path, strategy: str, guard: bool) -> Iterator[None]:
    """Run our scheduler with the guard on or off."""
    file = configuration(folder / "ours.yaml", control_plane, profile(SCHEDULER, strategy, guard=guard))
    with control_plane.pilotage(f"--config={file}"):
        yield


def replica_set(namespace: str, replicas: int, cpu: str) -> Manifest:
    labels = {"app": "again"}
    container = {"name": "main", "image": "localhost/pause:1", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"labels": labels, "annotations": CUSTOM_STATUS},
        "spec": {"schedulerName": SCHEDULER, "containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "again", "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


@GUARDED
def test_a_node_that_takes_fewer_pods_than_it_says_rejects_one_in_two_seconds_at_most(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path, guard: bool
) -> None:
    said = [node_manifest(f"full-{number}", pods=20) for number in range(NODES)]
    fake_nodes(*said)
    kept = [node_manifest(f"full-{number}", pods=4) for number in range(NODES)]
    kubelets = KubeletAdmission(control_plane.cluster, kept, f"/api/v1/namespaces/{namespace}/pods")
    with kubelets.running(), ours(control_plane, tmp_path, "LeastAllocated", guard):
        control_plane.kubectl.apply(replica_set(namespace, 8 * NODES, "10m"))
        time.sleep(SECONDS)
        rejected = kubelets.rejected[SCHEDULER]
        control_plane.kubectl("delete", "rs", "again", "-n", namespace)
    print(f"guard {guard}: {rejected} rejected in {SECONDS:g} s on {NODES} nodes")
    assert kubelets.admitted[SCHEDULER] == 4 * NODES
    if guard:
        assert rejected <= NODES * (1 + SECONDS / REST)
    else:
        assert rejected > NODES * (1 + SECONDS / REST), "the scene shows nothing: without the guard it is as calm"


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("second", tiered(["pilotage", "kube-scheduler"], full=["kube-scheduler"]))
def test_a_replica_set_that_packs_beside_another_packer_leaves_few_failed_pods(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path, second: str
) -> None:
    nodes = [node_manifest(f"packed-{number}", cpu=8) for number in range(10)]
    fake_nodes(*nodes)
    kubelets = KubeletAdmission(control_plane.cluster, nodes, f"/api/v1/namespaces/{namespace}/pods", run_for=LIFE)
    start = control_plane.pilotage if second == "pilotage" else control_plane.kube_scheduler
    files = [
        configuration(tmp_path / f"{name}.yaml", control_plane, profile(name, "MostAllocated"))
        for name in (FIRST, SCHEDULER)
    ]
    feed = Feed(control_plane.cluster, namespace, partial(short_lived, namespace), rate=10, life=LIFE)
    with (
        kubelets.running(),
        control_plane.kube_scheduler(f"--config={files[0]}"),
        start(f"--config={files[1]}"),
        feed,
    ):
        control_plane.kubectl.apply(replica_set(namespace, 100, "1"))
        time.sleep(PACKING)
        control_plane.kubectl("delete", "rs", "again", "-n", namespace, "--wait=false")
    failed, ran = kubelets.rejected[SCHEDULER], kubelets.admitted[SCHEDULER]
    print(f"{second} beside kube-scheduler, {PACKING:g} s: {failed} failed pods, {ran} ran")
    assert ran
    if second == "pilotage":
        assert failed < FEW
    else:
        assert failed > MANY, "the scene shows nothing: without a guard it is as calm"


def short_lived(namespace: str, number: int) -> Manifest:
    return pod_manifest(f"short-{number}", namespace=namespace, cpu=1, annotations=CUSTOM_STATUS)
