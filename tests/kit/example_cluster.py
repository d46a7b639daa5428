"""The cluster of an example on a control plane with fake nodes: its nodes, what is known of them, and what runs there.

Pods without a node, and what comes with them, are left out: whoever tries the example applies them.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from kit.control_plane import ControlPlane

Manifest = dict[str, Any]
KNOWN_OF_NODES = ("NodeMetrics", "NodeResourceTopology", "SeccompProfile")
NEEDED_BY_PODS = ("Namespace", "PriorityClass")
HELD = "example.com/held"  # a finalizer: who has it stays a pod that is leaving
BY_HAND = "by-hand"  # a scheduler that nobody is: a bind, unlike a node from the first, leaves its time in the status
FAKE = {"kwok.x-k8s.io/node": "fake"}


class ExampleCluster:
    """A folder of examples: cluster.yaml is what there is, live.yaml what somebody applies."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        self._control_plane, self._kubectl = control_plane, control_plane.kubectl
        self._there = list(yaml.safe_load_all((folder / "cluster.yaml").read_text()))
        self._applied = list(yaml.safe_load_all((folder / "live.yaml").read_text()))

    def build(self) -> None:
        """Create what is there before anybody applies anything."""
        if needed := [each for each in self._applied if each["kind"] in NEEDED_BY_PODS]:
            self._kubectl.apply(*needed)
        if known := [_fresh(each) for each in self._there if each["kind"] in KNOWN_OF_NODES]:
            self._kubectl.apply(*known)
        self._control_plane.fake_nodes(self._nodes())
        if running := self._running():
            self._kubectl.create(*(_creatable(pod) for pod in running))
            for pod in running:
                namespace = pod["metadata"].get("namespace", "default")
                self._kubectl.bind(namespace, pod["metadata"]["name"], pod["spec"]["nodeName"])
                self._kubectl("wait", "--for=condition=Ready", *_named(pod), "--timeout=60s")
        for pod in self._leaving():
            self._kubectl("delete", *_named(pod), "--wait=false")

    def clear(self) -> None:
        """Remove all of it, with whatever was applied."""
        for pod in self._leaving():
            self._kubectl.attempt("patch", *_named(pod), "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        known = [each for each in self._there if each["kind"] in KNOWN_OF_NODES]
        everything = [*self._applied, *known, *self._running()]
        listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": everything})
        self._kubectl("delete", "--ignore-not-found", "--force", "--grace-period=0", "-f", "-", stdin=listing)
        self._kubectl("delete", "nodes", *(node["metadata"]["name"] for node in self._nodes()))

    def _nodes(self) -> list[Manifest]:
        return [_fake(each) for each in self._there if each["kind"] == "Node"]

    def _running(self) -> list[Manifest]:
        return [each for each in self._there if each["kind"] == "Pod" and each["spec"].get("nodeName")]

    def _leaving(self) -> list[Manifest]:
        return [each for each in self._running() if "deletionTimestamp" in each["metadata"]]


@contextmanager
def example_cluster(control_plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Have the cluster of an example until the block ends."""
    cluster = ExampleCluster(control_plane, folder)
    try:
        cluster.build()
        yield
    finally:
        cluster.clear()


def _fake(node: Manifest) -> Manifest:
    metadata, status = node["metadata"], node["status"]
    room = status.get("allocatable") or status["capacity"]
    labels = {"type": "kwok", **metadata.get("labels", {})}
    named = {**metadata, "labels": labels, "annotations": {**FAKE, **metadata.get("annotations", {})}}
    return {**node, "metadata": named, "status": {"allocatable": room, "capacity": status.get("capacity", room)}}


def _fresh(known: Manifest) -> Manifest:
    """Return figures as of now, with what the API has and without what only a simulation knows."""
    if known["kind"] != "NodeMetrics":
        return known
    told = {key: value for key, value in known.items() if key != "deviation"}
    return {**told, "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "window": "30s"}


def _creatable(pod: Manifest) -> Manifest:
    """Return a pod that no scheduler looks at; one that is to leave is held."""
    # An owner that is not there would have its pods collected.
    metadata = {key: value for key, value in pod["metadata"].items() if key != "ownerReferences"}
    if metadata.pop("deletionTimestamp", None):
        metadata["finalizers"] = [HELD]
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "schedulerName": BY_HAND}}


def _named(pod: Manifest) -> tuple[str, ...]:
    return ("pod", pod["metadata"]["name"], "-n", pod["metadata"].get("namespace", "default"))
