"""From plain data, as the API and its files have it, to the objects that scheduling knows."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pilotage.model.app_network import AppGroup, NetworkTopology
from pilotage.model.devices import DeviceClass, ResourceClaim
from pilotage.model.elastic_quota import ElasticQuota
from pilotage.model.node import Node, NodeObject
from pilotage.model.node_metrics import NodeMetrics
from pilotage.model.node_resource_topology import NodeResourceTopology
from pilotage.model.objects import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from pilotage.model.pod import Pod, PodObject
from pilotage.model.pod_groups import NativePodGroup, PodGroup
from pilotage.model.quantity import InvalidQuantity
from pilotage.model.seccomp_profile import SeccompProfile
from pilotage.model.sticky_job import StickyJob
from pilotage.model.volumes import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

OtherObject = (
    Namespace
    | Service
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | PodDisruptionBudget
    | PriorityClass
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
    | ResourceClaim
    | DeviceClass
    | PodGroup
    | NativePodGroup
    | ElasticQuota
    | NodeResourceTopology
    | AppGroup
    | NetworkTopology
    | SeccompProfile
    | StickyJob
    | NodeMetrics
)

# By API group and kind: the versions of a kind do not differ in the fields that are read.
KINDS: dict[tuple[str, str], type[Any]] = {
    ("", "Pod"): PodObject,
    ("", "Node"): NodeObject,
    ("", "Namespace"): Namespace,
    ("", "Service"): Service,
    ("", "ReplicationController"): ReplicationController,
    ("apps", "ReplicaSet"): ReplicaSet,
    ("apps", "StatefulSet"): StatefulSet,
    ("policy", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io", "PriorityClass"): PriorityClass,
    ("", "PersistentVolume"): PersistentVolume,
    ("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("storage.k8s.io", "StorageClass"): StorageClass,
    ("storage.k8s.io", "CSINode"): CSINode,
    ("storage.k8s.io", "CSIDriver"): CSIDriver,
    ("storage.k8s.io", "CSIStorageCapacity"): CSIStorageCapacity,
    ("storage.k8s.io", "VolumeAttachment"): VolumeAttachment,
    ("resource.k8s.io", "ResourceClaim"): ResourceClaim,
    ("resource.k8s.io", "DeviceClass"): DeviceClass,
    ("scheduling.x-k8s.io", "PodGroup"): PodGroup,
    ("scheduling.k8s.io", "PodGroup"): NativePodGroup,
    ("scheduling.x-k8s.io", "ElasticQuota"): ElasticQuota,
    ("topology.node.k8s.io", "NodeResourceTopology"): NodeResourceTopology,
    ("appgroup.diktyo.x-k8s.io", "AppGroup"): AppGroup,
    ("networktopology.diktyo.x-k8s.io", "NetworkTopology"): NetworkTopology,
    ("security-profiles-operator.x-k8s.io", "SeccompProfile"): SeccompProfile,
    ("pilotage.dev", "StickyJob"): StickyJob,
    ("metrics.k8s.io", "NodeMetrics"): NodeMetrics,
}


class Undecodable(ValueError):
    """Data that is no such object; the text says where and why."""


def kind_of(manifest: Mapping[str, Any]) -> type[Any] | None:
    """Return the type of a manifest's kind; None for kinds that play no part in scheduling."""
    version = str(manifest.get("apiVersion", ""))
    group = version.rpartition("/")[0]
    return KINDS.get((group, str(manifest.get("kind", ""))))


def decode(manifest: Mapping[str, Any], kind: type[Any]) -> Pod | Node | OtherObject:
    """Return the object of a manifest; its quantities are read too, so that none surprises anybody later."""
    try:
        found = _converted(manifest, kind)
        if kind is NodeObject:
            return Node(found)
        if kind is PodObject:
            pod = Pod(found)
            _ = pod.requests, pod.usage
            return pod
    except (msgspec.ValidationError, InvalidQuantity) as error:
        raise Undecodable(str(error)) from None
    return found  # type: ignore[no-any-return]  # one of the other kinds


def _converted(manifest: Mapping[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(manifest, kind)
    except msgspec.ValidationError:  # perhaps a null, which few objects have
        return msgspec.convert(without_nulls(manifest), kind)


def without_nulls(value: Any) -> Any:
    """Return data without nulls, which the API takes for absent fields."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value
