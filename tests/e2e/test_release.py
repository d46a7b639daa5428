"""The product as its users meet it, on real kubelets with our own images: Helm, profile, label, toggle, plugin."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from auditor.running import RunningAuditor
from kit.control_plane import NO_OWN_NODES, ControlPlane, without_own_nodes
from kit.installed import NAMESPACE, RELEASE, SCHEDULER, Installed, Manifest, real_nodes
from localcluster.paths import REPOSITORY
from pilotage.config.handshake import text_hash
from pilotage.testing import pod_manifest

LABEL = "priority.lixueduan.com"
IMAGES = ("localhost/pilotage-scheduler:dev", "localhost/pilotage-operator:dev")
# What a user of scheduler-plugins has; only the image is another one.
REFERENCE_STYLE = {
    "scheduler": {"name": SCHEDULER, "image": IMAGES[0]},
    "controller": {"replicaCount": 0},
    "plugins": {
        "enabled": [
            "Priority",
            "Coscheduling",
            "CapacityScheduling",
            "NodeResourceTopologyMatch",
            "NodeResourcesAllocatable",
        ]
    },
}

pytestmark = pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Two real nodes, the stock scheduler, and our images on the nodes."""
    with real_nodes("release", tmp_path_factory.mktemp("cluster")) as made:
        yield made


def web(name: str, replicas: int = 2) -> Manifest:
    [deployment] = yaml.safe_load_all((REPOSITORY / "examples" / "demo" / "web.yaml").read_text())
    text = json.dumps(deployment).replace('"web"', f'"{name}"')
    made: Manifest = json.loads(text)
    made["spec"]["replicas"] = replicas
    return made


@pytest.fixture
def installed(cluster: ControlPlane, tmp_path: Path) -> Installed:
    """Helm 4, pointed at the cluster; whatever the test before has installed is gone."""
    found = Installed(cluster, cluster.helm(4), tmp_path)
    found.helm.attempt("uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--wait", timeout=180)
    found.kubectl("delete", "deployments", "--all", "-n", "default")
    found.kubectl("delete", "crd", "schedulerprofiles.pilotage.dev", "--ignore-not-found")
    found.kubectl("label", "nodes", "--all", f"{LABEL}-")
    return found


def test_the_walk_through_of_a_user_of_scheduler_plugins(installed: Installed, tmp_path: Path) -> None:
    kubectl = installed.kubectl
    first, second = installed.cluster.cluster.nodes
    serves = {f"system:serviceaccount:{NAMESPACE}:{RELEASE}-pilotage-scheduler": [SCHEDULER]}
    serves["system:kube-scheduler"] = ["default-scheduler"]
    with RunningAuditor(
        installed.cluster.kubeconfig, installed.cluster.audit_log, tmp_path, serves=serves, wait_limit=0
    ) as auditor:
        # 1. The values install, and the profile becomes Ready with all of its plugins.
        installed.upgrade(REFERENCE_STYLE)
        installed.until(installed.is_ready, "the profile is Ready")
        assert {"Priority", "NodeResourceTopologyMatch", "NodeResourcesAllocatable"} <= set(installed.scores())

        # 2. Pods wait for a label with the reason.
        kubectl.create(web("web", replicas=1))
        why = f"Node:Node: {first} does not have label {LABEL}, 1 Node:Node: {second} does not have label {LABEL}"
        installed.until(lambda: f"0/2 nodes are available: 1 {why}." in notes(installed), "pods say why they wait")

        # 3. They go where the label is, to the higher one of two, and follow it when it changes.
        kubectl("label", "node", first, f"{LABEL}=10")
        installed.roll_out("web")
        assert installed.nodes_of("web") == {first}
        kubectl("label", "node", second, f"{LABEL}=20")
        installed.restart("web")
        assert installed.nodes_of("web") == {second}
        kubectl("label", "node", first, f"{LABEL}=30", "--overwrite")
        installed.restart("web")
        assert installed.nodes_of("web") == {first}

        # 4. Without the plugin, labels do not count; no pod of the release was replaced for that.
        before = pods_of_the_release(installed)
        installed.patch({"name": "Priority", "enabled": False})
        assert pods_of_the_release(installed) == before
        kubectl("label", "nodes", "--all", f"{LABEL}-")
        kubectl.create(web("free"))
        installed.roll_out("free")
    assert auditor.report["violations"] == []


@pytest.mark.full
def test_a_plugin_by_values_alone(installed: Installed) -> None:
    first, second = sorted(installed.cluster.cluster.nodes)
    plugin = (REPOSITORY / "examples" / "plugins" / "name_score.py").read_text()
    installed.upgrade(with_plugin(plugin))
    installed.until(installed.is_ready, "the profile is Ready")
    installed.kubectl.create(web("web", replicas=3))
    installed.roll_out("web")
    assert installed.nodes_of("web") == {second}
    # Another text of the file takes effect without an image build.
    pods = pods_of_the_release(installed)
    edited = plugin.replace("min(100, int", "100 - min(100, int")
    installed.upgrade(with_plugin(edited))
    installed.until(lambda: installed.plugin_files() == [text_hash(edited)], "the operator has the file")
    installed.until(installed.is_ready, "the profile is Ready again")
    assert pods_of_the_release(installed) == pods, "no pod was replaced"
    installed.restart("web")
    assert installed.nodes_of("web") == {first}


def with_plugin(text: str) -> Manifest:
    return {
        "scheduler": {"name": SCHEDULER, "customPlugins": {"name_score.py": text}},
        "plugins": {"enabled": [{"name": "NameScore", "weight": 100}]},
    }


@pytest.mark.full
@pytest.mark.parametrize("major", [pytest.param(3, id="Helm 3"), pytest.param(4, id="Helm 4")])
def test_it_comes_and_goes_without_a_trace(installed: Installed, major: int, tmp_path: Path) -> None:
    installed.helm = installed.cluster.helm(major)
    installed.until(lambda: not leases(installed), "what was here before is gone")
    before = everything(installed)
    installed.upgrade(FROM)
    installed.until(installed.is_ready, "the profile is Ready")
    installed.helm("test", RELEASE, "--namespace", NAMESPACE, timeout=120)
    with under_load(installed, tmp_path) as load:
        # From values A to B and back, which replaces all pods of the release.
        installed.upgrade(TO)
        installed.until(lambda: "Priority" in installed.scores(), "the values count")
        installed.helm("rollback", RELEASE, "1", "--namespace", NAMESPACE, "--wait", timeout=180)
        installed.until(lambda: "Priority" not in installed.scores(), "they count no more")
    assert len(load) > 10
    installed.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", timeout=180)
    installed.until(lambda: everything(installed) <= before, "everything is gone but the CRD")
    installed.upgrade(FROM)
    installed.until(installed.is_ready, "it can be installed again")


FROM: Manifest = {"scheduler": {"name": SCHEDULER}}
TO: Manifest = {
    "scheduler": {"name": SCHEDULER, "extraArgs": ["--v=3"]},
    "plugins": {"enabled": [{"name": "Priority", "points": ["score"]}]},
}


@contextmanager
def under_load(installed: Installed, folder: Path) -> Iterator[list[str]]:
    """Create pods all the while, with the auditor on; gives their names. In the end all of them have their node."""
    names: list[str] = []
    over = threading.Event()

    def create() -> None:
        while not over.wait(0.3):
            names.append(f"load-{len(names)}")
            pod = pod_manifest(names[-1], namespace="default", scheduler=SCHEDULER, cpu="1m", memory="1Mi")
            pod["spec"]["containers"][0]["imagePullPolicy"] = "Never"
            pod["spec"]["terminationGracePeriodSeconds"] = 0
            installed.kubectl.create(pod)

    thread = threading.Thread(target=create)
    account = f"system:serviceaccount:{NAMESPACE}:{RELEASE}-pilotage-scheduler"
    serves = {account: [SCHEDULER], "system:kube-scheduler": ["default-scheduler"]}
    control_plane = installed.cluster
    with RunningAuditor(
        control_plane.kubeconfig, control_plane.audit_log, folder, serves=serves, wait_limit=0
    ) as auditor:
        thread.start()
        try:
            yield names
        finally:
            over.set()
            thread.join()
        installed.until(lambda: bound(installed) >= set(names), "all pods have a node")
    assert auditor.report["violations"] == []
    installed.kubectl("delete", "pods", "--all", "-n", "default", "--wait=false")


def bound(installed: Installed) -> set[str]:
    items = installed.kubectl.get("pods", "-n", "default", "--field-selector=spec.nodeName!=")["items"]
    return {item["metadata"]["name"] for item in items}


def leases(installed: Installed) -> str:
    return installed.kubectl("get", "leases,pods", "-n", NAMESPACE, "-o", "name")


def notes(installed: Installed) -> str:
    items = installed.kubectl.get("events", "--field-selector=reason=FailedScheduling")["items"]
    return "\n".join(item.get("note") or item.get("message", "") for item in items)


def pods_of_the_release(installed: Installed) -> set[str]:
    items = installed.kubectl.get("pods", "-n", NAMESPACE)["items"]
    return {f"{item['metadata']['uid']} {item['status']['containerStatuses'][0]['restartCount']}" for item in items}


def everything(installed: Installed) -> set[str]:
    """Return all objects that a release could leave behind."""
    inside = "all,configmaps,serviceaccounts,roles,rolebindings,leases,poddisruptionbudgets,secrets,networkpolicies"
    across = "clusterroles,clusterrolebindings,priorityclasses"
    found = installed.kubectl("get", inside, "-n", NAMESPACE, "-o", "name")
    found += installed.kubectl("get", "roles,rolebindings", "-A", "-o", "name")
    found += installed.kubectl("get", across, "-o", "name")
    found += installed.kubectl.attempt("get", "schedulerprofiles", "-o", "name").stdout
    return set(found.split())
