"""Remedies on a real control plane: the first one is applied literally, with kubectl, and the pod is bound then."""

import copy
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import PILOTAGE, ControlPlane
from kit.fixtures import Nodes
from kit.remedy_scene import Scene, pod
from kit.remedy_scenes import SCENES
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest

Manifest = dict[str, Any]

SECONDS = 120.0
SCHEDULER, LABEL = "remedied", "remedied"
CHART = REPOSITORY / "charts/pilotage/files"
CRDS = ("elasticquotas.scheduling.x-k8s.io", "podgroups.scheduling.x-k8s.io")
RIGHTS = "test-remedies"
CONFIGURATION = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 1
profiles:
- schedulerName: {SCHEDULER}
  plugins:
    multiPoint: {{enabled: [{{name: CapacityScheduling}}, {{name: Coscheduling}}]}}
    queueSort: {{enabled: [{{name: Coscheduling}}], disabled: [{{name: "*"}}]}}
  pluginConfig:
  - name: pilotage.dev/nodes
    args: {{selector: {{matchLabels: {{{LABEL}: "yes"}}}}}}
"""
# What only a pod that is made anew can have.
KEPT = ("name", "namespace", "labels", "annotations")

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
    rules = [*rights["CapacityScheduling"], *rights["Coscheduling"]]
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


class Stage:
    """A namespace with a pod that waits, and the program that says what would help."""

    def __init__(self, control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, *flags: str) -> None:
        self.kubectl, self.namespace = control_plane.kubectl, namespace
        self._control_plane, self._fake_nodes, self._flags = control_plane, fake_nodes, flags

    def explain(self, name: str) -> Manifest:
        """Return what the program says about a pod."""
        words = ["explain", f"{self.namespace}/{name}", "-o", "json", f"--kubeconfig={self._control_plane.kubeconfig}"]
        done = subprocess.run(
            [PILOTAGE, *words, *self._flags], capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode in (0, 3), done.stderr
        found: Manifest = json.loads(done.stdout)
        return found

    def first_remedy(self, name: str, text: str) -> Manifest:
        """Return the first remedy as soon as it is the one that is expected; the cluster may still be settling."""
        deadline = time.monotonic() + SECONDS
        while True:
            found = self.explain(name)
            texts = [each["text"] for each in found["remedies"]]
            if found["statusMessage"] and texts[:1] == [text]:
                return dict(found["remedies"][0])
            assert time.monotonic() < deadline, (found["message"], texts, found["remediesNote"], found["before"])
            time.sleep(0.5)

    def bring_nodes(self, *manifests: Manifest) -> None:
        """Register nodes, and cordon those that are to be."""
        open_ones = [copy.deepcopy(each) for each in manifests]
        cordoned = [each["metadata"]["name"] for each in open_ones if each["spec"].pop("unschedulable", False)]
        self._fake_nodes(*open_ones)
        for name in cordoned:
            self.kubectl("cordon", name)

    def apply(self, remedy: Manifest) -> None:
        """Do what a remedy says."""
        for step in remedy["steps"]:
            self.apply(step)
        if remedy["steps"]:
            return
        if remedy["patch"] is None:
            BY_HAND[remedy["code"]](self, remedy)
            return
        target, patch = remedy["target"], remedy["patch"]
        if target["kind"] == "Pod":
            self._made_anew(target["name"], patch)
        elif "apiVersion" in patch:
            self.kubectl.create(patch)
        else:
            kind = f"{target['kind']}.{target['group']}" if target["group"] else target["kind"]
            place = ("-n", target["namespace"]) if target["namespace"] else ()
            words = ("patch", kind, target["name"], *place, f"--type={target['patchType']}", "-p", json.dumps(patch))
            self.kubectl(*words)

    def _made_anew(self, name: str, patch: Manifest) -> None:
        given = json.dumps(self.kubectl.get("pod", name, "-n", self.namespace))
        words = ("patch", "--local", "-f", "-", "--type=strategic", "-p", json.dumps(patch), "-o", "json")
        changed = json.loads(self.kubectl(*words, stdin=given))
        changed["metadata"] = {key: value for key, value in changed["metadata"].items() if key in KEPT}
        del changed["status"]
        self.kubectl("delete", "pod", name, "-n", self.namespace, "--force", "--grace-period=0")
        self.kubectl.create(changed)

    def delete_pods(self, keys: list[str]) -> None:
        """Let pods be gone."""
        for key in keys:
            namespace, _, name = key.partition("/")
            self.kubectl("delete", "pod", name, "-n", namespace, "--force", "--grace-period=0")

    def more_members(self, number: int) -> None:
        """Create pods like the one that waits."""
        given = self.kubectl.get("pod", "web", "-n", self.namespace)
        for place in range(number):
            metadata = {"name": f"web-more-{place}", "namespace": self.namespace, "labels": given["metadata"]["labels"]}
            main = {key: given["spec"]["containers"][0][key] for key in ("name", "image", "resources")}
            spec = {"containers": [main], "schedulerName": given["spec"]["schedulerName"]}
            self.kubectl.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def until_bound(self, *names: str) -> None:
        """Wait until one of some pods has a node."""
        deadline = time.monotonic() + SECONDS
        while True:
            pods = self.kubectl.get("pods", "-n", self.namespace)["items"]
            if any(each["metadata"]["name"] in names and each["spec"].get("nodeName") for each in pods):
                return
            waiting = [each.get("status", {}).get("conditions") for each in pods if each["metadata"]["name"] in names]
            assert time.monotonic() < deadline, waiting
            time.sleep(0.2)


BY_HAND: dict[str, Callable[[Stage, Manifest], None]] = {
    "freePods": lambda stage, remedy: stage.delete_pods(remedy["values"]["pods"]),
    "moreMembers": lambda stage, remedy: stage.more_members(remedy["values"]["count"]),
}


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
def test_the_first_remedy_places_the_pod(
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
            each["spec"]["schedulerName"] = SCHEDULER
    # The next scene has nodes of the same names, on which these would count.
    gone = ("delete", "pods", "--all", "-n", namespace, "--force", "--grace-period=0")
    request.addfinalizer(lambda: stage.kubectl(*gone))
    stage.kubectl.create(*others, waiting)
    remedy = stage.first_remedy("web", scene.first.replace("default/", f"{namespace}/"))
    stage.apply(remedy)
    siblings = [each["metadata"]["name"] for each in others if each["kind"] == "Pod" and "nodeName" not in each["spec"]]
    if remedy["code"] == "reduceGangRequest":
        for name in siblings:
            stage._made_anew(name, remedy["patch"])
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
