"""Plugins that loop, sleep, exit, swallow or eat memory, on a real control plane: another profile's pods never stop."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.admin import Admin
from kit.control_plane import ControlPlane, RunningPilotage
from kit.fixtures import Nodes
from pilotage.testing import node_manifest, pod_manifest

BAD, GOOD = "bad", "good"
PODS = 12  # of the bad profile, at once
SECONDS = 20.0  # for which they do harm
EVERY = 0.1  # seconds between two pods of the good profile
STOPPED = 15.0  # seconds without a bound pod; what is meant is a little over one, and the machine may be busy

PLUGIN = '''
import os, sys, time
from pilotage.plugin import Filter, Permit, PreBind, PreEnqueue, Reserve, Score


def deed():
    %s


class Harmful(%s):
    """Does harm."""

    %sdef %s:
        if pod.namespace != "kube-system":
            deed()
'''
SCORE = "score(self, cycle, pod, node)"
DEEDS = [
    pytest.param(
        "while True: pass",
        "Score",
        SCORE,
        "did not return within 1s in score",
        id="a loop in score",
        marks=pytest.mark.full,
    ),
    pytest.param(
        "time.sleep(10)",
        "Score",
        SCORE,
        "did not return within 1s in score",
        id="a sleep in score",
        marks=pytest.mark.full,
    ),
    pytest.param(
        "while True:\n        try: time.sleep(1)\n        except BaseException: pass",
        *("Filter", "filter(self, cycle, pod, node)", "did not return within 1s in filter"),
        id="a loop in filter that swallows everything",
    ),
    pytest.param("sys.exit(1)", "Score", SCORE, "SystemExit: 1", id="an exit in score", marks=pytest.mark.full),
    pytest.param(
        "raise KeyboardInterrupt",
        "Reserve",
        "reserve(self, cycle, pod, node)",
        "KeyboardInterrupt",
        id="^C",
        marks=pytest.mark.full,
    ),
    pytest.param(
        "time.sleep(10)",
        "PreEnqueue",
        "pre_enqueue(self, pod)",
        "",
        id="a sleep in pre_enqueue",
        marks=pytest.mark.full,
    ),
    pytest.param(
        "while True: pass",
        *("PreBind", "pre_bind(self, cycle, pod, node)", "did not return within 1s in pre_bind"),
        id="a loop in pre_bind",
        marks=pytest.mark.full,
    ),
]


def config(folder: Path) -> Path:
    """Write a configuration with two profiles, one of which has the plugin."""
    profiles = [
        {"schedulerName": name, "plugins": {"multiPoint": {choice: [{"name": "Harmful"}]}}}
        for name, choice in ((GOOD, "disabled"), (BAD, "enabled"))
    ]
    api = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({**api, "profiles": profiles}))
    return file


def plugins(folder: Path, source: str) -> Path:
    """Write the plugin, and return its folder."""
    (folder / "plugins").mkdir(exist_ok=True)
    (folder / "plugins" / "harmful.py").write_text(source)
    return folder / "plugins"


@pytest.fixture(autouse=True)
def _leave_no_pods(control_plane: ControlPlane, namespace: str) -> Iterator[None]:
    yield
    control_plane.kubectl("-n", namespace, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")


@contextmanager
def scheduler(control_plane: ControlPlane, folder: Path, source: str, *flags: str) -> Iterator[RunningPilotage]:
    """Run the scheduler with a plugin of its own that only one profile has."""
    given = (f"--config={config(folder)}", f"--plugin-dir={plugins(folder, source)}", *flags)
    with control_plane.pilotage(*given) as running:
        until(lambda: "scheduling pods of" in running.log.read_text(), "it schedules", running)
        yield running


def until(holds: Any, what: str, running: RunningPilotage, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert running.process.poll() is None, f"it has ended: {running.log.read_text()[-3000:]}"
        assert time.monotonic() < deadline, f"not seen: {what}\n{running.log.read_text()[-3000:]}"
        time.sleep(0.05)


class Stream:
    """Creates pods of the good profile, one after the other, until told to stop."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._admin, self._namespace = Admin(control_plane.cluster), namespace
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.created: dict[str, float] = {}

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(20)
        self._admin.close()

    def _run(self) -> None:
        number = 0
        while not self._stopped.wait(EVERY):
            name = f"good-{number}"
            pod = pod_manifest(name, namespace=self._namespace, scheduler=GOOD, cpu="1m")
            self._admin.post(f"/api/v1/namespaces/{self._namespace}/pods", pod)
            self.created[name] = time.time()
            number += 1


def binds(log: str) -> list[float]:
    """Return when pods of the good profile were bound, in seconds of the day, as the log tells."""
    found = re.findall(r"^I\d{4} (\d\d):(\d\d):([\d.]+).*Successfully bound pod to node.*good-", log, re.MULTILINE)
    return [int(hours) * 3600 + int(minutes) * 60 + float(seconds) for hours, minutes, seconds in found]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("deed", "base", "method", "told"), DEEDS)
def test_another_profile_never_stops(
    control_plane: ControlPlane,
    namespace: str,
    fake_nodes: Nodes,
    tmp_path: Path,
    deed: str,
    base: str,
    method: str,
    told: str,
    request: pytest.FixtureRequest,
) -> None:
    fake_nodes(*(node_manifest(f"{namespace}-{number}", cpu=64, pods=400) for number in range(3)))
    awaited = "async " if base == "PreBind" else ""
    with scheduler(control_plane, tmp_path, PLUGIN % (deed, base, awaited, method)) as running:
        stream = Stream(control_plane, namespace)
        stream.start()
        time.sleep(2)
        control_plane.create(
            [pod_manifest(f"bad-{number}", namespace=namespace, scheduler=BAD, cpu="1m") for number in range(PODS)]
        )
        time.sleep(SECONDS)
        stream.stop()
        until(lambda: len(binds(running.log.read_text())) == len(stream.created), "all good pods are bound", running)
        log = running.log.read_text()
    moments = binds(log)
    gaps = sorted((after - before for before, after in pairwise(moments)), reverse=True)
    lost = sum(gap for gap in gaps if gap > 5 * EVERY)
    longest = [round(gap, 2) for gap in gaps[:4]]
    print(f"\n{request.node.callspec.id}: {len(moments)} pods, longest gaps {longest} s, {lost:.1f} s together")
    assert gaps[0] < STOPPED
    assert told in message_of(control_plane, namespace)
    assert told in log


def message_of(control_plane: ControlPlane, namespace: str) -> str:
    """Return why pods of the bad profile wait."""
    with closing(Admin(control_plane.cluster)) as admin:
        pods = admin.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    bad = [pod for pod in pods if pod["metadata"]["name"].startswith("bad-")]
    conditions = [each for pod in bad for each in pod["status"].get("conditions", ())]
    return "\n".join(each.get("message", "") for each in conditions)


DIES = "if pod.name == 'bad-and-deadly': os.kill(os.getpid(), 9)"


@pytest.mark.full
@pytest.mark.timeout(240)
def test_the_pod_that_a_process_did_not_survive_comes_last_in_the_next_one(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path
) -> None:
    fake_nodes(node_manifest(f"{namespace}-0", cpu=64), node_manifest(f"{namespace}-1", cpu=64))
    source = PLUGIN.replace("            deed()", f"            {DIES}\n        return 1") % (
        "pass",
        "Score",
        "",
        SCORE,
    )
    record = f"--crash-record={tmp_path / 'record'}"
    names = ("bad-and-deadly", "bad-1", "bad-2")
    for name in names:
        control_plane.create([pod_manifest(name, namespace=namespace, scheduler=BAD, cpu="1m")])
    given = (f"--config={config(tmp_path)}", f"--plugin-dir={plugins(tmp_path, source)}", record)
    with control_plane.pilotage(*given) as running:
        running.process.wait(60)
    assert running.process.returncode == -9
    with scheduler(control_plane, tmp_path, source, record) as running, closing(Admin(control_plane.cluster)) as admin:
        path = f"/api/v1/namespaces/{namespace}/pods"

        def nodes() -> list[bool]:
            return [bool(admin.get(f"{path}/{name}")["spec"].get("nodeName")) for name in names]

        until(lambda: nodes() == [False, True, True], "the others are bound", running)
        said = f"the scheduler exited while the plugin was called for pod {namespace}/bad-and-deadly in score"
        assert said in running.log.read_text()
        until(lambda: said in message_of(control_plane, namespace), "the pod says why", running)
        time.sleep(3)
        assert running.process.poll() is None
