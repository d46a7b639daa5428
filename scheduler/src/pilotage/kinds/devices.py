"""Dynamic resource allocation: devices in slices, their classes, taint rules, and claims for them."""

from typing import Any

from msgspec import Raw, Struct, field

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.metadata import Metadata
from pilotage.model.selectors import NodeSelector
from pilotage.model.tolerations import Taint, Toleration

GROUP = "resource.k8s.io"
DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"  # the finalizer of every allocated claim
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
IMPLICIT_RESOURCE = "deviceclass.resource.kubernetes.io/"  # followed by the name of the class that serves it

EXACT_COUNT = "ExactCount"
ALL = "All"
FROM_CLASS = "FromClass"
FROM_CLAIM = "FromClaim"

Amount = str | int | float  # a quantity as written


class DeviceAttribute(Struct, frozen=True):
    """The value of an attribute; a valid one has exactly one of the fields."""

    int_value: int | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    string_value: str | None = field(default=None, name="string")
    version_value: str | None = field(default=None, name="version")
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class CapacityRange(Struct, frozen=True, gc=False, rename="camel"):
    """The amounts that may be requested: from min to max, in steps."""

    min: Amount | None = None
    max: Amount | None = None
    step: Amount | None = None


class RequestPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """How a requested amount of a shared device is rounded and limited."""

    default: Amount | None = None
    valid_values: tuple[Amount, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Struct, frozen=True, gc=False, rename="camel"):
    """An amount that a device has, such as memory."""

    value: Amount = 0
    request_policy: RequestPolicy | None = None


class Counter(Struct, frozen=True, gc=False, rename="camel"):
    """An amount of a counter."""

    value: Amount = 0


class CounterSet(Struct, frozen=True, gc=False, rename="camel"):
    """Counters that the devices of a pool share."""

    name: str = ""
    counters: dict[str, Counter] = {}


class CounterConsumption(Struct, frozen=True, gc=False, rename="camel"):
    """What a device takes from the counters of a set."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(Taint, frozen=True, gc=False, rename="camel"):
    """A taint of a device."""

    time_added: str | None = None


class Device(Struct, frozen=True, rename="camel"):
    """A device of a slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool | None = None


class ResourcePool(Struct, frozen=True, gc=False, rename="camel"):
    """The pool of a slice; its slices are complete if as many as stated have the highest generation."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(Struct, frozen=True, rename="camel"):
    """The devices of a driver, or the counters that they share, and the nodes that can use them."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(
    KubeObject, group=GROUP, version="v1", plural="resourceslices", scope="Cluster", in_kubernetes=True
):
    """A part of a pool of devices."""

    spec: ResourceSliceSpec = ResourceSliceSpec()


class CELSelector(Struct, frozen=True, gc=False, rename="camel"):
    """An expression that a device must match."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True, gc=False, rename="camel"):
    """One condition on a device."""

    cel: CELSelector | None = None


class OpaqueConfiguration(Struct, frozen=True, rename="camel"):
    """Parameters for a driver, passed on unread."""

    driver: str = ""
    parameters: Raw = Raw(b"null")


class DeviceConfiguration(Struct, frozen=True, rename="camel"):
    """The configuration of devices; in a claim for some requests, or for all if none are named."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueConfiguration | None = None


class DeviceClassSpec(Struct, frozen=True, rename="camel"):
    """Which devices belong to a class, how they are configured, and the extended resource that they serve."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, group=GROUP, version="v1", plural="deviceclasses", scope="Cluster", in_kubernetes=True):
    """A kind of device."""

    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(Struct, frozen=True, gc=False, rename="camel"):
    """The devices that a rule taints; an absent field matches all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, frozen=True, gc=False, rename="camel"):
    """A taint and the devices that get it; without a selector none do."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(
    KubeObject, group=GROUP, version="v1", plural="devicetaintrules", scope="Cluster", in_kubernetes=True
):
    """A taint for all devices that match."""

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


class DeviceToleration(Toleration, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A toleration of a request; it is copied to its devices, with the time that only evictions read."""

    toleration_seconds: int | None = None


class CapacityRequests(Struct, frozen=True, gc=False, rename="camel"):
    """Amounts that a device must have."""

    requests: dict[str, Amount] = {}


class ExactRequest(Struct, frozen=True, rename="camel"):
    """Devices of one class; without a mode or a count the API server sets ExactCount and 1."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequests | None = None
    derived_attributes: tuple[Any, ...] = ()


class DeviceSubrequest(ExactRequest, frozen=True, rename="camel"):
    """One of several alternatives for a request."""

    name: str = ""


class DeviceRequest(Struct, frozen=True, rename="camel"):
    """A request of a claim: one kind of device, or the first available of several."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: tuple[DeviceSubrequest, ...] = ()


class DeviceConstraint(Struct, frozen=True, gc=False, rename="camel"):
    """An attribute that is equal or distinct on the devices of some requests, or of all if none are named."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Struct, frozen=True, rename="camel"):
    """All requests of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()


class ResourceClaimSpec(Struct, frozen=True, rename="camel"):
    """The spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class AllocatedDevice(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A device allocated to a request; a share of one has its own id."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, Amount] = {}
    skip_node_operations: tuple[str, ...] = ()


class AllocatedConfiguration(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The configuration of allocated devices, and whether class or claim has it."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueConfiguration | None = None


class AllocatedDevices(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The devices of a claim and their configuration."""

    results: tuple[AllocatedDevice, ...] = ()
    config: tuple[AllocatedConfiguration, ...] = ()


class Allocation(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a claim got, the nodes that can use it, and since when."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class Consumer(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A pod or group that may use a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class Condition(Struct, frozen=True, gc=False, rename="camel"):
    """A condition of an allocated device, set by its driver."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Struct, frozen=True, rename="camel"):
    """What a driver says of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(Struct, frozen=True, rename="camel"):
    """The allocation of a claim, its consumers, and the state of its devices."""

    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ClaimMetadata(Metadata, gc=False, rename="camel"):
    """The metadata of a claim, with its finalizers."""

    finalizers: tuple[str, ...] = ()


class ResourceClaim(KubeObject, group=GROUP, version="v1", plural="resourceclaims", in_kubernetes=True):
    """A claim for devices."""

    metadata: ClaimMetadata
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    def holds_something(self) -> bool:
        """Return whether the claim has devices, which are not free because nobody can read the claim."""
        return self.status.allocation is not None


class TemplateMetadata(Struct, frozen=True, gc=False, rename="camel"):
    """What claims get from a template besides their spec."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ResourceClaimTemplateSpec(Struct, frozen=True, rename="camel"):
    """The claims of a template."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(
    KubeObject, group=GROUP, version="v1", plural="resourceclaimtemplates", in_kubernetes=True, wakes=False
):
    """A template for the claims of pods; a controller reads it, and simulations do."""

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
