"""The product as its users meet it, on real kubelets with our own images: Helm, profile, label, toggle, plugin."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from auditor.running import RunningAuditor
from cluster import lifecycle, record
from cluster.paths import REPOSITORY
from images.build import build
from images.order import Wishes
from pilotage.config.handshake import text_hash
from pilotage.testing import pod_manifest
from testbed.commands import Command
from testbed.control_plane import KIND, NO_OWN_NODES, ControlPlane, name_for_this_run, sweep, without_own_nodes

NAME = f"{name_for_this_run()}-release"
NAMESPACE, RELEASE = "pilotage", "demo"
CHART = str(REPOSITORY / "charts" / "pilotage")
LABEL = "priority.lixueduan.com"
SCHEDULER = "i-scheduler"
IMAGES = ("localhost/pilotage-scheduler:dev", "localhost/pilotage-operator:dev")
OWN = {"image": {"tag": "dev", "pullPolicy": "Never"}}
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
Manifest = dict[str, Any]

pytestmark = pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Two real nodes, the stock scheduler, and our images on the nodes."""
    kubeconfig = f"--kubeconfig={tmp_path_factory.mktemp('cluster') / 'kubeconfig'}"
    sweep()
    try:
        subprocess.run([KIND, "create", "cluster", "--shape=full", f"--name={NAME}", kubeconfig], check=True)
        # The archive, not the image by its name: another checkout may build one of that name at any moment.
        for built in build(["scheduler", "operator"], Wishes(tag="dev")):
            subprocess.run([KIND, "load", "image-archive", built.archive, f"--name={NAME}"], check=True)
        made = ControlPlane(record.load_existing(NAME))
        made.kubectl("create", "namespace", NAMESPACE)
        made.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
        yield made
    finally:
        lifecycle.delete(NAME)


class Installed:
    """A release on the cluster, and what a person would do with it."""

    def __init__(self, cluster: ControlPlane, helm: Command, folder: Path) -> None:
        self.cluster, self.helm, self.kubectl = cluster, helm, cluster.kubectl
        self._folder = folder

    def upgrade(self, values: Manifest, *words: str) -> None:
        """Install or upgrade with these values, and wait until everything is up."""
        file = self._folder / "values.yaml"
        file.write_text(yaml.safe_dump(values | OWN))
        here = ("--namespace", NAMESPACE, "--values", str(file), "--wait", "--timeout", "3m")
        self.helm("upgrade", "--install", RELEASE, CHART, *here, *words, timeout=240)

    def profile(self) -> Manifest:
        """Return the profile; empty if there is none yet."""
        found = self.kubectl.attempt("get", "schedulerprofile", SCHEDULER, "-o", "json")
        return {} if found.returncode else dict(json.loads(found.stdout))

    def condition(self, kind: str) -> Manifest:
        found = self.profile().get("status", {}).get("conditions", [])
        return next((dict(each) for each in found if each["type"] == kind), {})

    def is_ready(self) -> bool:
        generation = self.profile().get("metadata", {}).get("generation")
        ready = self.condition("Ready")
        return bool(ready and ready["status"] == "True" and ready["observedGeneration"] == generation)

    def scores(self) -> list[str]:
        """Return the plugins that score for the profile, as its status has them."""
        return list(self.profile().get("status", {}).get("plugins", {}).get("score", []))

    def plugin_files(self) -> list[str]:
        """Return the hashes of the plugin files that run, as the profile's status has them."""
        return list(self.profile().get("status", {}).get("pluginFiles", {}).values())

    def patch(self, *plugins: Manifest) -> float:
        """Give the profile these plugins; returns the seconds until every replica runs them."""
        body = json.dumps({"spec": {"plugins": list(plugins)}})
        started = time.monotonic()
        self.kubectl("patch", "schedulerprofile", SCHEDULER, "--type=merge", "-p", body)
        self.until(self.is_ready, "the profile is Ready")
        return time.monotonic() - started

    def until(self, holds: Callable[[], object], what: str, seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not yet: {what}\n{self.story()}"
            time.sleep(0.1)

    def story(self) -> str:
        told = self.kubectl.attempt("describe", "schedulerprofiles").stdout
        for component in ("operator", "scheduler"):
            selector = f"app.kubernetes.io/component={component}"
            told += self.kubectl.attempt("logs", "-n", NAMESPACE, "-l", selector, "--tail=40").stdout
        return told + self.kubectl.attempt("get", "pods", "-A", "-o", "wide").stdout

    def nodes_of(self, app: str) -> set[str]:
        """Return where the pods of an app run."""
        items = self.kubectl.get("pods", "-l", f"app={app}")["items"]
        alive = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return {item["spec"].get("nodeName", "") for item in alive}

    def roll_out(self, app: str) -> None:
        self.kubectl("rollout", "status", f"deployment/{app}", "--timeout=90s")

    def restart(self, app: str) -> None:
        self.kubectl("rollout", "restart", f"deployment/{app}")
        self.roll_out(app)
        self.until(lambda: len(self.nodes_of(app)) == 1, "the old pods are gone")


def web(name: str, replicas: int = 2) -> Manifest:
    [deployment] = yaml.safe_load_all((REPOSITORY / "examples" / "demo" / "web.yaml").read_text())
    text = json.dumps(deployment).replace('"web"', f'"{name}"')
    made: Manifest = json.loads(text)
    made["spec"]["replicas"] = replicas
    return made


@pytest.fixture
def installed(cluster: ControlPlane, tmp_path: Path) -> Iterator[Installed]:
    """Helm 4, pointed at the cluster; whatever it installed is gone afterwards."""
    found = Installed(cluster, cluster.helm(4), tmp_path)
    yield found
    found.helm.attempt("uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--wait", timeout=180)
    found.kubectl("delete", "deployments", "--all", "-n", "default")
    found.kubectl("delete", "crd", "schedulerprofiles.pilotage.dev", "--ignore-not-found")
    found.kubectl("label", "nodes", "--all", f"{LABEL}-")


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


@pytest.mark.parametrize("major", [3, 4], ids=["Helm 3", "Helm 4"])
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
