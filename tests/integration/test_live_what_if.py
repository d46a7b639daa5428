"""What-if on a real control plane: it says how many pods will be bound, and then so many are.

The program reads the cluster and decides in memory. Then what was asked about happens, with Deployments of the real
controller, and with nodes and pods that kwok plays.
"""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import PILOTAGE, ControlPlane
from pilotage.testing import node_manifest
from pilotage.testing.manifests import PAUSE_IMAGE

SECONDS = 90.0
POOL = "what-if"  # the label of the test's own nodes


class Scene:
    """Nodes of the test's own, and a namespace for its pods."""

    def __init__(self, control_plane: ControlPlane, name: str, folder: Path) -> None:
        self.control_plane, self.name, self.folder = control_plane, name, folder
        self._kubectl = control_plane.kubectl

    def node(self, number: int, cpu: int) -> dict[str, Any]:
        """Return a node of the test's own."""
        return node_manifest(f"{self.name}-n{number}", cpu=cpu, memory="64Gi", labels={POOL: self.name})

    def deployment(self, name: str, replicas: int, cpu: str, **spec: Any) -> dict[str, Any]:
        """Return a Deployment whose pods go to the test's own nodes alone."""
        resources = {"requests": {"cpu": cpu}}
        containers = [{"name": "main", "image": PAUSE_IMAGE, "resources": resources}]
        pods = {"nodeSelector": {POOL: self.name}, "containers": containers, **spec}
        template = {"metadata": {"labels": {"app": name}}, "spec": pods}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": self.name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
        }

    def ask(self, *words: str, manifest: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer of the program."""
        if manifest is not None:
            file = self.folder / "manifest.yaml"
            file.write_text(yaml.safe_dump(dict(manifest)))
            words = (*words, "-f", str(file))
        command = [PILOTAGE, *words, f"--kubeconfig={self.control_plane.kubeconfig}", "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode in (0, 3), done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def pods(self, app: str) -> list[dict[str, Any]]:
        """Return the pods of a Deployment that are not leaving."""
        found = self._kubectl.get("pods", "-n", self.name, "-l", f"app={app}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def settled(self, *apps: str, pods: int) -> dict[str, list[dict[str, Any]]]:
        """Wait until there are so many pods, and each has a node or was told that there is none; returns them."""
        found: dict[str, list[dict[str, Any]]] = {}

        def all_decided() -> bool:
            found.update({app: self.pods(app) for app in apps})
            every = [pod for each in found.values() for pod in each]
            return len(every) == pods and all(pod["spec"].get("nodeName") or _waits(pod) for pod in every)

        until(all_decided, "all pods are decided")
        return found

    def clear(self) -> None:
        """Leave nothing of the test."""
        self._kubectl("delete", "namespace", self.name, "--wait=false")
        self.control_plane.delete_nodes(f"{POOL}={self.name}")


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.3)


def _waits(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)


def places(pods: list[dict[str, Any]]) -> Counter[str]:
    """Return how many pods each node has."""
    return Counter(pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName"))


@pytest.fixture
def scene(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Scene]:
    found = Scene(control_plane, f"what-if-{time.monotonic_ns()}", tmp_path)
    control_plane.kubectl("create", "namespace", found.name)
    try:
        yield found
    finally:
        found.clear()


def test_it_says_what_then_happens(scene: Scene) -> None:
    """20 copies of a Deployment on an idle cluster; then three nodes more; then a drain."""
    control_plane, kubectl = scene.control_plane, scene.control_plane.kubectl
    control_plane.fake_nodes([scene.node(1, 8), scene.node(2, 4)])
    web = scene.deployment("web", 1, "1")

    asked = scene.ask("what-if", "--copies", "20", manifest=web)  # 1. twenty pods where twelve have room
    said = Counter({each["node"]: each["count"] for each in asked["placements"]})
    assert (asked["verdict"], asked["pods"]) == ("partly", {"asked": 20, "placed": 12, "waiting": 8})
    like = f"{scene.name}-n2"
    more = scene.ask("what-if", "--copies", "20", "--add-nodes", "3", "--like", like, manifest=web)

    with control_plane.pilotage():
        kubectl.apply(scene.deployment("web", 20, "1"))
        happened = scene.settled("web", pods=20)["web"]
        assert places(happened) == said, "the whole room is taken: there are no ties"

        # 2. the others start as soon as three such nodes come
        assert (more["pods"]["placed"], more["shapes"][0]["now"]) == (20, 12)
        waiting = scene.ask("what-if", "--add-nodes", "3", "--like", like)
        control_plane.fake_nodes([scene.node(number, 4) for number in (3, 4, 5)])
        until(lambda: places(scene.pods("web")).total() == 20, "all pods have a node")
        assert (waiting["others"]["placedCount"], more["pods"]["placed"]) == (8, 20)
        shapes = scene.ask("top", "shapes", "-n", scene.name, "--source", "local")["items"]
        assert [(each["pods"], each["copies"]) for each in shapes] == [(20, 4)], "24 cores are there"

        # 3. a drain: eight pods look for another place, and only four find one
        until(lambda: all(_runs(pod) for pod in scene.pods("web")), "all pods run")
        before = scene.pods("web")
        drained = f"{scene.name}-n1"
        told = scene.ask("drain-sim", drained)
        kubectl("drain", drained, "--ignore-daemonsets", "--timeout=60s", "--grace-period=0", "--force")
        moved = places(before)[drained]
        assert told["pods"]["asked"] == moved
        after = scene.settled("web", pods=20)["web"]
        assert places(after).total() == 20 - told["pods"]["waiting"]
        assert {name: places(after)[name] for name in places(after)} == _after(before, drained, told)


def _runs(pod: dict[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def _after(before: list[dict[str, Any]], drained: str, told: dict[str, Any]) -> dict[str, int]:
    found = places(before) + Counter({each["node"]: each["count"] for each in told["placements"]})
    del found[drained]
    return dict(found)


@pytest.mark.full
def test_a_budget_stops_a_drain_where_it_was_said(scene: Scene) -> None:
    """The second pod of the budget may go only when the first has started elsewhere, and it never does."""
    control_plane, kubectl = scene.control_plane, scene.control_plane.kubectl
    control_plane.fake_nodes([scene.node(1, 4)])
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    metadata = {"name": "web", "namespace": scene.name}
    with control_plane.pilotage():
        kubectl.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
        kubectl.apply(scene.deployment("web", 3, "1"))
        until(lambda: places(scene.pods("web")).total() == 3, "all pods have a node")
        until(lambda: all(_runs(pod) for pod in scene.pods("web")), "all pods run")
        control_plane.fake_nodes([scene.node(2, 1)])
        until(lambda: _allowed(scene) == 1, "the budget is counted")
        told = scene.ask("drain-sim", f"{scene.name}-n1")
        blocked = [each for each in told["evictions"] if each["blocked"]]
        assert (told["pods"], len(blocked)) == ({"asked": 2, "placed": 1, "waiting": 1}, 1)
        with pytest.raises(Exception, match=r"timeout|timed out"):
            kubectl("drain", f"{scene.name}-n1", "--ignore-daemonsets", "--timeout=20s", "--grace-period=0")
        after = scene.settled("web", pods=3)["web"]
        assert places(after) == {f"{scene.name}-n1": 1, f"{scene.name}-n2": 1}


def _allowed(scene: Scene) -> int:
    found = scene.control_plane.kubectl.get("pdb", "web", "-n", scene.name)
    return int(found.get("status", {}).get("disruptionsAllowed", 0))
