"""Remedies on a real control plane: one of each scene is applied literally, with kubectl, and the pod is bound then."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.remedy_scene import PRIORITIES, Scene, pod
from kit.remedy_scenes import SCENES
from kit.remedy_stage import SECONDS, Stage
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest

SCHEDULER, BY_LABEL, LABEL = "remedied", "remedied-by-label", "remedied"
CHART = REPOSITORY / "charts/pilotage/files"
CRDS = (
    "elasticquotas.scheduling.x-k8s.io",
    "podgroups.scheduling.x-k8s.io",
    "noderesourcetopologies.topology.node.k8s.io",
)
PLUGINS = ("CapacityScheduling", "Coscheduling", "NodeResourceTopologyMatch")
RIGHTS = "test-remedies"
PROFILE = """
- schedulerName: {name}
  plugins:
    multiPoint: {{enabled: [{plugins}]}}
    queueSort: {{enabled: [{{name: Coscheduling}}], disabled: [{{name: "*"}}]}}
  pluginConfig:
  - name: pilotage.dev/nodes
    args: {{selector: {{matchLabels: {{{label}: "yes"}}}}}}
"""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 1
profiles:""" + "".join(
    PROFILE.format(name=name, label=LABEL, plugins=", ".join(f"{{name: {plugin}}}" for plugin in plugins))
    for name, plugins in ((SCHEDULER, PLUGINS), (BY_LABEL, (*PLUGINS, "Priority")))
)

PLAYED = [
    pytest.param(scene, id=scene.about, marks=[pytest.mark.full] if scene.live == "full" else [])
    for scene in SCENES
    if scene.live != "none"
]


@pytest.fixture(scope="module")
def scheduler(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Our scheduler, for nodes with a label of the test's own; gives its configuration."""
    kubectl = control_plane.kubectl
    for crd in CRDS:
        kubectl("apply", "--server-side", "-f", str(CHART / "crds" / f"{crd}.yaml"))
        kubectl.until_established(f"crd/{crd}")
    group = "rbac.authorization.k8s.io"
    rights = yaml.safe_load((CHART / "plugin-rights.yaml").read_text())
    rules = [rule for plugin in PLUGINS for rule in rights[plugin]]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": RIGHTS}, "rules": rules}
    given_to = [{"kind": "User", "name": "system:kube-scheduler", "apiGroup": group}]
    reference = {"kind": "ClusterRole", "name": RIGHTS, "apiGroup": group}
    binding = {**role, "kind": "ClusterRoleBinding", "subjects": given_to, "roleRef": reference}
    del binding["rules"]
    kubectl.apply(role, binding)
    file = tmp_path_factory.mktemp("remedies") / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    try:
        with control_plane.pilotage(f"--config={file}"):
            yield file
    finally:
        kubectl("delete", "clusterrole,clusterrolebinding", RIGHTS)
        kubectl.delete_definitions(*CRDS)


def moved(given: Any, namespace: str) -> Any:
    """Return manifests of a scene as they are in a namespace of the test's own."""
    if isinstance(given, dict):
        return {key: moved(value, namespace) for key, value in given.items()}
    if isinstance(given, list):
        return [moved(each, namespace) for each in given]
    return (
        {"default": namespace, "lender": f"{namespace}-lender"}.get(given, given) if isinstance(given, str) else given
    )


@pytest.mark.parametrize("scene", PLAYED)
def test_a_remedy_places_the_pod(
    control_plane: ControlPlane,
    namespace: str,
    fake_nodes: Nodes,
    scheduler: Path,
    scene: Scene,
    request: pytest.FixtureRequest,
) -> None:
    stage = Stage(control_plane, namespace, fake_nodes, f"--config={scheduler}")
    objects = moved(scene.objects, namespace)
    nodes = [each for each in objects if each["kind"] == "Node"]
    for each in nodes:
        each["metadata"]["labels"] |= {LABEL: "yes", "type": "kwok"}
        each["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
    stage.bring_nodes(*nodes)
    others = [each for each in objects if each["kind"] != "Node"]
    if any(each["metadata"].get("namespace") == f"{namespace}-lender" for each in others):
        stage.kubectl("create", "namespace", f"{namespace}-lender")
        request.addfinalizer(lambda: stage.kubectl("delete", "namespace", f"{namespace}-lender"))
    if any(each["kind"] == "ElasticQuota" for each in others):  # what it guarantees, the next scene could borrow
        request.addfinalizer(lambda: stage.kubectl("delete", "elasticquotas", "--all", "-n", namespace))
    waiting = moved(pod("web", **scene.web), namespace)
    for each in (*others, waiting):
        if each["kind"] == "Pod":
            each["spec"]["schedulerName"] = BY_LABEL if scene.config == PRIORITIES else SCHEDULER
    request.addfinalizer(lambda: stage.clear(*others))
    stage.bring(*others, waiting)
    first, applied = (text.replace("default/", f"{namespace}/") for text in (scene.first, scene.applied))
    remedy = stage.remedy("web", first, applied)
    stage.apply(remedy)
    siblings = [each["metadata"]["name"] for each in others if each["kind"] == "Pod" and "nodeName" not in each["spec"]]
    if remedy["code"] == "reduceGangRequest":
        for name in siblings:
            stage.like(remedy, name)
    stage.until_bound("web")


def test_a_cluster_of_kube_scheduler_alone(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes) -> None:
    """A Deployment's pod waits for the real kube-scheduler; its template is patched, and kube-scheduler binds it."""
    stage = Stage(control_plane, namespace, fake_nodes)
    stage.bring_nodes(node_manifest(f"{namespace}-n1", cpu="2", labels={LABEL: namespace}))
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "nodeSelector": {LABEL: namespace},
            "containers": [{"name": "main", "image": "localhost/pause:1", "resources": {"requests": {"cpu": "3"}}}],
        },
    }
    metadata = {"name": "web", "namespace": namespace}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    spec["strategy"] = {"type": "Recreate"}
    with control_plane.kube_scheduler():
        stage.kubectl.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
        name = _pod_of(stage)
        deadline = time.monotonic() + SECONDS
        while not (told := stage.explain(name))["statusMessage"]:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        remedy = next(each for each in told["remedies"] if each["code"] == "reduceRequest")
        assert remedy["text"].endswith(f": fits on {namespace}-n1")
        assert (remedy["target"]["kind"], remedy["target"]["name"]) == ("Deployment", "web")
        stage.apply(remedy)
        stage.kubectl(
            "-n", namespace, "wait", "deployment/web", "--for=condition=Available", f"--timeout={SECONDS:.0f}s"
        )


def _pod_of(stage: Stage) -> str:
    deadline = time.monotonic() + SECONDS
    while not (found := stage.kubectl.get("pods", "-n", stage.namespace, "-l", "app=web")["items"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return str(found[0]["metadata"]["name"])
