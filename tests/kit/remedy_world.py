"""A cluster of manifests in memory, to which remedies are applied literally: by their patches, or by what they say."""

import copy
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from pilotage import app
from pilotage.framework.api.remedies import Remedy
from pilotage.kinds.decoding import decode
from pilotage.kinds.every import KNOWN
from pilotage.offline.results import Result
from pilotage.offline.simulation import Simulation
from pilotage.scheduling.remedies import Remedies

Manifest = dict[str, Any]

# How `kubectl patch --type strategic` tells items of lists apart.
KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "topologySpreadConstraints": "topologyKey",
    "volumes": "name",
}


def merged(given: Any, patch: Any, *, strategic: bool) -> Any:
    """Return what a patch makes of a part of a manifest."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    found = dict(given) if isinstance(given, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        elif strategic and isinstance(value, list) and name in KEYS:
            found[name] = _merged_list(found.get(name, []), value, KEYS[name])
        else:
            found[name] = merged(found.get(name), value, strategic=strategic)
    return found


def _merged_list(given: list[Manifest], patch: list[Manifest], key: str) -> list[Manifest]:
    if {"$patch": "replace"} in patch:
        return [each for each in patch if each != {"$patch": "replace"}]
    changes = {each[key]: each for each in patch}
    kept = [merged(each, changes.pop(each[key], {}), strategic=True) for each in given]
    return [*kept, *changes.values()]


class RemedyWorld:
    """The manifests, and a scheduler that begins anew with each question."""

    def __init__(self, *manifests: Manifest, config: str | None = None) -> None:
        self.manifests = [copy.deepcopy(each) for each in manifests]
        self._config = config

    def explain(self, name: str) -> tuple[Result, Remedies | None]:
        """Decide about all pods that wait, and tell what becomes of one and what would help it."""
        played = self._played(name)
        results = {result.name: result for result in played.run()}
        return results[name], played.remedies

    def remedies(self, name: str) -> tuple[Remedy, ...]:
        """Return what would help a pod that waits."""
        result, found = self.explain(name)
        assert result.node is None, f"{name} goes to {result.node}"
        assert found is not None, result.message
        return found.remedies

    def node_of(self, name: str) -> str | None:
        """Return where a pod goes."""
        return self.explain(name)[0].node

    def placed(self) -> list[str]:
        """Return the names of the pods that wait and get a node."""
        return [result.name for result in self._played("").run() if result.node is not None]

    def apply(self, remedy: Remedy, pod: str) -> None:
        """Do what a remedy says, as a person would who reads it."""
        if remedy.steps:
            for step in remedy.steps:
                self.apply(step, pod)
        elif remedy.patch is not None:
            self._patch(remedy, pod)
        else:
            BY_HAND[remedy.code](self, remedy, pod)

    def pod(self, name: str) -> Manifest:
        """Return the manifest of a pod."""
        return self._find("Pod", name)

    def _played(self, explain: str) -> Simulation:
        profiles = _configured(self._config).profiles()
        played = app.simulation(profiles, explain_pod=explain)
        for manifest in self.manifests:
            for shape in KNOWN.shapes_of(manifest):
                played.add(decode(_complete(self._priority(manifest)), shape))
        return played

    def _patch(self, remedy: Remedy, pod: str) -> None:
        target, patch = remedy.target, remedy.patch
        assert target is not None
        assert patch is not None
        if target.kind in ("Deployment", "StatefulSet"):  # its pods are made anew by the template
            target_kind, name, patch = "Pod", pod, patch["spec"]["template"]
        else:
            target_kind, name = target.kind, target.name
        if "apiVersion" in patch:
            self.manifests.append(dict(patch))
            return
        names = [name] if remedy.code != "reduceGangRequest" else self._siblings(name)
        for each in names:
            found = self._find(target_kind, each)
            found.update(merged(found, patch, strategic=target.patch_type == "strategic"))

    def _siblings(self, name: str) -> list[str]:
        labels = self.pod(name)["metadata"]["labels"]
        pods = (each for each in self.manifests if each["kind"] == "Pod")
        return [each["metadata"]["name"] for each in pods if each["metadata"].get("labels") == labels]

    def _priority(self, manifest: Manifest) -> Manifest:
        """Give a pod the priority of its class, as admission does."""
        spec = manifest.get("spec", {})
        if manifest["kind"] != "Pod" or "priorityClassName" not in spec or "priority" in spec:
            return manifest
        return {
            **manifest,
            "spec": {**spec, "priority": self._find("PriorityClass", spec["priorityClassName"])["value"]},
        }

    def _find(self, kind: str, name: str) -> Manifest:
        return next(each for each in self.manifests if each["kind"] == kind and each["metadata"]["name"] == name)

    def delete_pods(self, keys: Iterable[str]) -> None:
        """Let pods be gone."""
        gone = set(keys)
        self.manifests = [each for each in self.manifests if each["kind"] != "Pod" or _key(each) not in gone]

    def add_nodes_like(self, name: str, number: int) -> None:
        """Bring nodes like another one, with the pods that every node gets."""
        node = self._find("Node", name)
        everywhere = [
            each
            for each in self.manifests
            if each["kind"] == "Pod"
            and each["spec"].get("nodeName") == name
            and any(owner["kind"] == "DaemonSet" for owner in each["metadata"].get("ownerReferences", ()))
        ]
        for place in range(number):
            new = f"{name}-new-{place}"
            for given in (node, *everywhere):
                clone = copy.deepcopy(given)
                clone["metadata"]["name"] = new if given is node else f"{given['metadata']['name']}-{place}"
                clone["metadata"].pop("uid", None)
                if given is node:
                    clone["metadata"].setdefault("labels", {})["kubernetes.io/hostname"] = new
                    clone.setdefault("spec", {}).pop("unschedulable", None)
                else:
                    clone["spec"]["nodeName"] = new
                self.manifests.append(clone)

    def clear_taints(self, name: str, taints: Iterable[str]) -> None:
        """Take taints away, as Kubernetes does when their cause is gone."""
        spec, gone = self._find("Node", name)["spec"], set(taints)
        spec["taints"] = [each for each in spec["taints"] if _taint(each) not in gone]

    def move_volume(self, name: str, node: str) -> None:
        """Bring the data of a volume to where a node reaches it."""
        there = self._find("PersistentVolume", name)
        there.update(reached_from(there, self._find("Node", node)))

    def create_volume(self, values: Mapping[str, Any]) -> None:
        """Create a volume for a claim, which the controller of volumes binds unless the claim waits for its pod."""
        volume = volume_for(values)
        self.manifests.append(volume)
        if not values["class"]:
            bound = self._find("PersistentVolumeClaim", str(values["claim"]).rpartition("/")[2])
            bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            bound["spec"]["volumeName"] = volume["metadata"]["name"]

    def more_members(self, pod: str, number: int) -> None:
        """Bring pods like another one."""
        for place in range(number):
            clone = copy.deepcopy(self.pod(pod))
            clone["metadata"] |= {"name": f"{pod}-more-{place}", "uid": f"{pod}-more-{place}"}
            self.manifests.append(clone)

    def open_gates(self, keys: Iterable[str]) -> None:
        """Remove the scheduling gates of pods."""
        for key in keys:
            self.pod(key.rpartition("/")[2])["spec"].pop("schedulingGates", None)


def reached_from(volume: Manifest, node: Manifest) -> Manifest:
    """Return a volume as it would be where a node reaches it: by all labels by which it names a place."""
    found, labels = copy.deepcopy(volume), node["metadata"].get("labels", {})
    found["metadata"]["labels"] = {
        key: labels.get(key, value) for key, value in found["metadata"].get("labels", {}).items()
    }
    for term in found["spec"].get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms", ()):
        for each in term["matchExpressions"]:
            each["values"] = [labels[each["key"]]]
    return found


def volume_for(values: Mapping[str, Any]) -> Manifest:
    """Return the volume that an administrator creates who reads such a remedy."""
    spec = {"capacity": {"storage": values["size"]}, "accessModes": [values["modes"]]}
    spec |= {"storageClassName": values["class"], "hostPath": {"path": "/made"}}
    about = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "made"}}
    return {**about, "spec": spec, "status": {"phase": "Available"}}


def _names(remedy: Remedy, value: str) -> tuple[str, ...]:
    found = remedy.values[value]
    assert isinstance(found, tuple)
    return found


def _number(remedy: Remedy, value: str) -> int:
    found = remedy.values[value]
    assert isinstance(found, int)
    return found


_configured = cache(app.configured)

ByHand = Callable[[RemedyWorld, Remedy, str], None]

BY_HAND: Mapping[str, ByHand] = {
    "freePods": lambda world, remedy, _: world.delete_pods(_names(remedy, "pods")),
    "waitOnly": lambda world, remedy, _: world.delete_pods(_names(remedy, "pods")),
    "newNode": lambda world, remedy, _: world.add_nodes_like(str(remedy.values["node"]), _number(remedy, "count")),
    "moreMembers": lambda world, remedy, pod: world.more_members(pod, _number(remedy, "count")),
    "repairNode": lambda world, remedy, _: world.clear_taints(str(remedy.values["node"]), _names(remedy, "taints")),
    "openGates": lambda world, remedy, _: world.open_gates(_names(remedy, "pods")),
    "releaseClaim": lambda world, remedy, _: world.delete_pods(_names(remedy, "pods")),
    "moveVolume": lambda world, remedy, _: world.move_volume(str(remedy.values["volume"]), str(remedy.values["node"])),
    "createVolume": lambda world, remedy, _: world.create_volume(remedy.values),
}


def _taint(taint: Manifest) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _key(pod: Manifest) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def _complete(manifest: Manifest) -> Manifest:
    metadata = manifest["metadata"]
    return {**manifest, "metadata": {"uid": f"{manifest['kind']}/{metadata['name']}", **metadata}}
