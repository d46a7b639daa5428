"""A namespace of a real control plane in which remedies are applied literally: their patches, or what they say."""

import copy
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

from kit.control_plane import PILOTAGE, ControlPlane
from kit.fixtures import Nodes
from kit.remedy_world import reached_from, volume_for

Manifest = dict[str, Any]

SECONDS = 120.0
KEPT = ("name", "namespace", "labels", "annotations")  # of an object that is created again
OF_CLUSTER = {  # kinds of scenes that live in no namespace
    "PersistentVolume": "persistentvolume",
    "StorageClass": "storageclass",
    "CSINode": "csinode",
    "PriorityClass": "priorityclass",
    "NodeResourceTopology": "noderesourcetopology",
}
FORCED = ("--force", "--grace-period=0")


class Stage:
    """A pod that waits, and the program that says what would help."""

    def __init__(self, control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, *flags: str) -> None:
        self.kubectl, self.namespace = control_plane.kubectl, namespace
        self._control_plane, self._fake_nodes, self._flags = control_plane, fake_nodes, flags

    # -------------------------------------------------------------------------------------------------- before

    def bring_nodes(self, *manifests: Manifest) -> None:
        """Register nodes, and cordon those that are to be."""
        open_ones = [copy.deepcopy(each) for each in manifests]
        cordoned = [each["metadata"]["name"] for each in open_ones if each["spec"].pop("unschedulable", False)]
        self._fake_nodes(*open_ones)
        for name in cordoned:
            self.kubectl("cordon", name)

    def bring(self, *manifests: Manifest) -> None:
        """Create objects, and let those go that are on their way out."""
        leaving = [each for each in manifests if each["metadata"].pop("deletionTimestamp", None)]
        self.kubectl.create(*manifests)
        for each in leaving:
            self.kubectl("delete", "pod", each["metadata"]["name"], "-n", self.namespace, "--wait=false")

    def clear(self, *manifests: Manifest) -> None:
        """Leave nothing of a scene: the next one has nodes and volumes of the same names."""
        for each in self.kubectl.get("pods", "-n", self.namespace)["items"]:
            if each["metadata"].get("finalizers"):
                self._without_finalizers(each["metadata"]["name"])
        self.kubectl("delete", "pods", "--all", "-n", self.namespace, *FORCED)
        self.kubectl("delete", "pvc", "--all", "-n", self.namespace)
        for each in manifests:
            if (kind := OF_CLUSTER.get(each["kind"])) is not None:
                self.kubectl("delete", kind, each["metadata"]["name"], "--ignore-not-found")
        self.kubectl("delete", "persistentvolume", "made", "--ignore-not-found")

    # ------------------------------------------------------------------------------------------------- what helps

    def explain(self, name: str) -> Manifest:
        """Return what the program says about a pod."""
        words = ["explain", f"{self.namespace}/{name}", "-o", "json", f"--kubeconfig={self._control_plane.kubeconfig}"]
        done = subprocess.run(
            [PILOTAGE, *words, *self._flags], capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode in (0, 3), done.stderr
        found: Manifest = json.loads(done.stdout)
        return found

    def remedy(self, name: str, first: str, wanted: str = "") -> Manifest:
        """Return a remedy, the first one by default, as soon as the first is as expected: clusters take time."""
        deadline = time.monotonic() + SECONDS
        while True:
            found = self.explain(name)
            texts = [each["text"] for each in found["remedies"]]
            if found["statusMessage"] and texts[:1] == [first] and (wanted or first) in texts:
                return dict(found["remedies"][texts.index(wanted or first)])
            assert time.monotonic() < deadline, (found["message"], texts, found["remediesNote"], found["before"])
            time.sleep(0.5)

    def apply(self, remedy: Manifest) -> None:
        """Do what a remedy says."""
        for step in remedy["steps"]:
            self.apply(step)
        if remedy["steps"]:
            return
        if remedy["patch"] is None:
            BY_HAND[remedy["code"]](self, remedy)
            return
        target, patch = remedy["target"], remedy["patch"]
        is_fixed = target["kind"] == "PersistentVolumeClaim" or (
            target["kind"] == "Pod" and remedy["code"] != "openGates"
        )
        if is_fixed:
            self._create_again(target, patch)
        elif "apiVersion" in patch:
            self.kubectl.create(patch)
        else:
            self.kubectl("patch", *_named(target), f"--type={target['patchType']}", "-p", json.dumps(patch))

    def like(self, remedy: Manifest, name: str) -> None:
        """Apply the patch for one pod to another one."""
        self._create_again({**remedy["target"], "name": name}, remedy["patch"])

    def _create_again(self, target: Mapping[str, str], patch: Manifest) -> None:
        """Change what cannot be changed in place."""
        given = json.dumps(self.kubectl.get(*_named(target)))
        words = ("patch", "--local", "-f", "-", f"--type={target['patchType']}", "-p", json.dumps(patch), "-o", "json")
        changed = _new(json.loads(self.kubectl(*words, stdin=given)))
        self.kubectl("delete", *_named(target), *(FORCED if target["kind"] == "Pod" else ()))
        self.kubectl.create(changed)

    def until_bound(self, *names: str) -> None:
        """Wait until one of some pods has a node."""
        deadline = time.monotonic() + SECONDS
        while True:
            pods = self.kubectl.get("pods", "-n", self.namespace)["items"]
            if any(each["metadata"]["name"] in names and each["spec"].get("nodeName") for each in pods):
                return
            waiting = [each.get("status", {}).get("conditions") for each in pods if each["metadata"]["name"] in names]
            assert time.monotonic() < deadline, waiting
            time.sleep(0.2)

    # --------------------------------------------------------------------------------------------------- by hand

    def delete_pods(self, remedy: Manifest) -> None:
        """Let pods be gone."""
        for key in remedy["values"]["pods"]:
            namespace, _, name = key.partition("/")
            self.kubectl("delete", "pod", name, "-n", namespace, *FORCED)

    def more_members(self, remedy: Manifest) -> None:
        """Create pods like the one that waits."""
        given = self.kubectl.get("pod", "web", "-n", self.namespace)
        for place in range(remedy["values"]["count"]):
            metadata = {"name": f"web-more-{place}", "namespace": self.namespace, "labels": given["metadata"]["labels"]}
            main = {key: given["spec"]["containers"][0][key] for key in ("name", "image", "resources")}
            spec = {"containers": [main], "schedulerName": given["spec"]["schedulerName"]}
            self.kubectl.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def open_gates(self, remedy: Manifest) -> None:
        """Do what the controllers do that have set the gates."""
        for key in remedy["values"]["pods"]:
            namespace, _, name = key.partition("/")
            patch = json.dumps({"spec": {"schedulingGates": None}})
            self.kubectl("patch", "pod", name, "-n", namespace, "--type=merge", "-p", patch)

    def let_go(self, remedy: Manifest) -> None:
        """Wait for what is leaving already: here nothing but its finalizers holds it."""
        for key in remedy["values"]["pods"]:
            self._without_finalizers(key.rpartition("/")[2])

    def move_volume(self, remedy: Manifest) -> None:
        """Bring the data of a claim to a volume that a node reaches: the claim and its volume are created again."""
        values = remedy["values"]
        namespace, _, claim = values["claim"].partition("/")
        volume, node = self.kubectl.get("pv", values["volume"]), self.kubectl.get("node", values["node"])
        there, bound = reached_from(_new(volume), node), _new(self.kubectl.get("pvc", claim, "-n", namespace))
        there["spec"].pop("claimRef", None)
        self.kubectl("delete", "pvc", claim, "-n", namespace)
        self.kubectl("delete", "pv", values["volume"])
        self.kubectl.create(there, bound)

    def create_volume(self, remedy: Manifest) -> None:
        """Create a volume, as an administrator does."""
        self.kubectl.create(_new(volume_for(remedy["values"])))

    def _without_finalizers(self, name: str) -> None:
        patch = json.dumps({"metadata": {"finalizers": None}})
        self.kubectl("patch", "pod", name, "-n", self.namespace, "--type=merge", "-p", patch)


def _named(target: Mapping[str, str]) -> tuple[str, ...]:
    kind = f"{target['kind']}.{target['group']}" if target["group"] else target["kind"]
    return (kind, target["name"], *(("-n", target["namespace"]) if target["namespace"] else ()))


def _new(manifest: Manifest) -> Manifest:
    """Return an object as somebody writes it who creates it."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key in KEPT}
    return {key: value for key, value in {**manifest, "metadata": metadata}.items() if key != "status"}


BY_HAND: dict[str, Callable[[Stage, Manifest], None]] = {
    "freePods": Stage.delete_pods,
    "releaseClaim": Stage.delete_pods,
    "moreMembers": Stage.more_members,
    "openGates": Stage.open_gates,
    "waitOnly": Stage.let_go,
    "moveVolume": Stage.move_volume,
    "createVolume": Stage.create_volume,
}
