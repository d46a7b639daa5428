"""What an autoscaler sees on a live control plane: pods ask for nodes where nodes would help, and only so many.

The judge is the rule by which Karpenter and the Cluster Autoscaler choose the pods that they add nodes for.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from localcluster.paths import REPOSITORY
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.testing import node_manifest, pod_manifest

CHART = REPOSITORY / "charts/pilotage/files"
CRD = "elasticquotas.scheduling.x-k8s.io"
RIGHTS = "test-reasons"
SECONDS = 90.0


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: ControlPlane) -> Iterator[None]:
    """The kind, and the scheduler's rights that the chart gives with the plugin."""
    kubectl = control_plane.kubectl
    kubectl("apply", "--server-side", "-f", str(CHART / "crds" / f"{CRD}.yaml"))
    kubectl("wait", "--for=condition=Established", f"crd/{CRD}", "--timeout=60s")
    group = "rbac.authorization.k8s.io"
    rules = yaml.safe_load((CHART / "plugin-rights.yaml").read_text())["CapacityScheduling"]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": RIGHTS}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": RIGHTS},
        "subjects": [{"kind": "User", "name": "system:kube-scheduler", "apiGroup": group}],
        "roleRef": {"kind": "ClusterRole", "name": RIGHTS, "apiGroup": group},
    }
    kubectl.apply(role, binding)
    yield
    kubectl("delete", "clusterrole,clusterrolebinding", RIGHTS)
    kubectl.delete_definitions(CRD)


class Stage:
    """One namespace, its pods and its quota."""

    def __init__(self, control_plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.kubectl, self.control_plane, self.namespace = control_plane.kubectl, control_plane, namespace
        plugins = {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}, {"name": "Coscheduling"}]}}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "podMaxBackoffSeconds": 1,
            "profiles": [{"schedulerName": namespace, "plugins": plugins}],
        }
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(config))

    def create(self, *names: str, **fields: Any) -> None:
        """Create pods that want a core each, on nodes of this test alone."""
        here = {"only": self.namespace}
        own: dict[str, Any] = {
            "namespace": self.namespace,
            "scheduler": self.namespace,
            "cpu": 1,
            "node_selector": here,
        }
        self.control_plane.create([pod_manifest(name, **own, **fields) for name in names])

    def quota(self, most: int) -> None:
        """Let the namespace have so many cores."""
        self.kubectl.apply(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "ElasticQuota",
                "metadata": {"name": "quota", "namespace": self.namespace},
                "spec": {"max": {"cpu": most}},
            }
        )

    def told(self) -> Counter[str]:
        """Count what pods say: where they are, or why they wait."""
        return Counter(map(_state, self.kubectl.get("pods", "-n", self.namespace)["items"]))

    def until(self, wanted: dict[str, int]) -> None:
        """Wait until the pods say exactly this."""
        deadline = time.monotonic() + SECONDS
        while self.told() != wanted:
            assert time.monotonic() < deadline, f"{dict(self.told())} instead of {wanted}"
            time.sleep(0.2)


def _state(pod: dict[str, Any]) -> str:
    status = pod.get("status", {})
    scheduled: dict[str, Any] = next(
        (each for each in status.get("conditions", ()) if each["type"] == "PodScheduled"), {}
    )
    if pod["spec"].get("nodeName"):
        return "placed"
    if scheduled.get("reason") == "Unschedulable" and not status.get("nominatedNodeName"):
        return "asks for a node"
    return str(scheduled.get("reason", "not told yet"))


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Stage:
    """A stage with a namespace of its own."""
    return Stage(control_plane, namespace, tmp_path)


@pytest.fixture
def add_node(fake_nodes: Nodes, namespace: str) -> Callable[[str, int], None]:
    """Lets a node come, as an autoscaler does."""

    def add(name: str, cores: int) -> None:
        fake_nodes(node_manifest(f"{namespace}-{name}", cpu=cores, labels={"only": namespace}))

    return add


def test_a_quota_at_its_max_asks_for_no_node_and_raised_by_eight_for_eight(
    stage: Stage, add_node: Callable[[str, int], None]
) -> None:
    add_node("first", 2)
    stage.quota(2)
    stage.create(*(f"p{n}" for n in range(52)))
    with stage.control_plane.pilotage(f"--config={stage.config}"):
        stage.until({"placed": 2, "Queued": 50})
        stage.quota(10)
        stage.until({"placed": 2, "asks for a node": 8, "Queued": 42})
        add_node("bought", 8)
        stage.until({"placed": 10, "Queued": 42})


def test_a_gang_asks_for_nodes_when_it_is_whole_and_then_as_a_whole(
    stage: Stage, add_node: Callable[[str, int], None]
) -> None:
    add_node("small", 1)
    labels = {NAME_LABEL: "gang", MIN_LABEL: "8"}
    stage.create(*(f"g{n}" for n in range(5)), labels=labels)
    with stage.control_plane.pilotage(f"--config={stage.config}"):
        stage.until({"WaitingForGroup": 5})
        stage.create(*(f"g{n}" for n in range(5, 8)), labels=labels)
        stage.until({"asks for a node": 8})
        add_node("bought", 8)
        stage.until({"placed": 8})
