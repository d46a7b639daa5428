"""Gangs of Kubernetes' own PodGroups, on a control plane that serves them."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.admin import Admin
from kit.control_plane import PILOTAGE, ControlPlane, control_plane, name_for_this_run
from pilotage.testing import node_manifest, pod_manifest

GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods"
FEATURES = {
    "featureGates": {"GenericWorkload": True},
    "runtimeConfig": {"scheduling.k8s.io/v1beta1": "true"},
}
PATIENCE = 60.0  # seconds
RIGHTS = [
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["podgroups"], "verbs": ["list", "watch"]},
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["podgroups/status"], "verbs": ["patch"]},
]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that serves PodGroups of its own."""
    kubeconfig = tmp_path_factory.mktemp("native") / "kubeconfig"
    with control_plane(f"{name_for_this_run()}-native", kubeconfig, FEATURES) as running:
        yield running


def test_a_gang_waits_for_its_group_and_for_room_and_starts_as_a_whole(serving: ControlPlane, tmp_path: Path) -> None:
    allow_groups(serving)
    serving.fake_nodes([node_manifest("n1", cpu=2)])
    with closing(Admin(serving.cluster)) as admin, serving.pilotage(f"--config={configuration(tmp_path)}") as running:

        def placed() -> list[str]:
            return [pod["metadata"]["name"] for pod in admin.get(PODS)["items"] if pod["spec"].get("nodeName")]

        for number in range(3):
            spec = {"schedulingGroup": {"podGroupName": "gang"}}
            admin.post(PODS, pod_manifest(f"gang-{number}", scheduler="native", cpu=1, spec=spec))
        until(lambda: all("to appear in scheduling queue" in why(admin, n) for n in range(3)), running.log)
        assert placed() == []
        assert "to appear in scheduling queue" in explained(serving, tmp_path)

        policy = {"gang": {"minCount": 3}}
        admin.post(GROUPS, {"metadata": {"name": "gang"}, "spec": {"schedulingPolicy": policy}})
        until(
            lambda: all("the 3 pods that are needed at once do not all fit" in why(admin, n) for n in range(3)),
            running.log,
        )
        assert placed() == []
        until(lambda: "2 of the 3 pods that are needed" in said_of_group(admin)["message"], running.log)
        assert (said_of_group(admin)["status"], said_of_group(admin)["reason"]) == ("False", "Unschedulable")
        told = "waits for the rest of PodGroup default/gang (scheduling.k8s.io): 3 must be placed at once, 2 can"
        assert f"It fits alone, but {told}\n" in explained(serving, tmp_path)

        serving.fake_nodes([node_manifest("n2", cpu=1)])
        until(lambda: sorted(placed()) == ["gang-0", "gang-1", "gang-2"], running.log)
        until(lambda: said_of_group(admin)["status"] == "True", running.log)
        assert (said_of_group(admin)["reason"], said_of_group(admin)["message"]) == ("Scheduled", "")


def explained(serving: ControlPlane, folder: Path) -> str:
    flags = (f"--config={folder / 'config.yaml'}", f"--kubeconfig={serving.kubeconfig}")
    done = subprocess.run(
        [PILOTAGE, "explain", "gang-0", *flags], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (3, "")
    return done.stdout


def allow_groups(serving: ControlPlane) -> None:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "native-groups"}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "native-groups"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-scheduler"}
    serving.kubectl.apply(
        {**head, "kind": "ClusterRole", "rules": RIGHTS},
        {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]},
    )


def configuration(folder: Path) -> Path:
    path = folder / "config.yaml"
    profile = {"schedulerName": "native", "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**head, "profiles": [profile]}))
    return path


def said_of_group(admin: Admin) -> dict[str, Any]:
    found = admin.get(f"{GROUPS}/gang").get("status", {}).get("conditions", [])
    return next((each for each in found if each["type"] == "PodGroupInitiallyScheduled"), {"message": "", "status": ""})


def why(admin: Admin, number: int) -> str:
    conditions = admin.get(f"{PODS}/gang-{number}")["status"].get("conditions", [])
    return "".join(each.get("message", "") for each in conditions if each["type"] == "PodScheduled")


def until(holds: object, log: Path) -> None:
    assert callable(holds)
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.2)
