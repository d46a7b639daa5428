"""What must be right before devices are searched for a claim."""

from collections.abc import Iterator

from pilotage.framework.api.objects import Objects
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.kinds.devices import DeviceClass, DeviceRequest, ResourceClaim
from pilotage.plugins.devices.dynamic_resources.pod_claims import hopeless, key_of


def unserved(claim: ResourceClaim, objects: Objects) -> Rejection | None:
    """Return which request of a claim cannot be served: of an unknown form, or of a class that does not exist."""
    for request in claim.spec.devices.requests:
        if request.exactly is None and not request.first_available:
            return hopeless(f"resource claim {key_of(claim)}, request {request.name}: unknown request type")
        for name, device_class in _classes_of(request):
            if not device_class:
                raise PluginFailed(f"request {name}: unsupported request type")
            if objects.get(DeviceClass, device_class) is None:
                return hopeless(f"request {name}: device class {device_class} does not exist")
    return None


def _classes_of(request: DeviceRequest) -> Iterator[tuple[str, str]]:
    """Yield a request or its alternatives, each with its device class."""
    if request.exactly is not None:
        yield request.name, request.exactly.device_class_name
        return
    for choice in request.first_available:
        yield f"{request.name}/{choice.name}", choice.device_class_name
