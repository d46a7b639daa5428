"""Where the API serves each kind of object that scheduling reads."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from pilotage.model.decoding import KINDS
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node, NodeObject
from pilotage.model.pod import Pod, PodObject

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"  # finished pods hold nothing any more


class ApiObject(Protocol):
    """An object of the API, whatever its kind."""

    @property
    def metadata(self) -> Metadata:
        """Return who the object is."""


T = TypeVar("T", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class ApiResource(Generic[T]):
    """One resource of the API: its address, the shape of its objects, and what they become here."""

    group: str
    version: str
    plural: str
    shape: type[Any]  # what msgspec decodes
    build: Callable[[Any], T]  # from what was decoded; it reads the quantities, so that none surprises anybody later
    field_selector: str = ""
    namespace: str = ""  # only the objects of this one
    optional: bool = False  # where it is not served, or not for us, there are just none
    # Whether the last state that was understood counts until there is another one; else there is none meanwhile.
    outlasts: Callable[[T], bool] = lambda _: False

    @property
    def path(self) -> str:
        """Return the path under which all objects of the resource are listed and watched."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{root}/{self.plural}"

    @property
    def selection(self) -> dict[str, str]:
        """Return the part of a query that chooses objects."""
        return {"fieldSelector": self.field_selector} if self.field_selector else {}

    def __str__(self) -> str:
        """Return the name that a role would have: pods, csinodes.storage.k8s.io."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _pod(given: PodObject) -> Pod:
    pod = Pod(given)
    _ = pod.requests, pod.usage
    return pod


def _is_placed(pod: Pod) -> bool:
    """Tell whether a pod takes room on a node, which stays taken whatever is written on the pod."""
    return bool(pod.node_name)


def _as_it_is(given: T) -> T:
    return given


def _resource(group: str, version: str, kind: str, plural: str, *, optional: bool = False) -> ApiResource[Any]:
    return ApiResource(group, version, plural, KINDS[group, kind], _as_it_is, optional=optional)


_optional = partial(_resource, optional=True)


PODS: ApiResource[Pod] = ApiResource("", "v1", "pods", PodObject, _pod, UNFINISHED, outlasts=_is_placed)
NODES: ApiResource[Node] = ApiResource("", "v1", "nodes", NodeObject, Node)

# All that scheduling reads. Which of them are watched depends on the plugins; a pod's priority is a number in its spec.
RESOURCES: tuple[ApiResource[Any], ...] = (
    PODS,
    NODES,
    _resource("", "v1", "Namespace", "namespaces"),
    _resource("", "v1", "Service", "services"),
    _resource("", "v1", "ReplicationController", "replicationcontrollers"),
    _resource("apps", "v1", "ReplicaSet", "replicasets"),
    _resource("apps", "v1", "StatefulSet", "statefulsets"),
    _resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    _resource("", "v1", "PersistentVolume", "persistentvolumes"),
    _resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    _resource("storage.k8s.io", "v1", "StorageClass", "storageclasses"),
    _resource("storage.k8s.io", "v1", "CSINode", "csinodes"),
    _resource("storage.k8s.io", "v1", "CSIDriver", "csidrivers"),
    _resource("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities"),
    _resource("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments"),
    _resource("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
    _resource("resource.k8s.io", "v1", "DeviceClass", "deviceclasses"),
    _resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"),
    _optional("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"),
    _optional("scheduling.k8s.io", "v1beta1", "PodGroup", "podgroups"),
    _optional("scheduling.x-k8s.io", "v1alpha1", "ElasticQuota", "elasticquotas"),
    _optional("topology.node.k8s.io", "v1alpha2", "NodeResourceTopology", "noderesourcetopologies"),
    _optional("appgroup.diktyo.x-k8s.io", "v1alpha1", "AppGroup", "appgroups"),
    _optional("networktopology.diktyo.x-k8s.io", "v1alpha1", "NetworkTopology", "networktopologies"),
    _optional("security-profiles-operator.x-k8s.io", "v1beta1", "SeccompProfile", "seccompprofiles"),
    _optional("pilotage.dev", "v1alpha1", "StickyJob", "stickyjobs"),
)
KIND_OF: dict[str, type[Any]] = {str(resource): resource.shape for resource in RESOURCES}  # by their names
