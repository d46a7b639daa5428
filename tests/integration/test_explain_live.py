"""`pilotage explain` on a real cluster says what the real kube-scheduler says, and more."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import PILOTAGE, ControlPlane
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest, pod_manifest

SECONDS = 60.0
LABEL = "explained"
TAINT = {"key": "explained.example.com/dedicated", "value": "db", "effect": "NoSchedule"}
HERE: dict[str, Any] = {"node_selector": {LABEL: "yes"}}
NOWHERE: dict[str, Any] = {"node_selector": {LABEL: "nowhere"}}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "runs"}}}
        ]
    }
}
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}]}
GATED = {"schedulingGates": [{"name": "example.com/later"}]}

# What is in the way of each pod, and what is said about it in more detail than kube-scheduler says it.
WAITING: dict[str, tuple[dict[str, Any], str]] = {
    "too-large": ({"cpu": "100", **HERE}, "Insufficient cpu (wants 100, "),
    "without-a-node": (
        NOWHERE,
        f"NodeAffinity: node(s) didn't match Pod's node affinity/selector (wants {LABEL} = nowhere, has yes)",
    ),
    "shunned": ({"node_selector": {LABEL: "tainted"}}, "(explained.example.com/dedicated=db:NoSchedule"),
    "apart": ({**HERE, "affinity": APART}, "InterPodAffinity: node(s)"),
    "without-its-claim": ({"spec": CLAIM}, "Before any node was considered, VolumeRestrictions said: "),
}


class Cluster:
    """Two nodes of the test's own, a pod on one of them, and pods that wait."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.control_plane, self.namespace = control_plane, namespace

    def status_says(self, name: str) -> str:
        """Return why a pod waits, as kube-scheduler has told; "" before that."""
        conditions = self.control_plane.kubectl.get("pod", name, "-n", self.namespace)["status"].get("conditions", [])
        return next(
            (each["message"] for each in conditions if each["type"] == "PodScheduled" and "message" in each), ""
        )

    def explain(self, name: str) -> tuple[int, str]:
        """Return how the program ends, and what it prints."""
        done = self.ask(f"{self.namespace}/{name}", f"--kubeconfig={self.control_plane.kubeconfig}")
        assert done.stderr == ""
        return done.returncode, done.stdout

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program."""
        return subprocess.run(
            [PILOTAGE, "explain", *words], capture_output=True, text=True, timeout=SECONDS, check=False
        )

    def kubeconfig(self, path: Path, *, token: str = "", namespace: str = "") -> str:
        """Write a kubeconfig that says something else; returns the flag that names it."""
        found = yaml.safe_load(Path(self.control_plane.kubeconfig).read_text())
        if token:
            found["users"][0]["user"] = {"token": token}
        found["contexts"][0]["context"]["namespace"] = namespace
        path.write_text(yaml.safe_dump(found))
        return f"--kubeconfig={path}"


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    name = f"explained-{time.monotonic_ns()}"
    nodes = [
        node_manifest(f"{name}-0", cpu="4", labels={LABEL: "yes"}),
        node_manifest(f"{name}-1", cpu="4", labels={LABEL: "tainted"}, taints=[TAINT]),
    ]
    control_plane.kubectl("create", "namespace", name)
    control_plane.fake_nodes(nodes)
    runs = pod_manifest("runs", namespace=name, labels={"app": "runs"}, cpu="1", **HERE)
    waits = [pod_manifest(pod, namespace=name, **fields) for pod, (fields, _) in WAITING.items()]
    waits.append(pod_manifest("gated", namespace=name, spec=GATED))
    try:
        with control_plane.kube_scheduler():
            control_plane.create([runs])
            words = ("wait", "pod/runs", "--for=condition=Ready", f"--timeout={SECONDS:.0f}s")
            control_plane.kubectl("-n", name, *words)
            control_plane.create(waits)
            yield Cluster(control_plane, name)
    finally:
        control_plane.kubectl("delete", "namespace", name, "--wait=false")
        control_plane.kubectl("delete", "node", *(node["metadata"]["name"] for node in nodes))


@pytest.mark.parametrize("name", WAITING)
def test_it_says_what_kube_scheduler_says(cluster: Cluster, name: str) -> None:
    deadline = time.monotonic() + SECONDS
    while True:  # nodes of other tests may come and go in between
        said, (code, text) = cluster.status_says(name), cluster.explain(name)
        if text.splitlines()[0] == f"{name}  waits: {said}":
            break
        assert time.monotonic() < deadline, f"{said}\n{text}"
        time.sleep(0.5)
    assert code == 3
    assert WAITING[name][1] in text


def test_a_pod_at_the_gate(cluster: Cluster) -> None:
    """The API server writes its status, and no scheduler ever sees it in its queue."""
    assert cluster.explain("gated") == (
        3,
        "gated  waits: waiting for scheduling gates: [example.com/later]\n"
        f"  Its status says: {cluster.status_says('gated')}\n"
        "  It was rejected before any node was considered.\n",
    )


def test_a_pod_that_runs_is_explained_too(cluster: Cluster) -> None:
    code, text = cluster.explain("runs")
    node = f"{cluster.namespace}-0"
    assert code == 0
    assert text.startswith(f"runs  is on {node}; if scheduled again now, it goes to {node}\n")


def test_the_namespace_of_the_context_is_meant(cluster: Cluster, tmp_path: Path) -> None:
    here = cluster.kubeconfig(tmp_path / "here", namespace=cluster.namespace)
    assert cluster.ask("runs", here).stdout.startswith("runs  is on ")
    assert cluster.ask("runs", cluster.kubeconfig(tmp_path / "elsewhere")).stderr == (
        f"there is no pod default/runs, or it has finished; there is one in {cluster.namespace}\n"
    )


@pytest.mark.full
def test_whoever_lacks_rights_is_told_all_of_them_and_gets_them_by_the_printed_command(
    cluster: Cluster, tmp_path: Path
) -> None:
    kubectl, reader = cluster.control_plane.kubectl, "explained-reader"
    kubectl("create", "serviceaccount", reader, "-n", cluster.namespace)
    token = kubectl("create", "token", reader, "-n", cluster.namespace).strip()
    flag = cluster.kubeconfig(tmp_path / "kubeconfig", token=token, namespace=cluster.namespace)
    refused = cluster.ask("runs", flag)
    assert refused.returncode == 2
    rights, _, rest = refused.stderr.partition(" in all namespaces; ")
    start = (
        f"you are not allowed to get the pod {cluster.namespace}/runs, or to list pods, configmaps, nodes, namespaces"
    )
    assert re.fullmatch(re.escape(start) + r" and \d+ other kinds", rights), refused.stderr
    command, _, _ = rest.partition(" grants all of them")
    assert f"--serviceaccount={cluster.namespace}:{reader}" in command
    chart, words = str(REPOSITORY / "charts/pilotage"), ("--namespace=pilotage", "--show-only")
    role = cluster.control_plane.helm(4)("template", "pilotage", chart, *words, "templates/explainer-clusterrole.yaml")
    kubectl.apply(yaml.safe_load(role))
    try:
        kubectl(*command.split()[1:])
        assert cluster.ask("runs", flag).stdout.startswith("runs  is on ")
    finally:
        kubectl("delete", "clusterrolebinding", "explainer", "--ignore-not-found")
        kubectl("delete", "clusterrole", "pilotage-explainer.pilotage")
