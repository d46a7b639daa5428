"""Our scheduler in kube-scheduler's place: workloads of all kinds run on real kubelets, and move off a drained node."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor.running import RunningAuditor
from kit.control_plane import KIND, NO_OWN_NODES, ControlPlane, name_for_this_run, sweep, without_own_nodes
from localcluster import lifecycle, record
from pilotage.testing import pod_manifest

NAME = f"{name_for_this_run()}-alone"
USER = "system:kube-scheduler"
DNS_IMAGE = "localhost/coredns:1"  # on every node already; with -version it says so and ends
Manifest = dict[str, Any]

pytestmark = pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ControlPlane]:
    """Two real nodes, and nobody who schedules."""
    kubeconfig = f"--kubeconfig={tmp_path / 'kubeconfig'}"
    sweep()
    try:
        subprocess.run(
            [KIND, "create", "cluster", "--shape=full", f"--name={NAME}", kubeconfig, "--no-scheduler"], check=True
        )
        yield ControlPlane(record.load_existing(NAME))
    finally:
        lifecycle.delete(NAME)


def workload(kind: str, **spec: Any) -> Manifest:
    """Return a workload named after its kind, whose pods run until they are told to stop, or end if it is a Job."""
    labels = {"app": kind.lower()}
    pod = pod_manifest(cpu="50m", memory="8Mi", spec={"terminationGracePeriodSeconds": 1})["spec"]
    pod["containers"][0]["imagePullPolicy"] = "Never"
    api = "batch/v1" if kind == "Job" else "apps/v1"
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": kind.lower()},
        "spec": {**selector, "template": template, **spec},
    }


def job(completions: int) -> Manifest:
    made = workload("Job", completions=completions, parallelism=2)
    template = made["spec"]["template"]["spec"]
    template["restartPolicy"] = "Never"
    template["containers"][0] |= {"image": DNS_IMAGE, "args": ["-version"]}
    return made


BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "deployment"},
    "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "deployment"}}},
}
WORKLOADS = [
    workload("DaemonSet"),
    workload("Deployment", replicas=4),
    workload("StatefulSet", replicas=3, serviceName="statefulset"),
    job(completions=4),
    BUDGET,
]
ROLLOUTS = ["daemonset/daemonset", "deployment/deployment", "statefulset/statefulset"]


@pytest.mark.full
def test_a_cluster_lives_with_our_scheduler_alone(cluster: ControlPlane, tmp_path: Path) -> None:
    first, second = cluster.cluster.nodes
    serves = {USER: ["default-scheduler"]}
    with RunningAuditor(cluster.kubeconfig, cluster.audit_log, tmp_path, serves=serves) as auditor:
        assert not running_pods(cluster), "nobody schedules yet"
        with cluster.pilotage("--leader-elect=true"):
            # 1. All kinds of workloads come up, the cluster's own DNS first.
            roll_out(cluster, "-n", "kube-system", "deployment/coredns")
            cluster.kubectl.create(*WORKLOADS)
            roll_out(cluster, *ROLLOUTS)
            cluster.kubectl("wait", "--for=condition=Complete", "job/job", "--timeout=120s")
            assert "CoreDNS-" in cluster.kubectl("logs", "job/job")
            running = running_pods(cluster)
            assert Counter(app for app, _ in running.elements()) == {
                "daemonset": 2,
                "deployment": 4,
                "statefulset": 3,
                "kube-dns": 1,
            }
            assert min(running["deployment", first], running["deployment", second]) >= 1
            assert leader(cluster).startswith(f"{Path('/proc/sys/kernel/hostname').read_text().strip()}_")

            # 2. What a drained node loses runs on the other one; its budget keeps enough of it up.
            cluster.kubectl("drain", first, "--ignore-daemonsets", "--timeout=120s", timeout=150)
            roll_out(cluster, *ROLLOUTS)
            roll_out(cluster, "-n", "kube-system", "deployment/coredns")
            running = running_pods(cluster)
            assert {app: count for (app, node), count in running.items() if node == first} == {"daemonset": 1}
            assert (running["deployment", second], running["statefulset", second]) == (4, 3)

            # 3. Free again, it gets the next ones: the other is fuller.
            cluster.kubectl("uncordon", first)
            cluster.kubectl("scale", "deployment/deployment", "--replicas=6")
            roll_out(cluster, "deployment/deployment")
            assert running_pods(cluster)["deployment", first] == 2
    assert auditor.report["violations"] == []
    assert set(binders(cluster)) == {(USER, "pilotage")}
    assert leader(cluster) == "", "told to stop, it has let go of the lease"


def roll_out(cluster: ControlPlane, *words: str) -> None:
    """Wait until workloads are as they should be: the last ones named, in the namespace of the first."""
    options, names = (words[:2], words[2:]) if words[0] == "-n" else ((), words)
    for name in names:
        cluster.kubectl(*options, "rollout", "status", name, "--timeout=120s", timeout=150)


def running_pods(cluster: ControlPlane) -> Counter[tuple[str, str]]:
    """Return how many pods of which app are Ready on which node; all of them were scheduled as usual."""
    pods = [pod for pod in cluster.kubectl.get("pods", "-A")["items"] if is_ready(pod)]
    assert {pod["spec"]["schedulerName"] for pod in pods} <= {"default-scheduler"}
    return Counter((app_of(pod), pod["spec"]["nodeName"]) for pod in pods)


def app_of(pod: Any) -> str:
    labels = pod["metadata"]["labels"]
    return str(labels.get("app") or labels["k8s-app"])


def is_ready(pod: Any) -> bool:
    ready = [each for each in pod["status"].get("conditions", []) if each["type"] == "Ready"]
    return bool(ready) and ready[0]["status"] == "True" and "deletionTimestamp" not in pod["metadata"]


def leader(cluster: ControlPlane) -> str:
    lease = cluster.kubectl.get("lease", "kube-scheduler", "-n", "kube-system")
    return str(lease["spec"].get("holderIdentity") or "")


def binders(cluster: ControlPlane) -> Counter[tuple[str, str]]:
    """Return who bound how many pods: the user and the program."""
    records = map(json.loads, cluster.audit_log.read_text().splitlines())
    return Counter((record["user"]["username"], record["userAgent"].partition("/")[0]) for record in records)
