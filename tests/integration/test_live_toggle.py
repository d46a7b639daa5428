"""A policy that is toggled by one resource, under a load of pods: how soon it counts, and that nothing is lost.

Helm installs the chart; scheduler (two replicas) and operator are the real programs with the accounts of the chart.
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from kit.release import TO_HOME_NODES, Process, Release, home_nodes
from pilotage.testing import node_manifest, pod_manifest

TOGGLES = 20 if os.environ.get("PILOTAGE_TESTS") == "all" else 4
KEYS = ("example.com/first", "example.com/second")  # a node has one of them
SCHEDULER = "toggled"
PACE = 0.05  # seconds between two pods
VALUES = {
    "scheduler": {"name": SCHEDULER, **TO_HOME_NODES},
    "operator": TO_HOME_NODES,
    "plugins": {"enabled": ["Priority"]},
    "pluginConfig": [{"name": "Priority", "args": {"labelKey": KEYS[0]}}],
}


@dataclass
class Load:
    """Creates pods at a pace until told to stop, and knows when each of them was created."""

    control_plane: ControlPlane
    namespace: str
    created: dict[str, float] = field(default_factory=dict)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        number = 0
        while not self.stopped.wait(PACE):
            name = f"pod-{number}"
            self.created[name] = time.time()
            self.control_plane.create([pod_manifest(name, namespace=self.namespace, scheduler=SCHEDULER, cpu="10m")])
            number += 1


@pytest.fixture
def release(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path
) -> Iterator[tuple[Release, list[Process]]]:
    """An installed release whose profile is Ready."""
    fake_nodes(*home_nodes(namespace))
    found = Release(control_plane, namespace, "toggle", tmp_path, 4)
    with ExitStack() as stack:
        stack.callback(uninstall, found)
        found.install(values=VALUES)
        with control_plane.kube_scheduler():
            found.kubectl("-n", namespace, "rollout", "status", "deployment/toggle-pilotage-scheduler", "--timeout=60s")
        processes = stack.enter_context(found.processes("operator"))
        processes = [*processes, *stack.enter_context(found.processes("scheduler"))]
        found.until(lambda: is_ready(found), "the profile is Ready", processes)
        yield found, processes


def uninstall(release: Release) -> None:
    release.helm("uninstall", release.name, "--namespace", release.namespace)
    release.kubectl("delete", "crd", "schedulerprofiles.pilotage.dev", "--ignore-not-found")


def is_ready(release: Release) -> bool:
    found = release.kubectl.attempt("get", "schedulerprofile", SCHEDULER, "-o", "json")
    if found.returncode:
        return False
    profile = json.loads(found.stdout)
    conditions = {each["type"]: each for each in profile.get("status", {}).get("conditions", [])}
    ready = conditions.get("Ready", {})
    return bool(ready.get("status") == "True" and ready.get("observedGeneration") == profile["metadata"]["generation"])


def test_a_toggle_counts_at_once_and_loses_no_pod(
    release: tuple[Release, list[Process]],
    control_plane: ControlPlane,
    namespace: str,
    fake_nodes: Nodes,
    audit: Audit,
) -> None:
    found, processes = release
    nodes = [f"{namespace}-{number}" for number in range(2)]
    fake_nodes(
        *(
            node_manifest(node, labels={key: "1"}, cpu="64", memory="256Gi", pods=5000)
            for node, key in zip(nodes, KEYS, strict=True)
        )
    )
    pods_before = {process.pod: uid_of(found, process.pod) for process in processes}
    load = Load(control_plane, namespace)
    thread = threading.Thread(target=load.run)
    serves = {f"system:serviceaccount:{namespace}:toggle-pilotage-scheduler": [SCHEDULER]}
    with audit(serves=serves, namespaces=[namespace], wait_limit=0) as auditing:
        thread.start()
        try:
            policies = [(time.time(), time.time(), nodes[0])]  # asked for, acknowledged, where pods may go
            for number in range(1, TOGGLES + 1):
                asked = time.time()
                patch = {"spec": {"plugins": [{"name": "Priority", "args": {"labelKey": KEYS[number % 2]}}]}}
                found.kubectl("patch", "schedulerprofile", SCHEDULER, "--type=merge", "-p", json.dumps(patch))
                found.until(lambda: is_ready(found), "the change is acknowledged", processes)
                policies.append((asked, time.time(), nodes[number % 2]))
                time.sleep(0.5)
        finally:
            load.stopped.set()
            thread.join()
        bound = until_all_are_bound(found, namespace, set(load.created), processes)
    print("seconds from apply to acknowledged:", *(f"{done - asked:.2f}" for asked, done, _ in policies[1:]))
    assert auditing.report["violations"] == []
    assert auditing.report["seen"]["arrivals"] >= len(load.created)
    assert wrong(load.created, bound, policies) == []
    assert {process.pod: uid_of(found, process.pod) for process in processes} == pods_before
    assert all(process.program.poll() is None for process in processes)


def wrong(created: dict[str, float], bound: dict[str, str], policies: list[tuple[float, float, str]]) -> list[str]:
    """Return the pods that were created under an acknowledged policy, and went where it does not let them."""
    found = []
    ends = [asked for asked, _, _ in policies[1:]] + [float("inf")]
    for (_, since, node), until in zip(policies, ends, strict=True):
        # A pod that was created just before the next change was asked for may be decided after it.
        sure = [name for name, at in created.items() if since < at < until - 0.4]
        found += [f"{name} on {bound[name]}, not {node}" for name in sure if bound[name] != node]
    return found


def until_all_are_bound(release: Release, namespace: str, names: set[str], processes: list[Process]) -> dict[str, str]:
    def bound() -> dict[str, str]:
        items = release.kubectl.get("pods", "-n", namespace)["items"]
        return {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in items}

    release.until(lambda: all(bound().get(name) for name in names), "all pods are bound", processes)
    return bound()


def uid_of(release: Release, pod: str) -> str:
    return str(release.kubectl.get("pod", pod, "-n", release.namespace)["metadata"]["uid"])
