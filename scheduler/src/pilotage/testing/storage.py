"""One-line builders of storage objects as plugins see them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pilotage.kinds.storage import (
    BIND_COMPLETED,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from pilotage.testing.manifests import Manifest


def make_claim(
    name: str,
    *,
    namespace: str = "default",
    size: str | None = None,
    storage_class: str | None = None,
    volume: str = "",
    bound: bool | None = None,
    selected_node: str | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    phase: str = "",
    metadata: Manifest | None = None,
    **spec: Any,
) -> PersistentVolumeClaim:
    """Return a claim; with a volume it is bound, unless specified otherwise."""
    annotations = {BIND_COMPLETED: "yes"} if (bool(volume) if bound is None else bound) else {}
    if selected_node is not None:
        annotations[SELECTED_NODE] = selected_node
    about = {"name": name, "namespace": namespace, "uid": f"claim-{name}", **(metadata or {})}
    about["annotations"] = annotations | about.get("annotations", {})
    spec |= {"accessModes": modes, "volumeName": volume, "storageClassName": storage_class}
    spec |= {"resources": {"requests": {"storage": size}}} if size else {}
    return msgspec.convert({"metadata": about, "spec": spec, "status": {"phase": phase}}, PersistentVolumeClaim)


def make_volume(
    name: str,
    *,
    size: str = "1Gi",
    storage_class: str = "",
    labels: Mapping[str, str] | None = None,
    on: Mapping[str, Sequence[str]] | None = None,
    terms: Sequence[Manifest] | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    phase: str = "Available",
    driver: str | None = None,
    handle: str | None = None,
    metadata: Manifest | None = None,
    **spec: Any,
) -> PersistentVolume:
    """Return a volume; `on` are the node labels that it requires, `terms` the terms of a node selector."""
    if on is not None:
        expressions = [{"key": key, "operator": "In", "values": values} for key, values in on.items()]
        terms = [{"matchExpressions": expressions}]
    spec |= {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms is not None else {}
    spec |= {"csi": {"driver": driver, "volumeHandle": handle or name}} if driver else {}
    spec |= {"capacity": {"storage": size}, "accessModes": modes, "storageClassName": storage_class}
    about = {"name": name, "labels": labels or {}, **(metadata or {})}
    return msgspec.convert({"metadata": about, "spec": spec, "status": {"phase": phase}}, PersistentVolume)


def make_storage_class(
    name: str,
    *,
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str | None = WAIT_FOR_FIRST_CONSUMER,
    allowed: Sequence[Mapping[str, Sequence[str]]] = (),
) -> StorageClass:
    """Return a storage class; `allowed` are alternatives of labels with their values."""
    topologies = [
        {"matchLabelExpressions": [{"key": key, "values": values} for key, values in term.items()]} for term in allowed
    ]
    manifest = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
    return msgspec.convert(manifest | {"allowedTopologies": topologies}, StorageClass)


def make_csi_node(
    name: str, limits: Mapping[str, int | None] | None = None, *, migrated: Sequence[str] = ()
) -> CSINode:
    """Return the CSINode with these drivers and their limits; None means no limit."""
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(migrated)} if migrated else {}
    drivers = [
        {"name": driver, "allocatable": None if limit is None else {"count": limit}}
        for driver, limit in (limits or {}).items()
    ]
    return msgspec.convert(
        {"metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}, CSINode
    )


def make_csi_driver(
    name: str, *, storage_capacity: bool | None = None, must_be_installed: bool | None = None
) -> CSIDriver:
    """Return a driver."""
    spec = {"storageCapacity": storage_capacity, "preventPodSchedulingIfMissing": must_be_installed}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, CSIDriver)


def make_capacity(
    name: str,
    storage_class: str,
    *,
    capacity: str | None = None,
    largest: str | None = None,
    on: Mapping[str, str] | None = None,
) -> CSIStorageCapacity:
    """Return the remaining capacity of a class on nodes with these labels."""
    manifest = {
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": storage_class,
        "capacity": capacity,
        "maximumVolumeSize": largest,
        "nodeTopology": None if on is None else {"matchLabels": dict(on)},
    }
    return msgspec.convert(manifest, CSIStorageCapacity)


def make_attachment(name: str, *, node: str, volume: str | None, attacher: str) -> VolumeAttachment:
    """Return the attachment of a volume to a node."""
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, VolumeAttachment)


def claim_volumes(*claims: str, inline: Sequence[Manifest] = (), ephemeral: Sequence[str] = ()) -> Manifest:
    """Return the volumes of a pod's spec for these claims, inline volumes and ephemeral volumes."""
    named = [{"name": f"claim-{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(claims)]
    given = [{"name": f"inline-{i}", **source} for i, source in enumerate(inline)]
    return {"volumes": [*named, *given, *({"name": name, "ephemeral": {}} for name in ephemeral)]}
