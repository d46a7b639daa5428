"""The objects of a workload, made before the clock starts."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import msgspec

from bench.live.kinds import KINDS
from bench.live.operations import CreateNamespaces, CreateNodes, CreatePods, Template
from bench.live.templates import Manifest, is_constant, manifest

HOST_NAME = "kubernetes.io/hostname"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
ROOM = {"pods": "110", "cpu": "4", "memory": "32Gi"}
SMALL = {"cpu": "100m", "memory": "500Mi"}
AT_ONCE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
READY = {"type": "Ready", "status": "True"}


@dataclass(frozen=True)
class Write:
    """One request that creates or changes an object."""

    method: str
    path: str
    body: bytes
    key: str = ""  # NAMESPACE/NAME of a new pod
    name: str = ""  # of a new object


def nodes(step: CreateNodes, position: int) -> list[list[Write]]:
    """The nodes of one step, each with what belongs to it."""
    found = []
    for index, node in enumerate(_nodes(step, position)):
        name = node["metadata"].setdefault("name", f"{node['metadata'].get('generateName', '')}{position}-{index}")
        labels = node["metadata"].setdefault("labels", {})
        labels[HOST_NAME] = name
        if step.label:
            labels[step.label] = step.values[index % len(step.values)] if step.values else str(uuid4())
        if step.allocatable:
            status = node.setdefault("status", {})
            status["allocatable"] = status.get("allocatable", status.get("capacity", {})) | step.allocatable
        found.append([creation(node), *_csi_node(step, name)])
    return found


def _nodes(step: CreateNodes, position: int) -> Iterator[Manifest]:
    if step.template:
        yield from _manifests(step.template, step.count.number)
        return
    for index in range(step.count.number):
        status = {"capacity": ROOM, "allocatable": ROOM, "conditions": [READY], "phase": "Running"}
        metadata = {"name": f"node-{position}-{index}"}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _csi_node(step: CreateNodes, name: str) -> list[Write]:
    if not step.attachable:
        return []
    drivers = [{"name": driver, "nodeID": name, "allocatable": room} for driver, room in step.attachable.items()]
    metadata = {"name": name, "annotations": {MIGRATED: ",".join(step.migrated)}}
    spec = {"drivers": drivers}
    return [creation({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": spec})]


def namespaces(step: CreateNamespaces) -> list[Write]:
    """The namespaces of one step."""
    return [namespace(f"{step.prefix}-{index}", step.template) for index in range(step.count.number)]


def namespace(name: str, template: Template | None = None) -> Write:
    """One namespace."""
    content: Manifest = manifest(template, 0, 1) if template else {"apiVersion": "v1", "kind": "Namespace"}
    return creation(content | {"metadata": content.get("metadata", {}) | {"name": name}})


def pods(step: CreatePods, place: str, position: int) -> list[list[Write]]:
    """The pods of one step, each with the volume that it waits for, if any."""
    found = []
    for index, pod in enumerate(_pods(step)):
        pod["metadata"] = _named(pod["metadata"], f"{position}-{index}") | {"namespace": place}
        if step.template:
            # Upstream marks every pod that comes from a file; by default no two are marked alike.
            mark = {"signature": f"signature-label-{index // step.alike}"}
            pod["metadata"]["labels"] = pod["metadata"].get("labels", {}) | mark
        before = _volume(step, pod, place, index) if step.volume and step.claim else []
        found.append([*before, creation(pod)])
    return found


def _pods(step: CreatePods) -> Iterator[Manifest]:
    if step.template:
        yield from _manifests(step.template, step.count.number)
        return
    resources = {"limits": SMALL, "requests": SMALL}
    container = {"name": "pause", "image": "pause", "ports": [{"containerPort": 80}], "resources": resources}
    for _ in range(step.count.number):
        spec = {"containers": [container]}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "pod-"}, "spec": spec}


def _volume(step: CreatePods, pod: Manifest, place: str, index: int) -> list[Write]:
    """A claim and a volume that are bound to each other already, and the pod told of the claim."""
    assert step.volume
    assert step.claim
    claim, volume = manifest(step.claim, index, 1), manifest(step.volume, index, 1)
    names = f"pvc-{index}", f"{place}-vol-{index}"
    claim["metadata"] = claim.get("metadata", {}) | {"name": names[0], "namespace": place}
    claim["spec"]["volumeName"] = names[1]
    volume["metadata"] = volume.get("metadata", {}) | {"name": names[1]}
    if "csi" in volume["spec"]:
        volume["spec"]["csi"]["volumeHandle"] = names[1]
    elif "awsElasticBlockStore" in volume["spec"]:
        volume["spec"]["awsElasticBlockStore"]["volumeID"] = names[1]
    reference = {"apiVersion": "v1", "kind": claim["kind"], "namespace": place, "name": names[0]}
    volume["spec"]["claimRef"] = reference
    volumes = [{"name": "vol", "persistentVolumeClaim": {"claimName": names[0]}}]
    pod["spec"] = pod["spec"] | {"volumes": volumes}
    return [write for content in (claim, volume) for write in (creation(content), _bound(content))]


def deletion(pod: Write) -> Write:
    """The request that deletes a pod at once."""
    return Write("DELETE", f"{pod.path}/{pod.name}", msgspec.json.encode(AT_ONCE))


def _bound(content: Manifest) -> Write:
    # A new object has no status: it is written by itself.
    patch = msgspec.json.encode({"status": {"phase": "Bound"}})
    return Write("PATCH", f"{KINDS[content['kind']].path(content)}/status", patch)


def anything(template: Template, place: str, index: int, count: int, name: str) -> Write:
    """One object of any kind, named if its template does not name it."""
    content = manifest(template, index, count)
    content["metadata"] = _named(content.get("metadata", {}), name)
    if KINDS[content["kind"]].namespaced:
        content["metadata"]["namespace"] = place
    return creation(content)


def creation(content: Manifest) -> Write:
    """The request that creates an object."""
    metadata = content["metadata"]
    key = f"{metadata['namespace']}/{metadata['name']}" if content["kind"] == "Pod" else ""
    kind = KINDS[content["kind"]]
    path = kind.collection(metadata.get("namespace"))
    if content.get("apiVersion", "").partition("/")[0] == kind.group:  # upstream serves older versions as well
        content = content | {"apiVersion": kind.group_version}
    return Write("POST", path, msgspec.json.encode(content), key, metadata["name"])


def _named(metadata: Manifest, suffix: str) -> Manifest:
    """A name from here instead of one that the server would choose: an answer need not be read to know it."""
    rest = {key: value for key, value in metadata.items() if key != "generateName"}
    return {"name": f"{metadata.get('generateName', 'object-')}{suffix}"} | rest


def _manifests(template: Template, count: int) -> Iterator[Manifest]:
    constant = manifest(template, 0, count) if is_constant(template) else None
    for index in range(count):
        found = constant or manifest(template, index, count)
        yield found | {"metadata": _copy(found.get("metadata", {}))}


def _copy(metadata: Manifest) -> Manifest:
    return {key: dict(value) if isinstance(value, dict) else value for key, value in metadata.items()}


class _Metadata(msgspec.Struct):
    name: str


class _Condition(msgspec.Struct):
    type: str


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class Listed(msgspec.Struct):
    """A pod as a list has it."""

    metadata: _Metadata
    status: _Status

    @property
    def is_tried(self) -> bool:
        """Whether the scheduler has said anything about it, be it that it is bound."""
        return any(condition.type == "PodScheduled" for condition in self.status.conditions)


class _List(msgspec.Struct):
    items: list[Listed]


def listed(body: bytes) -> list[Listed]:
    """The pods of a list."""
    return msgspec.json.decode(body, type=_List).items
