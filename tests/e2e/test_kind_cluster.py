"""pytest-kind's own fixture on real nodes: our image runs, speaks with the API, and the kubelet has the last word."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_kind import KindCluster

from auditor.running import RunningAuditor
from images.build import build
from images.order import Wishes
from kit.control_plane import KIND
from localcluster import record
from pilotage.testing import pod_manifest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ask-the-api.yaml"
IMAGE = "localhost/pilotage-scheduler:dev"


def eventually(what: str, condition: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def image_on_nodes(kind_cluster: KindCluster) -> KindCluster:
    [built] = build(["scheduler"], Wishes(tag="dev"))
    subprocess.run([KIND, "load", "image-archive", built.archive, f"--name={kind_cluster.name}"], check=True)
    return kind_cluster


@pytest.fixture
def example(image_on_nodes: KindCluster) -> Iterator[KindCluster]:
    image_on_nodes.kubectl("apply", "-f", str(EXAMPLE))
    yield image_on_nodes
    image_on_nodes.kubectl("delete", "-f", str(EXAMPLE), "--ignore-not-found", "--wait=true", "--timeout=60s")


def real_nodes(cluster: KindCluster) -> list[str]:
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"]
    tainted = {node["metadata"]["name"] for node in nodes if node["spec"].get("taints")}
    return sorted({node["metadata"]["name"] for node in nodes} - tainted)


def test_two_replicas_of_our_image_run_on_two_nodes_and_reach_the_api(example: KindCluster) -> None:
    example.kubectl("rollout", "status", "deployment/ask-the-api", "--timeout=120s")
    pods = json.loads(example.kubectl("get", "pods", "-l", "app=ask-the-api", "-o", "json"))["items"]
    nodes = real_nodes(example)
    assert len(nodes) == 2
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == nodes
    for pod in pods:
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        log = example.kubectl("logs", name)
        assert f"{name} on {node} sees nodes:" in log
        assert all(node in log for node in nodes)
    example.kubectl("delete", "deployment/ask-the-api", "--wait=true", "--timeout=60s")
    eventually("the pods are gone", lambda: "ask-the-api" not in example.kubectl("get", "pods", "-o", "name"))


def test_a_name_is_resolved_and_a_service_reached_from_inside(image_on_nodes: KindCluster) -> None:
    program = (
        "import ssl, urllib.request as r;"
        "c = ssl.create_default_context(cafile='/var/run/secrets/kubernetes.io/serviceaccount/ca.crt');"
        "print(r.urlopen('https://kubernetes.default.svc.cluster.local/version', context=c).read().decode())"
    )
    pod = pod_manifest("asks-by-name", image=IMAGE, spec={"restartPolicy": "Never"})
    pod["spec"]["containers"][0] |= {"command": ["/app/.venv/bin/python", "-c", program], "imagePullPolicy": "Never"}
    image_on_nodes.kubectl("create", "-f", "-", input=json.dumps(pod))
    try:
        eventually("it has ended", lambda: phase(image_on_nodes, "asks-by-name") in ("Succeeded", "Failed"))
        assert '"gitVersion": "v1.' in image_on_nodes.kubectl("logs", "asks-by-name")
    finally:
        image_on_nodes.kubectl("delete", "pod", "asks-by-name")


def test_a_pod_beyond_the_free_cpu_bound_by_hand_is_refused_by_kubelet_and_auditor(
    kind_cluster: KindCluster, tmp_path: Path
) -> None:
    if record.load(kind_cluster.name) is None:
        pytest.skip("the real kind keeps no audit log of bindings to audit")
    node = real_nodes(kind_cluster)[0]
    offered = json.loads(kind_cluster.kubectl("get", "node", node, "-o", "json"))["status"]["allocatable"]["cpu"]
    pod = pod_manifest("too-much", cpu=f"{int(offered) * 1000 - 1}m", scheduler="by-hand")
    filler = pod_manifest("filler", cpu="10m", node=node)
    cluster = record.load_existing(kind_cluster.name)
    with RunningAuditor(cluster.identity_kubeconfig("admin"), cluster.audit_log, tmp_path) as auditor:
        for manifest in (filler, pod):
            kind_cluster.kubectl("create", "-f", "-", input=json.dumps(manifest))
        bind(kind_cluster, "too-much", node)
        eventually("the kubelet has judged", lambda: phase(kind_cluster, "too-much") == "Failed")
    refusal = json.loads(kind_cluster.kubectl("get", "pod", "too-much", "-o", "json"))["status"]
    kind_cluster.kubectl("delete", "pod", "too-much", "filler")
    assert refusal["reason"] == "OutOfcpu"
    assert [(found["rule"], found["pod"]) for found in auditor.report["violations"]] == [("overcommit", "too-much")]


def bind(cluster: KindCluster, pod: str, node: str) -> None:
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"kind": "Node", "name": node},
    }
    path = f"/api/v1/namespaces/default/pods/{pod}/binding"
    cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(binding))


def phase(cluster: KindCluster, pod: str) -> str:
    return str(cluster.kubectl("get", "pod", pod, "-o", "jsonpath={.status.phase}"))
