"""A plugin of one's own on a running release: one ConfigMap is applied, and both replicas run it at once.

Helm installs the chart; scheduler (two replicas) and operator are the real programs with the accounts of the chart. Two
other profiles get a pod all the time, whatever is done to the plugin.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from kit.release import TO_HOME_NODES, Process, Release, home_nodes
from pilotage.config.handshake import text_hash
from pilotage.testing import node_manifest, pod_manifest

SCHEDULER, BYSTANDERS = "mine", ("first", "second")
RELEASE, SOURCE, FILE = "files", "my-plugins", "chosen_node.py"
PACE = 0.2  # seconds between two pods of the bystanders
SPEC = {"plugins": [{"name": "ChosenNode", "weight": 1000}], "rollout": {"progressDeadlineSeconds": 10}}
VALUES: dict[str, Any] = {
    "scheduler": {"createProfile": False, **TO_HOME_NODES},
    "operator": TO_HOME_NODES,
    "profiles": [{"name": name} for name in BYSTANDERS],
}
CHOSEN = '''
from pilotage.plugin import STATIC, Score


class ChosenNode(Score):
    """Prefer the node whose name has this ending."""

    ending: str = "{ending}"

    depends_on = STATIC

    def score(self, cycle, pod, node):
        {body}
        return 100 if node.name.endswith(self.ending) else 0
'''


def text(ending: str, body: str = "") -> str:
    return CHOSEN.format(ending=ending, body=body or "pass")


@dataclass
class Bystanders:
    """Pods of other profiles, one after the other."""

    control_plane: ControlPlane
    namespace: str
    created: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        number = 0
        while not self.stopped.wait(PACE):
            name = f"bystander-{number}"
            scheduler = BYSTANDERS[number % 2]
            self.control_plane.create([pod_manifest(name, namespace=self.namespace, scheduler=scheduler, cpu="1m")])
            self.created.append(name)
            number += 1


@dataclass
class Stage:
    """The release, its programs, and what a person does with it."""

    release: Release
    processes: list[Process]
    number: int = 0

    def apply(self, source: str | None) -> None:
        """Give the ConfigMap with the plugin this text; None takes it away."""
        where = ("-n", self.release.namespace)
        if source is None:
            self.release.kubectl("delete", "configmap", SOURCE, *where)
            return
        metadata = {"name": SOURCE, "namespace": self.release.namespace, "labels": {"pilotage.dev/plugins": RELEASE}}
        self.release.kubectl.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {FILE: source}}
        )

    def profile(self) -> dict[str, Any]:
        return self.release.profile(SCHEDULER)

    def condition(self, kind: str) -> dict[str, Any]:
        found = self.profile().get("status", {}).get("conditions", [])
        return next((each for each in found if each["type"] == kind), {})

    def runs(self, source: str) -> bool:
        """Tell whether every replica runs this text."""
        profile = self.profile()
        status = profile.get("status", {})
        ready: dict[str, Any] = next((each for each in status.get("conditions", []) if each["type"] == "Ready"), {})
        at = ready.get("observedGeneration") == profile["metadata"]["generation"]
        files = status.get("pluginFiles")
        return bool(at and ready["status"] == "True" and files == {f"{SOURCE}/{FILE}": text_hash(source)})

    def until_it_runs(self, source: str) -> None:
        self.until(lambda: self.runs(source), "every replica runs the file")

    def until(self, holds: Any, what: str) -> None:
        self.release.until(holds, what, self.processes)

    def place(self, scheduler: str = SCHEDULER) -> str:
        """Create a pod, and return the node that it gets."""
        self.number += 1
        name = f"mine-{self.number}"
        self.release.control_plane.create(
            [pod_manifest(name, namespace=self.release.namespace, scheduler=scheduler, cpu="1m")]
        )

        def node() -> str:
            return str(self.release.kubectl.get("pod", name, "-n", self.release.namespace)["spec"].get("nodeName", ""))

        self.until(node, f"{name} is bound")
        return node()


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path) -> Iterator[Stage]:
    """An installed release with a profile that runs a plugin of a ConfigMap."""
    nodes = [node_manifest(f"{namespace}-{end}", cpu="64", memory="256Gi", pods=5000) for end in ("a", "b")]
    fake_nodes(*home_nodes(namespace), *nodes)
    found = Release(control_plane, namespace, RELEASE, tmp_path, 4)
    with ExitStack() as stack:
        stack.callback(uninstall, found)
        found.install(values=VALUES)
        with control_plane.kube_scheduler():
            deployment = f"deployment/{RELEASE}-pilotage-scheduler"
            found.kubectl("-n", namespace, "rollout", "status", deployment, "--timeout=60s")
        components = ("operator", "scheduler")
        processes = [each for name in components for each in stack.enter_context(found.processes(name))]
        playing = Stage(found, processes)
        playing.apply(text("a"))
        api = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile"}
        found.kubectl.apply(api | {"metadata": {"name": SCHEDULER}, "spec": SPEC})
        playing.until_it_runs(text("a"))
        yield playing


def uninstall(release: Release) -> None:
    release.helm("uninstall", release.name, "--namespace", release.namespace)
    release.kubectl("delete", "crd", "schedulerprofiles.pilotage.dev", "--ignore-not-found")


@pytest.fixture
def bystanders(stage: Stage, audit: Audit) -> Iterator[Bystanders]:
    """Pods of other profiles, all of which are bound in the end; the auditor sees no violation."""
    namespace = stage.release.namespace
    found = Bystanders(stage.release.control_plane, namespace)
    thread = threading.Thread(target=found.run)
    serves = {f"system:serviceaccount:{namespace}:{RELEASE}-pilotage-scheduler": [SCHEDULER, *BYSTANDERS]}
    with audit(serves=serves, namespaces=[namespace], wait_limit=0) as auditing:
        thread.start()
        try:
            yield found
        finally:
            found.stopped.set()
            thread.join()
        stage.until(lambda: all(placed(stage, found.created)), "all pods of other profiles are bound")
    assert auditing.report["violations"] == []
    print(f"longest wait of {len(found.created)} pods of other profiles: {max(placed(stage, found.created)):.1f} s")


def placed(stage: Stage, names: list[str]) -> list[float]:
    """Return for each pod how many seconds it waited for its node; 0 for one that still waits."""
    items = {
        item["metadata"]["name"]: item
        for item in stage.release.kubectl.get("pods", "-n", stage.release.namespace)["items"]
    }
    return [_waited(items[name]) for name in names]


def _waited(pod: dict[str, Any]) -> float:
    conditions = pod.get("status", {}).get("conditions", [])
    since = next((each for each in conditions if each["type"] == "PodScheduled" and each["status"] == "True"), None)
    if since is None:
        return 0.0
    created, bound = (
        time.strptime(each, "%Y-%m-%dT%H:%M:%SZ")
        for each in (pod["metadata"]["creationTimestamp"], since["lastTransitionTime"])
    )
    return max(0.1, time.mktime(bound) - time.mktime(created))


def explained(stage: Stage, pod: str) -> str:
    """Return what `pilotage explain` tells, which finds configuration and plugin files in the cluster."""
    command = [str(Path(sys.executable).with_name("pilotage")), "explain", f"{stage.release.namespace}/{pod}"]
    words = [f"--kubeconfig={stage.release.control_plane.kubeconfig}"]
    refused = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert refused.returncode == 2, "nobody's code is run unless the user says so"
    named = f"--config-map={stage.release.namespace}/{RELEASE}-pilotage-config"
    assert named.replace("=", " ") in refused.stderr
    return subprocess.run([*command, *words, named], capture_output=True, text=True, check=True).stdout


def uids(stage: Stage) -> dict[str, str]:
    selector = f"app.kubernetes.io/instance={RELEASE}"
    items = stage.release.kubectl.get("pods", "-n", stage.release.namespace, "-l", selector)["items"]
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}


def test_an_edited_file_is_live_on_every_replica_and_no_pod_is_replaced(
    stage: Stage, bystanders: Bystanders, at_length: bool
) -> None:
    pods = uids(stage)
    seconds = []
    for number in range(20 if at_length else 5):
        source = text("ab"[(number + 1) % 2]) + f"# {number}\n"
        started = time.monotonic()
        stage.apply(source)
        stage.until_it_runs(source)
        seconds.append(time.monotonic() - started)
        assert stage.place().endswith("ab"[(number + 1) % 2])
    print("seconds from kubectl apply to acknowledged:", *(f"{each:.2f}" for each in seconds))
    assert "ChosenNode x1000" in explained(stage, f"mine-{stage.number}"), "explain knows the plugin of the file"
    assert uids(stage) == pods
    assert all(process.program.poll() is None for process in stage.processes)


@pytest.mark.parametrize(
    ("source", "reason", "message"),
    [
        pytest.param(
            text("b").replace("node):", "node)"),
            "BrokenPlugin",
            f"{SOURCE}/{FILE}:12: syntax error: expected ':'",
            id="a syntax error",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "import nowhere\n" + text("b"),
            "BrokenPlugin",
            f"{SOURCE}/{FILE}:1: it cannot be imported: ModuleNotFoundError: No module named 'nowhere'",
            id="an import that fails",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "while True: pass\n",
            "BrokenPlugin",
            f"{SOURCE}/{FILE}: its import did not finish within 5 s",
            id="it loops as it is imported",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "x = [0] * (1 << 28)\n" + text("b"),
            "BrokenPlugin",
            f"{SOURCE}/{FILE}:1: it cannot be imported: MemoryError",
            id="2 GB as it is imported",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "import sys; sys.exit()\n",
            "BrokenPlugin",
            f"{SOURCE}/{FILE}:1: it cannot be imported: SystemExit",
            id="it exits as it is imported",
            marks=pytest.mark.full,
        ),
        pytest.param(
            None,
            "UnknownPlugin",
            f"{SOURCE}/{FILE}, which defined it, was deleted",
            id="the file is gone",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_file_that_cannot_be_used_leaves_what_runs(
    stage: Stage, bystanders: Bystanders, source: str | None, reason: str, message: str
) -> None:
    before = stage.profile()["status"]["configHash"]
    stage.apply(source)
    stage.until(lambda: stage.condition("Accepted").get("reason") == reason, "the condition says so")
    assert message in stage.condition("Accepted")["message"]
    assert stage.profile()["status"]["configHash"] == before
    assert stage.place().endswith("a")
    healed = text("b")
    stage.apply(healed)
    stage.until_it_runs(healed)
    assert stage.place().endswith("b")


@pytest.mark.full
def test_a_new_argument_comes_with_its_file(stage: Stage, bystanders: Bystanders) -> None:
    patch = json.dumps({"spec": {"plugins": [{"name": "ChosenNode", "weight": 1000, "args": {"start": "x"}}]}})
    stage.release.kubectl("patch", "schedulerprofile", SCHEDULER, "--type=merge", "-p", patch)
    stage.until(lambda: stage.condition("Accepted").get("reason") == "Invalid", "the argument is not known")
    source = text("b").replace("    depends_on", '    start: str = ""\n\n    depends_on')
    stage.apply(source)
    stage.until_it_runs(source)
    assert stage.place().endswith("b")


@pytest.mark.full
def test_a_leader_that_is_killed_in_the_middle_of_a_swap_leaves_nobody_behind(
    stage: Stage, bystanders: Bystanders
) -> None:
    schedulers = [process for process in stage.processes if "scheduler" in process.pod]
    source = text("b")
    stage.apply(source)
    schedulers[0].program.kill()
    with stage.release.process("scheduler", schedulers[0].pod) as again:
        stage.processes.append(again)
        stage.until_it_runs(source)
        assert stage.place().endswith("b")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("while True: pass", "it did not return within 1s in score", id="it loops"),
        pytest.param(
            "import time; time.sleep(10)",
            "it did not return within 1s in score",
            id="it sleeps",
            marks=pytest.mark.full,
        ),
        pytest.param("raise SystemExit", "SystemExit", id="it exits", marks=pytest.mark.full),
        pytest.param(
            "return 'much'", "which is no whole number", id="it answers with a wrong type", marks=pytest.mark.full
        ),
        pytest.param("raise ValueError('no')", "ValueError: no", id="it raises", marks=pytest.mark.full),
    ],
)
def test_a_plugin_that_does_harm_is_taken_back_and_nobody_else_stops(
    stage: Stage, bystanders: Bystanders, body: str, message: str
) -> None:
    stage.until(lambda: "lastGood" in stage.profile()["status"], "the file has proved itself")
    harmful = text("b", body)
    stage.apply(harmful)
    stage.until_it_runs(harmful)
    stage.release.control_plane.create(
        [
            pod_manifest(f"harmed-{number}", namespace=stage.release.namespace, scheduler=SCHEDULER, cpu="1m")
            for number in range(5)
        ]
    )
    stage.until(lambda: stage.condition("RolledBack").get("status") == "True", "it is taken back")
    told = stage.condition("RolledBack")
    assert told["reason"] == "PluginFailing"
    assert "ChosenNode" in told["message"]
    assert message in told["message"]
    assert stage.profile()["status"]["pluginFiles"] == {f"{SOURCE}/{FILE}": text_hash(text("a"))}
    assert stage.place().endswith("a")
    assert all(process.program.poll() is None for process in stage.processes)


DEADLOCK = """import ctypes
        held, libc = ctypes.create_string_buffer(64), ctypes.CDLL(None)
        libc.pthread_mutex_lock(held)
        libc.pthread_mutex_lock(held)"""


@pytest.mark.full
def test_a_plugin_that_stops_the_leader_for_good_is_taken_back_and_another_replica_goes_on(
    stage: Stage, bystanders: Bystanders
) -> None:
    stage.until(lambda: "lastGood" in stage.profile()["status"], "the file has proved itself")
    deadly = text("b", DEADLOCK)
    stage.apply(deadly)
    stage.until_it_runs(deadly)
    pod = pod_manifest("deadly", namespace=stage.release.namespace, scheduler=SCHEDULER, cpu="1m")
    stage.release.control_plane.create([pod])
    stage.until(lambda: stage.condition("RolledBack").get("status") == "True", "it is taken back")
    assert "ChosenNode stopped a replica" in stage.condition("RolledBack")["message"]
    stage.until(lambda: any(each.program.poll() is not None for each in stage.processes), "the leader ends itself")
    assert stage.place().endswith("a"), "by the other replica, and the file as it was"
