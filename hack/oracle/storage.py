"""One-line builders of the objects of storage."""

from typing import Any

from oracle.draw import HOSTNAME, NODE_LABELS, Draw
from oracle.scenario import TERMINATING, Manifest

COMPLETED = "pv.kubernetes.io/bind-completed"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED = "volume.kubernetes.io/selected-node"
STORAGE = "storage.k8s.io/v1"


def claim(
    name: str,
    bound_to: str = "",
    *,
    size: str = "1Gi",
    modes: list[str] | None = None,
    storage_class: Manifest | None = None,
    storage_class_name: str = "",
    phase: str = "",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """A claim: bound to a volume, or waiting for one of a class."""
    modes = modes or ["ReadWriteOnce"]
    wanted = {"accessModes": modes, "resources": {"requests": {"storage": size}}, **spec}
    wanted["storageClassName"] = storage_class["metadata"]["name"] if storage_class else storage_class_name
    if bound_to:
        wanted["volumeName"] = bound_to
    state = {"phase": phase or ("Bound" if bound_to else "Pending")}
    notes = (annotations or {}) | ({COMPLETED: "yes"} if bound_to else {})
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": notes},
        "spec": wanted,
        "status": state,
    }


def volume(
    name: str,
    bound: Manifest | None = None,
    *,
    size: str = "1Gi",
    driver: str = "disk.example.com",
    handle: str = "",
    labels: dict[str, str] | None = None,
    affinity: Manifest | None = None,
    storage_class: Manifest | None = None,
    phase: str = "",
    **spec: Any,
) -> Manifest:
    """A volume: bound to a claim, or free for one."""
    made: Manifest = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"],
        "csi": {"driver": driver, "volumeHandle": handle or name},
        **spec,
    }
    if bound:
        made["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": bound["metadata"]["name"]}
        if bound["spec"]["accessModes"] == ["ReadWriteOncePod"]:
            made["accessModes"] = ["ReadWriteOncePod"]
    if affinity:
        made["nodeAffinity"] = {"required": affinity}
    if storage_class:
        made["storageClassName"] = storage_class["metadata"]["name"]
    metadata = {"name": name, "labels": labels or {}}
    state = {"phase": phase or ("Bound" if bound else "Available")}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": made, "status": state}


def in_tree(made: Manifest, source: Manifest) -> Manifest:
    """The same volume by a source from before there were drivers."""
    spec = {key: value for key, value in made["spec"].items() if key != "csi"}
    return made | {"spec": spec | source}


def terminating(made: Manifest) -> Manifest:
    """The same object on its way out, held up by a finalizer."""
    held = {"finalizers": ["oracle/hold"], "deletionTimestamp": TERMINATING}
    return made | {"metadata": made["metadata"] | held}


def claim_volume(name: str, claim_name: str) -> Manifest:
    """A pod's volume that is a claim."""
    return {"name": name, "persistentVolumeClaim": {"claimName": claim_name}}


def claim_of(pod_volume: Manifest, pod: Manifest) -> str | None:
    """The namespace/name of the claim behind a pod's volume, if there is one."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    if "ephemeral" in pod_volume:
        return f"{namespace}/{name}-{pod_volume['name']}"
    source = pod_volume.get("persistentVolumeClaim")
    return f"{namespace}/{source['claimName']}" if source else None


def is_bound(one: Manifest) -> bool:
    """Whether a claim has its volume for good."""
    return COMPLETED in one["metadata"].get("annotations", {})


def has_node(one: Manifest) -> bool:
    """Whether a claim says on which node its volume is to be made."""
    return SELECTED in one["metadata"].get("annotations", {})


def storage_class(
    name: str, provisioner: str = NO_PROVISIONER, *, wait: bool = False, topologies: list[Manifest] | None = None
) -> Manifest:
    """A class whose claims are bound at once, or when a pod is placed."""
    mode = "WaitForFirstConsumer" if wait else "Immediate"
    made = {"apiVersion": STORAGE, "kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner}
    return made | {"volumeBindingMode": mode} | ({"allowedTopologies": topologies} if topologies else {})


def csi_driver(name: str, spec: Manifest) -> Manifest:
    """A driver as the cluster knows it."""
    return {"apiVersion": STORAGE, "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def csi_node(node: str, limits: dict[str, int | None]) -> Manifest:
    """The drivers of a node, and how many volumes each attaches there."""
    drivers = [
        {"name": name, "nodeID": node, "topologyKeys": []}
        | ({} if limit is None else {"allocatable": {"count": limit}})
        for name, limit in limits.items()
    ]
    return {"apiVersion": STORAGE, "kind": "CSINode", "metadata": {"name": node}, "spec": {"drivers": drivers}}


def attachment(name: str, driver: str, volume_name: str, node: str) -> Manifest:
    """A volume that is attached to a node."""
    spec = {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume_name}}
    return {"apiVersion": STORAGE, "kind": "VolumeAttachment", "metadata": {"name": name}, "spec": spec}


def capacity(
    name: str, class_name: str, topology: Manifest | None, amount: str | None, largest: str | None
) -> Manifest:
    """What a driver can still provide somewhere."""
    made: Manifest = {"apiVersion": STORAGE, "kind": "CSIStorageCapacity", "storageClassName": class_name}
    made["metadata"] = {"name": name, "namespace": "default"}
    given = {"nodeTopology": topology, "capacity": amount, "maximumVolumeSize": largest}
    return made | {key: value for key, value in given.items() if value is not None}


def node_affinity_of(draw: Draw, names: list[str] | None = None) -> Manifest:
    """Where a volume can be reached from."""
    key = draw.pick(("topology.kubernetes.io/zone", "rack", "disk"))
    requirement = draw.requirement(key, NODE_LABELS[key])
    if names and draw.chance(0.5):
        requirement = {"key": HOSTNAME, "operator": "In", "values": sorted(draw.some(names, 1, 3))}
    return {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
