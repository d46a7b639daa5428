"""`kubectl pilotage` as a user has it: the real kubectl finds it on PATH, a real API server and scheduler answer.

Nodes are fake, so no port of a pod can be forwarded: the scheduler, a process beside them, is asked at its address.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.looking_glass import free_port
from kit.person import SECONDS, Person, account_kubeconfig
from kit.release import TO_HOME_NODES, Release, home_nodes
from pilotage.testing import node_manifest, pod_manifest

SCHEDULER = "asked"
SECRET = "the-secret"
VALUES = {"scheduler": {"name": SCHEDULER, "replicaCount": 1, **TO_HOME_NODES}, "operator": TO_HOME_NODES}
BROKEN = {"spec": {"plugins": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Sideways"}}}]}}


@dataclass(frozen=True)
class Scene:
    """A release whose scheduler runs, a pod that waits, and another namespace that is not everybody's business."""

    release: Release
    admin: Person
    viewer: Person
    address: str
    namespace: str
    other: str
    nodes: tuple[str, ...]


@pytest.fixture
def scene(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path) -> Iterator[Scene]:
    other, kubectl = f"{namespace}-other", control_plane.kubectl
    nodes = tuple(f"{namespace}-n{number}" for number in range(2))
    fake_nodes(*home_nodes(namespace), *(node_manifest(node, cpu="4") for node in nodes))
    kubectl("create", "namespace", other)
    found = Release(control_plane, namespace, "asked", tmp_path, 4)
    with ExitStack() as stack:
        stack.callback(kubectl, "delete", "namespace", other, "--wait=false")
        stack.callback(kubectl, "delete", "crd", "schedulerprofiles.pilotage.dev", "--ignore-not-found")
        stack.callback(found.helm, "uninstall", found.name, "--namespace", namespace)
        found.install(values=VALUES)
        stack.enter_context(control_plane.kube_scheduler())
        port, [pod] = free_port(), found.pods("scheduler")
        stack.enter_context(found.processes("operator"))
        listening = ("--secure-port=0", f"--api-port={port}")
        stack.enter_context(found.process("scheduler", pod, *listening))
        program = Path(control_plane.cluster.binaries["kubectl"])
        admin = Person(program, Path(control_plane.kubeconfig))
        viewer = Person(program, viewers_kubeconfig(control_plane, namespace, tmp_path))
        yield Scene(found, admin, viewer, f"https://127.0.0.1:{port}", namespace, other, nodes)


def viewers_kubeconfig(control_plane: ControlPlane, namespace: str, folder: Path) -> Path:
    """Write the kubeconfig of somebody with the role `view` in one namespace."""
    found = account_kubeconfig(control_plane, namespace, "viewer", folder)
    account = f"--serviceaccount={namespace}:viewer"
    control_plane.kubectl("-n", namespace, "create", "rolebinding", "view", "--clusterrole=view", account)
    return found


def test_a_user_asks_kubectl(scene: Scene, control_plane: ControlPlane) -> None:
    a_gate_waits_for_the_rollout(scene)
    control_plane.create(
        [
            pod_manifest("waits", namespace=scene.namespace, scheduler=SCHEDULER, cpu="16"),
            pod_manifest(SECRET, namespace=scene.other, scheduler=SCHEDULER, cpu="64"),
        ]
    )
    the_queue_by_the_scheduler_and_without_it(scene)
    a_viewer_of_one_namespace_gets_reasons_and_remedies(scene)
    words_are_completed_by_kubectl(scene)
    a_gate_ends_with_a_rollout_that_fails(scene)


def a_gate_waits_for_the_rollout(scene: Scene) -> None:
    done = scene.admin.pilotage("status", SCHEDULER, "--wait", "--timeout=60")
    assert f"{SCHEDULER} {SCHEDULER} yes Acknowledged" in " ".join(done.stdout.split()), done
    assert done.returncode == 0, done


def the_queue_by_the_scheduler_and_without_it(scene: Scene) -> None:
    address = ("queue", "-n", scene.namespace, "--source", scene.address, "--no-headers")
    deadline = time.monotonic() + SECONDS
    while "Insufficient cpu" not in (live := scene.admin.pilotage(*address)).stdout:
        assert time.monotonic() < deadline, live
        time.sleep(0.5)
    assert live.stdout.split()[0] == "1"
    assert f"{scene.namespace}/waits" in live.stdout
    local = scene.admin.pilotage("queue", "-A", "-o", "json")
    assert "no scheduler was asked: " in local.stderr
    found = json.loads(local.stdout)
    mine = [each for each in found["groups"] if each["example"].startswith(scene.namespace)]
    assert any("Insufficient cpu" in each["key"] for each in mine)


def a_viewer_of_one_namespace_gets_reasons_and_remedies(scene: Scene) -> None:
    live = scene.viewer.pilotage("explain", "waits", "--source", scene.address, "-o", "json")
    assert live.returncode == 3, live.stderr
    told = json.loads(live.stdout)
    assert ["Insufficient cpu"] in [each["reasons"] for each in told["groups"]]
    assert [each["code"] for each in told["remedies"]][:1] == ["reduceRequest"]
    assert [name for name in (SECRET, scene.other, *scene.nodes) if name in live.stdout] == []
    # Without a way to the scheduler, the status tells the same reasons.
    status = scene.viewer.pilotage("explain", "waits")
    assert status.returncode == 3
    assert "NodeResourcesFit" in status.stdout
    assert "you are not allowed to list pods, " in status.stderr
    assert scene.viewer.pilotage("queue", "-n", scene.other).returncode == 2


def words_are_completed_by_kubectl(scene: Scene) -> None:
    def offered(*words: str) -> list[str]:
        done = scene.viewer("__complete", "pilotage", *words)
        assert done.returncode == 0, done.stderr
        return [line.partition("\t")[0] for line in done.stdout.splitlines()]

    assert {"explain", "queue", "status"} <= set(offered(""))
    assert offered("explain", "wa") == ["waits", ":4"]
    assert f"{scene.namespace}" in scene.admin("__complete", "pilotage", "queue", "-n", "test-").stdout


def a_gate_ends_with_a_rollout_that_fails(scene: Scene) -> None:
    scene.release.kubectl("patch", "schedulerprofile", SCHEDULER, "--type=merge", "-p", json.dumps(BROKEN))
    done = scene.admin.pilotage("status", SCHEDULER, "--wait", "--timeout=60")
    assert done.returncode == 3
    assert f"fault: {SCHEDULER}: Invalid: " in done.stdout
    assert scene.admin.pilotage("diff", SCHEDULER).returncode == 2  # what is not valid amounts to nothing
    assert "Sideways" in scene.admin.pilotage("diff", SCHEDULER).stderr


def test_a_pod_of_kube_scheduler_where_there_is_no_pilotage(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes
) -> None:
    """The first remedy is applied to the letter, and the real kube-scheduler binds the pod."""
    [node] = fake_nodes(node_manifest(f"{namespace}-n", cpu="4", labels={"of": namespace}))
    admin = Person(Path(control_plane.cluster.binaries["kubectl"]), Path(control_plane.kubeconfig))
    here: dict[str, Any] = {"namespace": namespace, "node_selector": {"of": namespace}}
    with control_plane.kube_scheduler():
        control_plane.create([pod_manifest("web", cpu="6", **here)])
        done = admin.until("explain", "web", "-n", namespace, "-o", "json", code=3)
        remedy = json.loads(done.stdout)["remedies"][0]
        assert remedy["code"] == "reduceRequest"
        [change] = remedy["changes"]
        assert change["unit"] == "m"
        control_plane.kubectl("delete", "pod", "web", "-n", namespace, "--now")
        control_plane.create([pod_manifest("web", cpu=f"{change['to']}m", **here)])
        words = ("wait", "pod/web", "--for=condition=PodScheduled", f"--timeout={SECONDS:.0f}s")
        control_plane.kubectl("-n", namespace, *words)
        assert admin.pilotage("explain", "web", "-n", namespace).stdout.startswith(f"web  is on {node}; ")
