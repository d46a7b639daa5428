"""A plugin of one's own on real kubelets, whatever it does: two other profiles never stop, and nobody restarts.

Every step is one ConfigMap that is applied. The condition names the culprit, and the file as it was runs on.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kit.admin import Admin
from kit.control_plane import NO_OWN_NODES, without_own_nodes
from kit.installed import NAMESPACE, RELEASE, Installed, Manifest, real_nodes
from pilotage.config.handshake import text_hash
from pilotage.testing import pod_manifest

pytestmark = pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES)

SCHEDULER, OTHERS = "mine", ("first", "second")
SOURCE, FILE = "my-plugins", "everywhere.py"
STOPPED = 20.0  # seconds without a bound pod; what is seen is printed, and the machine may be busy
EDITS = 20
METHODS = ("pre_enqueue", "pre_filter", "filter", "pre_score", "score", "reserve", "permit", "pre_bind", "post_bind")
EVERYWHERE = '''
from pilotage.framework.api.plugin import (
    Filter, Permit, PostBind, PreBind, PreEnqueue, PreFilter, PreScore, Reserve, Score
)


class Everywhere(PreEnqueue, PreFilter, Filter, PreScore, Score, Reserve, Permit, PreBind, PostBind):
    """Takes part everywhere, and does something in one place."""

    wanted: int = 0

    def act(self, where):
        if where == "{where}":
            {what}

    def pre_enqueue(self, pod):
        return self.act("pre_enqueue")

    def pre_filter(self, cycle, pod):
        return self.act("pre_filter")

    def filter(self, cycle, pod, node):
        return self.act("filter")

    def pre_score(self, cycle, pod, nodes):
        return self.act("pre_score")

    def score(self, cycle, pod, node):
        return self.act("score") or self.wanted

    def reserve(self, cycle, pod, node):
        return self.act("reserve")

    def permit(self, cycle, pod, node):
        return self.act("permit")

    async def pre_bind(self, cycle, pod, node):
        return self.act("pre_bind")

    def post_bind(self, cycle, pod, node):
        return self.act("post_bind")
'''
HARMFUL = {
    "loops": ("score", "while True: pass"),
    "loops and swallows": ("score", "exec('while True:\\n try: 1\\n except BaseException: pass')"),
    "sleeps": ("filter", "import time; time.sleep(10)"),
    "exits": ("filter", "import sys; sys.exit()"),
    "takes 2 GB": ("score", "x = [0] * (1 << 28); raise RuntimeError(len(x))"),
    "answers with a wrong type": ("score", "return 'much'"),
    **{f"raises in {method}": (method, "raise ValueError('no')") for method in METHODS},
}
NOT_USABLE = {
    "has a syntax error": ("def f(:\n", f"{SOURCE}/{FILE}:1: syntax error"),
    "imports what is not there": ("import nowhere\n", f"{SOURCE}/{FILE}:1: it cannot be imported: ModuleNotFoundError"),
}
VALUES: Manifest = {"scheduler": {"createProfile": False}, "profiles": [{"name": name} for name in OTHERS]}


def text(where: str = "", what: str = "pass", mark: str = "") -> str:
    return EVERYWHERE.format(where=where, what=what) + f"# {mark}\n"


@dataclass
class Probe:
    """One pod of a profile after the other: created, bound, deleted; knows the longest time without a bound pod."""

    admin: Admin
    scheduler: str
    stopped: threading.Event = field(default_factory=threading.Event)
    longest: float = 0.0
    count: int = 0

    def run(self) -> None:
        pods = "/api/v1/namespaces/default/pods"
        while not self.stopped.wait(0.2):
            self.count += 1
            name = f"{self.scheduler}-{self.count}"
            started = time.monotonic()
            self.admin.post(pods, pod_manifest(name, scheduler=self.scheduler, cpu="1m"))
            while not self.admin.get(f"{pods}/{name}")["spec"].get("nodeName") and not self.stopped.is_set():
                time.sleep(0.05)
            self.longest = max(self.longest, time.monotonic() - started)
            self.admin.delete(f"{pods}/{name}?gracePeriodSeconds=0")


@contextmanager
def probing(installed: Installed) -> Iterator[list[Probe]]:
    probes = [Probe(Admin(installed.cluster.cluster), name) for name in OTHERS]
    threads = [threading.Thread(target=probe.run) for probe in probes]
    for thread in threads:
        thread.start()
    try:
        yield probes
    finally:
        for probe in probes:
            probe.stopped.set()
        for thread in threads:
            thread.join()
        for probe in probes:
            probe.admin.close()


@dataclass
class Stage:
    """What a person does with one plugin file."""

    installed: Installed

    def apply(self, source: str | None) -> None:
        if source is None:
            self.installed.kubectl("delete", "configmap", SOURCE, "-n", NAMESPACE)
            return
        metadata = {"name": SOURCE, "namespace": NAMESPACE, "labels": {"pilotage.dev/plugins": RELEASE}}
        self.installed.kubectl.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {FILE: source}}
        )

    def status(self) -> Manifest:
        found = self.installed.kubectl.attempt("get", "schedulerprofile", SCHEDULER, "-o", "json")
        return {} if found.returncode else dict(json.loads(found.stdout).get("status", {}))

    def condition(self, kind: str) -> Manifest:
        found = self.status().get("conditions", [])
        return next((dict(each) for each in found if each["type"] == kind), {})

    def runs(self, source: str) -> bool:
        status = self.status()
        ready: Manifest = next((each for each in status.get("conditions", []) if each["type"] == "Ready"), {})
        return bool(
            ready.get("status") == "True" and status.get("pluginFiles") == {f"{SOURCE}/{FILE}": text_hash(source)}
        )

    def until_it_runs(self, source: str) -> float:
        started = time.monotonic()
        self.installed.until(lambda: self.runs(source), "every replica runs the file", seconds=120)
        return time.monotonic() - started

    def pods(self, prefix: str, count: int) -> None:
        self.installed.kubectl.create(
            *(pod_manifest(f"{prefix}-{number}", scheduler=SCHEDULER, cpu="1m") for number in range(count))
        )

    def remove_pods(self) -> None:
        self.installed.kubectl(
            "delete", "pods", "-n", "default", "--field-selector=spec.schedulerName=mine", "--grace-period=0", "--force"
        )


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installed]:
    """Helm 4, pointed at a cluster of its own."""
    with real_nodes("harmful", tmp_path) as cluster:
        yield Installed(cluster, cluster.helm(4), tmp_path)


def restarts(installed: Installed) -> dict[str, int]:
    items = installed.kubectl.get("pods", "-n", NAMESPACE)["items"]
    return {
        item["metadata"]["name"]: sum(each["restartCount"] for each in item["status"].get("containerStatuses", []))
        for item in items
    }


def test_whatever_a_plugin_does_others_go_on(installed: Installed) -> None:
    installed.upgrade(VALUES)
    stage, good = Stage(installed), text(mark="good")
    stage.apply(good)
    api: dict[str, Any] = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile"}
    spec = {"plugins": [{"name": "Everywhere"}], "rollout": {"progressDeadlineSeconds": 30}}
    installed.kubectl.apply(api | {"metadata": {"name": SCHEDULER}, "spec": spec})
    stage.until_it_runs(good)
    installed.until(lambda: "lastGood" in stage.status(), "the file has proved itself", seconds=120)
    before = restarts(installed)
    with probing(installed) as probes:
        print("seconds from kubectl apply to acknowledged:", *(f"{each:.2f}" for each in edits(stage, good)))
        told(f"{EDITS} edits", probes)
        for what, (source, message) in NOT_USABLE.items():
            stage.apply(source)
            installed.until(lambda: stage.condition("Accepted").get("reason") == "BrokenPlugin", f"a file that {what}")
            assert message in stage.condition("Accepted")["message"]
            told(f"a file that {what}", probes)
        for what, (where, body) in HARMFUL.items():
            stage.apply(good)
            stage.until_it_runs(good)
            harmful = text(where, body, what)
            stage.apply(harmful)
            seconds = stage.until_it_runs(harmful)
            number = list(HARMFUL).index(what)
            stage.pods(f"mine-{number}", 4)
            installed.until(
                lambda: stage.condition("RolledBack").get("status") == "True", f"{what}: it is taken back", 120
            )
            condition = stage.condition("RolledBack")
            assert condition["reason"] == "PluginFailing", what
            assert "Everywhere" in condition["message"], what
            told(f"a plugin that {what} ({seconds:.1f} s until it ran): {condition['message'][:160]}", probes)
            stage.remove_pods()
        stage.apply(None)
        installed.until(lambda: stage.condition("Accepted").get("reason") == "UnknownPlugin", "the file is gone")
        told("the file is gone", probes)
        installed.kubectl.apply(api | {"metadata": {"name": SCHEDULER}, "spec": {"rollout": spec["rollout"]}})
        installed.until(lambda: stage.condition("Ready").get("reason") == "Acknowledged", "it is healed")
    assert restarts(installed) == before
    assert max(probe.longest for probe in probes) < STOPPED


def edits(stage: Stage, good: str) -> Iterator[float]:
    """Apply the file again and again, each time with another text, and yield how long each takes to run everywhere."""
    for number in range(EDITS):
        source = good if number == EDITS - 1 else text(mark=f"edit {number}")
        started = time.monotonic()
        stage.apply(source)
        stage.until_it_runs(source)
        yield time.monotonic() - started


def told(what: str, probes: list[Probe]) -> None:
    gaps = ", ".join(f"{probe.longest:.1f} s" for probe in probes)
    print(f"{what}; longest wait of other profiles until now: {gaps}, pods: {sum(probe.count for probe in probes)}")
