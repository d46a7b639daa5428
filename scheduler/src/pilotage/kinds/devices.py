"""Device claims, read only for messages, not for allocation."""

from typing import Any

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject


class DeviceSubrequest(Struct, frozen=True, gc=False, rename="camel"):
    """One of several alternatives for a request."""

    name: str = ""
    device_class_name: str = ""


class ExactRequest(Struct, frozen=True, gc=False, rename="camel"):
    """Devices of one class."""

    device_class_name: str = ""


class DeviceRequest(Struct, frozen=True, gc=False, rename="camel"):
    """A request of a claim: one kind of device, or the first available of several."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: tuple[DeviceSubrequest, ...] = ()


class DeviceClaim(Struct, frozen=True, gc=False, rename="camel"):
    """All requests of a claim."""

    requests: tuple[DeviceRequest, ...] = ()


class ResourceClaimSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaimStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The allocation of a claim."""

    allocation: dict[str, Any] | None = None


class ResourceClaim(KubeObject, group="resource.k8s.io", version="v1", plural="resourceclaims", in_kubernetes=True):
    """A claim for devices."""

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class DeviceClass(
    KubeObject, group="resource.k8s.io", version="v1", plural="deviceclasses", scope="Cluster", in_kubernetes=True
):
    """A kind of device."""
