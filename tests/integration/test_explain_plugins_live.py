"""`pilotage explain` agrees with a running Pilotage where plugins remember, place groups, or spare pods."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import PILOTAGE, ControlPlane
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest, pod_manifest

SECONDS = 60.0
CRDS = REPOSITORY / "charts/pilotage/files/crds"
KINDS = ("podgroups.scheduling.x-k8s.io", "elasticquotas.scheduling.x-k8s.io")
TOLERATION = "preemption-toleration.scheduling.x-k8s.io"
LOW, HIGH = "explained-low", "explained-high"
CLASSES = {
    LOW: {
        "value": 1,
        "annotations": {
            f"{TOLERATION}/minimum-preemptable-priority": "1000000",
            f"{TOLERATION}/toleration-seconds": "3600",
        },
    },
    HIGH: {"value": 1000, "annotations": {}},
}
PROFILES: dict[str, dict[str, Any]] = {
    "sticky": {
        "plugins": {"multiPoint": {"enabled": [{"name": "Sticky"}]}},
        "pluginConfig": [{"name": "Sticky", "args": {"mode": "Require"}}],
    },
    "gangs": {"plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}},
    "tolerant": {
        "plugins": {
            "multiPoint": {"enabled": [{"name": "PreemptionToleration"}], "disabled": [{"name": "DefaultPreemption"}]}
        }
    },
    "quotas": {
        "plugins": {
            "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
            "postFilter": {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]},
        }
    },
}


class Stage:
    """A namespace with three nodes of its own, a running Pilotage, and the program beside it."""

    def __init__(self, control_plane: ControlPlane, namespace: str, config: Path) -> None:
        self.control_plane, self.namespace, self.config = control_plane, namespace, config
        self.kubectl = control_plane.kubectl

    def pod(self, name: str, profile: str, **fields: Any) -> None:
        """Create a pod that has nowhere else to go than these nodes."""
        here = {"explained-by": self.namespace}
        scheduler = f"{self.namespace}-{profile}"
        manifest = pod_manifest(name, namespace=self.namespace, scheduler=scheduler, node_selector=here, **fields)
        self.control_plane.create([manifest])

    def pods(self) -> list[dict[str, Any]]:
        """Return all pods that are not about to go."""
        found = self.kubectl.get("pods", "-n", self.namespace)["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def why(self, name: str) -> str:
        """Return why a pod waits, as the scheduler has told."""
        found = self.kubectl.get("pod", name, "-n", self.namespace)["status"].get("conditions", [])
        return next((each["message"] for each in found if each["type"] == "PodScheduled" and "message" in each), "")

    def explain(self, name: str) -> tuple[int, list[str]]:
        """Return how the program ends, and the lines that it prints."""
        words = [PILOTAGE, "explain", f"{self.namespace}/{name}", f"--config={self.config}"]
        words.append(f"--kubeconfig={self.control_plane.kubeconfig}")
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    def agrees(self, name: str) -> list[str]:
        """Wait until the program says what the scheduler says; returns the lines below that."""
        found: list[str] = []

        def same() -> bool:
            said, (code, lines) = self.why(name), self.explain(name)
            found[:] = [*lines, f"the scheduler: {said}"]
            held = re.fullmatch(
                r"(\S+)  waits(?: \((?:Queued|WaitingForGroup): no other node would help\))?: (.*)", lines[0]
            )
            return bool(said) and code == 3 and held is not None and held.groups() == (name, said)

        until(same, lambda: "\n".join(found))
        return found[1:-1]


def until(holds: Callable[[], bool], told: Callable[[], str]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, told()
        time.sleep(0.3)


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: ControlPlane) -> Iterator[None]:
    """The kinds and the classes that the plugins read."""
    kubectl = control_plane.kubectl
    for kind in KINDS:
        kubectl("apply", "--server-side", "-f", str(CRDS / f"{kind}.yaml"))
        kubectl.until_established(f"crd/{kind}")
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    kubectl.apply(
        *(
            {**head, "metadata": {"name": name, "annotations": each["annotations"]}, "value": each["value"]}
            for name, each in CLASSES.items()
        )
    )
    yield
    kubectl("delete", "priorityclass", *CLASSES)
    kubectl.delete_definitions(*KINDS)


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Stage]:
    nodes = [node_manifest(f"{namespace}-{number}", cpu="2", labels={"explained-by": namespace}) for number in range(3)]
    control_plane.fake_nodes(nodes)
    profiles = [{"schedulerName": f"{namespace}-{name}", **each} for name, each in PROFILES.items()]
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({**head, "profiles": profiles}))
    try:
        with control_plane.pilotage(f"--config={config}", identity="admin"):
            yield Stage(control_plane, namespace, config)
    finally:
        control_plane.kubectl("delete", "node", *(node["metadata"]["name"] for node in nodes))


@pytest.mark.full
def test_a_pod_waits_for_the_node_that_its_predecessor_has_left(stage: Stage) -> None:
    """The predecessor is gone: only the scheduler has seen it, and an event tells of it."""
    spec = {
        "schedulerName": f"{stage.namespace}-sticky",
        "nodeSelector": {"explained-by": stage.namespace},
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "1500m"}}}],
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    selector = {"matchLabels": {"app": "web"}}
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": stage.namespace}}
    stage.kubectl.apply({**head, "spec": {"replicas": 1, "selector": selector, "template": template}})
    until(lambda: any(pod["spec"].get("nodeName") for pod in stage.pods()), lambda: str(stage.pods()))
    (first,) = stage.pods()
    name, node = first["metadata"]["name"], first["spec"]["nodeName"]
    assert stage.explain(name)[1][0] == f"{name}  is on {node}; if scheduled again now, it goes to {node}"

    stage.control_plane.create([pod_manifest("filler", namespace=stage.namespace, node=node, cpu="2")])
    stage.kubectl("delete", "pod", name, "-n", stage.namespace)
    until(lambda: len(stage.pods()) == 2, lambda: str(stage.pods()))
    (heir,) = (pod["metadata"]["name"] for pod in stage.pods() if pod["metadata"]["name"] != "filler")
    lines = stage.agrees(heir)
    assert sum(f"node(s) didn't satisfy plugin(s) [Sticky] (returns to {node})" in line for line in lines) == 2


def test_a_member_of_a_gang_waits_for_the_others(stage: Stage) -> None:
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    metadata = {"name": "train", "namespace": stage.namespace}
    stage.kubectl.apply({**group, "metadata": metadata, "spec": {"minMember": 4}})
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    for name in ("a", "b"):
        stage.pod(name, "gangs", cpu="1500m", labels=labels)
    title = f"PodGroup {stage.namespace}/train (scheduling.x-k8s.io): 4 must be placed at once"
    # The scheduler tried "a" perhaps before there was "b", and does not rewrite a status for another count alone.
    assert stage.agrees("b")[0] == (
        f"  It fits alone, but waits for 2 more pods of {title}, 2 exist; "
        f"see kubectl get pods -n {stage.namespace} -l scheduling.x-k8s.io/pod-group=train"
    )
    for name in ("c", "d"):
        stage.pod(name, "gangs", cpu="1500m", labels=labels)
    assert stage.agrees("a")[0] == f"  It fits alone, but waits for the rest of {title}, 3 can"

    wanted = {"minMember": 4, "minResources": {"cpu": "100000"}}
    stage.kubectl.apply({**group, "metadata": metadata, "spec": wanted})
    until(lambda: "resource gap" in stage.why("a"), lambda: stage.why("a"))
    assert stage.why("a").startswith("resource gap: cpu: ")
    assert "(wants 100k, " in stage.why("a") or "(wants 100000, " in stage.why("a")
    assert stage.why("a").endswith(f" free) for PodGroup {stage.namespace}/train")


@pytest.mark.full
def test_who_is_spared_and_until_when(stage: Stage) -> None:
    for number in range(3):
        stage.pod(f"low-{number}", "tolerant", cpu="2", priority_class=LOW)
    until(lambda: all(pod["spec"].get("nodeName") for pod in stage.pods()), lambda: str(stage.pods()))
    stage.pod("high", "tolerant", cpu="2", priority_class=HIGH)
    lines = stage.agrees("high")
    for number in range(3):
        pod = stage.kubectl.get("pod", f"low-{number}", "-n", stage.namespace)
        (scheduled,) = (each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
        since = datetime.fromisoformat(scheduled["lastTransitionTime"]).timestamp()
        end = datetime.fromtimestamp(since + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        told = f"PreemptionToleration spares {stage.namespace}/low-{number} until {end}"
        assert any(told in line and pod["spec"]["nodeName"] in line for line in lines), (told, lines)


@pytest.mark.full
def test_what_a_quota_says_does_not_grow_with_the_nodes(stage: Stage) -> None:
    quota = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota"}
    metadata = {"name": "own", "namespace": stage.namespace}
    stage.kubectl.apply({**quota, "metadata": metadata, "spec": {"min": {"cpu": "1"}, "max": {"cpu": "1"}}})
    stage.pod("large", "quotas", cpu="2")
    stage.agrees("large")
    count = len(stage.kubectl.get("nodes")["items"])
    assert stage.why("large").endswith(f" {count} No preemption victims found for incoming pod.")
