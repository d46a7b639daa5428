"""Pods that may ask an autoscaler for nodes: on a live control plane, with a quota of their own."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from kit.control_plane import ControlPlane
from pilotage.testing import pod_manifest

SECONDS = 90.0


class AskingPods:
    """One namespace, its pods and its quota."""

    def __init__(self, control_plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.kubectl, self.control_plane, self.namespace = control_plane.kubectl, control_plane, namespace
        plugins = {"multiPoint": {"enabled": [{"name": "CapacityScheduling"}, {"name": "Coscheduling"}]}}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "podMaxBackoffSeconds": 1,
            "profiles": [{"schedulerName": namespace, "plugins": plugins}],
        }
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(config))

    def create(self, *names: str, **fields: Any) -> None:
        """Create pods that want a core each, on nodes of this test alone."""
        here = {"only": self.namespace}
        own: dict[str, Any] = {
            "namespace": self.namespace,
            "scheduler": self.namespace,
            "cpu": 1,
            "node_selector": here,
        }
        self.control_plane.create([pod_manifest(name, **own, **fields) for name in names])

    def quota(self, most: int) -> None:
        """Let the namespace have so many cores."""
        self.kubectl.apply(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "ElasticQuota",
                "metadata": {"name": "quota", "namespace": self.namespace},
                "spec": {"max": {"cpu": most}},
            }
        )

    def told(self) -> Counter[str]:
        """Count what pods say: where they are, or why they wait."""
        return Counter(map(_state, self.kubectl.get("pods", "-n", self.namespace)["items"]))

    def until(self, wanted: dict[str, int]) -> None:
        """Wait until the pods say exactly this."""
        deadline = time.monotonic() + SECONDS
        while self.told() != wanted:
            assert time.monotonic() < deadline, f"{dict(self.told())} instead of {wanted}"
            time.sleep(0.2)


def _state(pod: dict[str, Any]) -> str:
    status = pod.get("status", {})
    scheduled: dict[str, Any] = next(
        (each for each in status.get("conditions", ()) if each["type"] == "PodScheduled"), {}
    )
    if pod["spec"].get("nodeName"):
        return "placed"
    if scheduled.get("reason") == "Unschedulable" and not status.get("nominatedNodeName"):
        return "asks for a node"
    return str(scheduled.get("reason", "not told yet"))
