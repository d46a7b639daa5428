"""Device claims, as far as they are read: not for allocation, only for messages."""

from typing import Any

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject


class DeviceSubrequest(Struct, frozen=True, gc=False, rename="camel"):
    """One of several ways to serve a request."""

    name: str = ""
    device_class_name: str = ""


class ExactRequest(Struct, frozen=True, gc=False, rename="camel"):
    """Devices of one class."""

    device_class_name: str = ""


class DeviceRequest(Struct, frozen=True, gc=False, rename="camel"):
    """What a claim asks for: one kind of device, or the first available of several."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: tuple[DeviceSubrequest, ...] = ()


class DeviceClaim(Struct, frozen=True, gc=False, rename="camel"):
    """All requests of a claim."""

    requests: tuple[DeviceRequest, ...] = ()


class ResourceClaimSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a claim is about."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaimStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Whether a claim got its devices."""

    allocation: dict[str, Any] | None = None


class ResourceClaim(KubeObject, group="resource.k8s.io", version="v1", plural="resourceclaims", in_kubernetes=True):
    """A claim for devices."""

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class DeviceClass(
    KubeObject, group="resource.k8s.io", version="v1", plural="deviceclasses", scope="Cluster", in_kubernetes=True
):
    """A kind of device."""
