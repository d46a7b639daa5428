"""Plugins that break on some pods, and pods that nobody expects: the others are bound as if nothing were."""

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kit.admin import NoAnswer, Refused
from kit.control_plane import ControlPlane
from kit.fault_ground import FULL, Ground
from kit.fixtures import Audit, Nodes
from kit.patient_client import PatientClient
from kit.storm import last_lines, still_waiting
from pilotage.testing import pod_manifest

PODS = 400 if FULL else 200
NODES = 70 if FULL else 50
EVERY = 100 if FULL else 50
POINTS = ("filter", "score", "reserve", "pre_bind")

BREAKS = '''
from pilotage.plugin import Filter, PreBind, Reserve, Score

seen = {point: set() for point in %(points)r}
broken = {}


def count(point, cycle, pod):
    # For the whole of an attempt: a filter that breaks is asked again, node by node, before it counts.
    if pod.uid not in seen[point]:
        seen[point].add(pod.uid)
        if len(seen[point]) %% %(every)d == 0:
            broken[point, pod.uid] = cycle
    if broken.get((point, pod.uid)) is cycle:
        raise RuntimeError(f"{point} breaks on pod {pod.name}")


class Breaks(Filter, Score, Reserve, PreBind):
    """Break everywhere, each time on the first attempt of every so many pods."""

    def filter(self, cycle, pod, node):
        count("filter", cycle, pod)

    def score(self, cycle, pod, node):
        count("score", cycle, pod)
        return 0

    def reserve(self, cycle, pod, node):
        count("reserve", cycle, pod)

    async def pre_bind(self, cycle, pod, node):
        count("pre_bind", cycle, pod)
'''


@pytest.fixture
def ground(control_plane: ControlPlane, namespace: str, tmp_path: Path, fake_nodes: Nodes, audit: Audit) -> Ground:
    return Ground(control_plane, namespace, tmp_path, fake_nodes, audit).prepare(NODES)


@pytest.mark.full
def test_a_plugin_that_breaks_on_some_pods_costs_them_one_attempt_and_others_nothing(ground: Ground) -> None:
    plugins = ground.folder / "plugins"
    plugins.mkdir()
    (plugins / "breaks.py").write_text(BREAKS % {"points": POINTS, "every": EVERY})
    profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": [{"name": "Breaks"}]}}}
    running_scheduler = ground.pilotage(f"--plugin-dir={plugins}", **profile)
    with ground.audited() as running, running_scheduler as scheduler, ground.storm(pods=PODS) as storm:
        storm.ends_bound(90, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
        told = scheduler.log.read_text().splitlines()
    assert running.report["violations"] == []
    broken = {point: [line for line in told if f"{point} breaks on pod" in line] for point in POINTS}
    assert {point for point in POINTS if not broken[point]} == set()
    others = [line for line in told if "Error scheduling pod" in line and "breaks on pod" not in line]
    assert {pod_of(line) for line in others} - storm.touched == set(), "pods that nobody broke were tried once"


def pod_of(line: str) -> str:
    """Return the name of the pod that a line of the log is about."""
    found = re.search(r'pod="[^/"]*/([^"]*)"', line)
    return found[1] if found else line


def quantities() -> Iterator[str]:
    yield from ("1e999", "9223372036854775807", "9223372036854775808", "1e-9", "1n", "-1", "0", "1E18", "8Ei", "0.1m")
    yield from ("1e-999", "\u0661", "1_000", "0x10", "1e+3", "123456789012345678901234567890")


def strange_pods() -> Iterator[dict[str, Any]]:
    """Generate what a pod asks for; the API server refuses some of it."""
    for number, quantity in enumerate(quantities()):
        thing = {"example.com/thing": quantity}
        yield {"name": f"cpu-{number}", "cpu": quantity}
        yield {"name": f"memory-{number}", "memory": quantity}
        yield {"name": f"other-{number}", "requests": thing, "limits": thing}
    yield {"name": "many-containers", "spec": {"containers": containers(resources={"requests": {"cpu": "1m"}})}}
    yield {"name": "many-ports", "spec": {"containers": containers(ports=[{"containerPort": 1, "hostPort": 20000}])}}
    yield {"name": "many-labels", "labels": {f"example.com/{'l' * 40}{n}": "v" * 63 for n in range(2000)}}
    yield {"name": "long-annotation", "annotations": {"a": "x" * 260_000}}
    yield {"name": "log-lines", "annotations": {"a": 'E0101 fake\n{"{}".format(1)}\x1b[31m %s %d'}}
    values = [f"v{n}" for n in range(1000)]
    wish = {"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}}
    yield {"name": "many-terms", "affinity": on_nodes("preferred", [wish] * 100)}
    for number, (operator, value) in enumerate([("Gt", "9" * 20), ("Lt", "one"), ("Gt", "1e3"), ("Lt", str(-(2**63)))]):
        term = {"matchExpressions": [{"key": "n", "operator": operator, "values": [value]}]}
        yield {"name": f"no-number-{number}", "affinity": on_nodes("required", {"nodeSelectorTerms": [term]})}


def containers(**fields: Any) -> list[dict[str, Any]]:
    """Return a thousand containers; ports, which must differ, count up."""
    made = []
    for number in range(1000):
        ports = [{**port, "hostPort": port["hostPort"] + number} for port in fields.get("ports", ())]
        made.append({"name": f"c{number}", "image": "none", **fields, **({"ports": ports} if ports else {})})
    return made


def on_nodes(strength: str, wishes: Any) -> dict[str, Any]:
    return {"nodeAffinity": {f"{strength}DuringSchedulingIgnoredDuringExecution": wishes}}


def test_pods_that_nobody_expects_are_answered_and_stop_nobody_else(ground: Ground) -> None:
    with ground.audited() as running, ground.pilotage() as scheduler, ground.storm(pods=PODS) as storm:
        accepted = create_strange(ground)
        assert len(accepted) > 30
        storm.ends_bound(90, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
        answered(ground, accepted, scheduler.log)
    assert running.report["violations"] == []


def create_strange(ground: Ground) -> set[str]:
    """Create what the API server accepts of the strange pods."""
    accepted = set()
    # Some are refused with an error that looks as if another try could help.
    with closing(PatientClient(ground.control_plane.cluster, seconds=1)) as api:
        for shape in strange_pods():
            try:
                api.create(pod_manifest(namespace=ground.namespace, scheduler=ground.scheduler, **shape))
                accepted.add(shape["name"])
            except (Refused, NoAnswer):
                continue
    return accepted


def answered(ground: Ground, names: set[str], log: Path, seconds: float = 60) -> None:
    """Wait until each of these pods has a node or was told why not, by a condition or an event."""
    deadline = time.monotonic() + seconds
    with closing(PatientClient(ground.control_plane.cluster)) as api:
        while True:
            here = f"/api/v1/namespaces/{ground.namespace}"
            waiting = still_waiting(api.items(f"{here}/pods"))
            told = {event["involvedObject"]["name"] for event in api.items(f"{here}/events")}
            told |= {pod["metadata"]["name"] for pod in waiting if is_told(pod)}
            untold = {pod["metadata"]["name"] for pod in waiting} & names - told
            if not untold:
                return
            assert time.monotonic() < deadline, f"nobody said why these wait: {untold}\n{last_lines(log)}"
            time.sleep(0.5)


def is_told(pod: dict[str, Any]) -> bool:
    return any(one["type"] == "PodScheduled" for one in pod["status"].get("conditions", ()))
