"""Cluster events, and how a plugin declares which of them can help a pod that it rejected."""

from dataclasses import dataclass
from enum import Flag, StrEnum
from typing import Final, TypeAlias

from pilotage.kinds.devices import DeviceClass, ResourceClaim
from pilotage.kinds.every import OURS
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.pod_groups import NativePodGroup
from pilotage.kinds.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from pilotage.kinds.workloads import Namespace, PriorityClass


class Resource(StrEnum):
    """The resources that kube-scheduler has names for; events of other kinds use the kind's class."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"  # the pending pod itself
    NODE = "Node"
    NAMESPACE = Namespace.api.title
    PERSISTENT_VOLUME = PersistentVolume.api.title
    PERSISTENT_VOLUME_CLAIM = PersistentVolumeClaim.api.title
    CSI_NODE = CSINode.api.title
    CSI_DRIVER = CSIDriver.api.title
    VOLUME_ATTACHMENT = VolumeAttachment.api.title
    CSI_STORAGE_CAPACITY = CSIStorageCapacity.api.title
    STORAGE_CLASS = StorageClass.api.title
    RESOURCE_CLAIM = ResourceClaim.api.title
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = DeviceClass.api.title
    POD_GROUP = NativePodGroup.api.title
    COMPOSITE_POD_GROUP = "scheduling.k8s.io/CompositePodGroup"
    PRIORITY_CLASS = PriorityClass.api.title
    EVERYTHING = "*"


What: TypeAlias = Resource | type[KubeObject]

_OF_KUBE_SCHEDULER = {kind: Resource(kind.api.title) for kind in OURS if kind.api.title in {*Resource}}


def what_changes(kind: type[KubeObject]) -> What:
    """Return the resource of a kind's events: kube-scheduler's name for it, or its class."""
    return _OF_KUBE_SCHEDULER.get(kind, kind)


def title_of(what: What) -> str:
    """Return its name in logs and metrics: power.example.com/RackPower."""
    return what.value if isinstance(what, Resource) else what.api.title


class Action(Flag):
    """The kinds of changes; the order of the bits is kube-scheduler's, and matters for matching."""

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_NODE_PREEMPTION_POLICY = 1 << 8
    UPDATE_POD_LABEL = 1 << 9
    UPDATE_POD_SCALE_DOWN = 1 << 10
    UPDATE_POD_SCALE_UP = 1 << 11
    UPDATE_POD_TOLERATION = 1 << 12
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 13
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 14
    UPDATE = (1 << 15) - 4
    ALL = (1 << 15) - 1


# Their names in logs and metrics: UpdateNodeTaint.
NAMES = {action: "".join(map(str.capitalize, name.split("_"))) for name, action in Action.__members__.items()}


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a resource; the label replaces its usual name."""

    resource: What
    action: Action
    label: str = ""

    @property
    def name(self) -> str:
        """Return the name in logs and metrics, such as AssignedPodDelete."""
        return self.label or f"{title_of(self.resource)}{NAMES.get(self.action, '')}"

    @property
    def is_wildcard(self) -> bool:
        """Return whether the event may concern every pending pod."""
        return self.resource is Resource.EVERYTHING and self.action == Action.ALL


@dataclass(frozen=True, slots=True)
class Retry:
    """An event that can help a pod that a plugin rejected.

    `hint` names a method of the plugin, `(pod, event, old, new) -> bool`, that returns whether this change helps this
    pod; old and new are Pods, Nodes or API objects, or None. Without a hint, every such event helps. `only_gang` names
    a method, `(old, new) -> GangName | None`, for a change that can only help pods of the gang that it returns: the
    hint is not called for other pods. `only_pods` names a method, `(old, new) -> Collection[str] | None`, for a change
    that can only help the pods with the keys (namespace/name) that it returns; None if it can help any. A kind is
    given by its class or as a Resource.
    """

    resource: What
    action: Action
    hint: str | None = None
    for_gang: bool = False  # the hint is the same for all pods of a gang, and is called once for them
    only_gang: str | None = None
    only_pods: str | None = None

    def __post_init__(self) -> None:
        """Use kube-scheduler's name for a class that has one."""
        if isinstance(self.resource, type):
            object.__setattr__(self, "resource", what_changes(self.resource))

    def matches(self, event: Event) -> bool:
        """Return whether the event matches."""
        if self.resource is Resource.EVERYTHING and self.action == Action.ALL:
            return True
        pods = (Resource.ASSIGNED_POD, Resource.UNSCHEDULED_POD, Resource.TARGET_POD)
        same = self.resource in (event.resource, Resource.EVERYTHING)
        same = same or (self.resource is Resource.POD and event.resource in pods)
        # A general update does not match a specific kind of update.
        return same and bool(self.action & event.action) and event.action.value <= self.action.value


# A pod was placed on a node or left it: by far the most frequent events.
POD_PLACED = Event(Resource.ASSIGNED_POD, Action.ADD)
POD_GONE = Event(Resource.ASSIGNED_POD, Action.DELETE)

NODE_ADDED = Retry(Resource.NODE, Action.ADD)
NODE_LABELS_CHANGED = Retry(Resource.NODE, Action.UPDATE_NODE_LABEL)
NODE_TAINTS_CHANGED = Retry(Resource.NODE, Action.UPDATE_NODE_TAINT)
NODE_ALLOCATABLE_CHANGED = Retry(Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE)
POD_DELETED = Retry(Resource.ASSIGNED_POD, Action.DELETE)
ANYTHING = Retry(Resource.EVERYTHING, Action.ALL)

# The events that can help a pod that an extender rejected: extenders have no hints.
EXTENDER_RETRIES = tuple(
    Retry(resource, Action.ALL)
    for resource in (
        Resource.ASSIGNED_POD,
        Resource.UNSCHEDULED_POD,
        Resource.TARGET_POD,
        Resource.NODE,
        Resource.PERSISTENT_VOLUME,
        Resource.PERSISTENT_VOLUME_CLAIM,
        Resource.CSI_NODE,
        Resource.CSI_DRIVER,
        Resource.CSI_STORAGE_CAPACITY,
        Resource.STORAGE_CLASS,
        Resource.RESOURCE_CLAIM,
        Resource.DEVICE_CLASS,
    )
)

# In place of an object that cannot be decoded, or was deleted in that state: hints cannot evaluate it, so all pods
# that wait for its kind are retried.
NOT_UNDERSTOOD: Final = object()

# These concern every pending pod or, with a pod as the new object, only that one.
UNSCHEDULABLE_TIMEOUT = Event(Resource.EVERYTHING, Action.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = Event(Resource.EVERYTHING, Action.ALL, "ForceActivate")
RETRY_DUE = Event(Resource.EVERYTHING, Action.ALL, "RetryDue")
PROFILES_CHANGED = Event(Resource.EVERYTHING, Action.ALL, "ProfilesChanged")
GANG_ROLLED_BACK = Event(Resource.EVERYTHING, Action.ALL, "GangRolledBack")
