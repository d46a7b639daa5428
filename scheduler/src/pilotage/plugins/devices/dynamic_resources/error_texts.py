"""The texts of errors, with the names of claims, devices and nodes."""

from collections.abc import Sequence

from pilotage.kinds.devices import ResourceClaim
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.outcomes import Failure, Part, What
from pilotage.plugins.devices.dynamic_resources.pools import PoolView


def text_of(failure: Failure, node: Node, claims: Sequence[ResourceClaim], views: Sequence[PoolView]) -> str:
    """Return kube-scheduler's text of an error on a node."""
    return "".join(_part(part, node, claims, views) for part in failure.parts)


def _part(part: Part, node: Node, claims: Sequence[ResourceClaim], views: Sequence[PoolView]) -> str:
    if isinstance(part, str):
        return part
    what, index = part
    match what:
        case What.CLAIM:
            metadata = claims[index].metadata
            return f"{metadata.namespace}/{metadata.name}"
        case What.DEVICE:
            return "/".join(device_name(views, index))
        case What.DEVICE_ALONE:
            return device_name(views, index)[-1]
        case What.POOL:
            return "/".join(views[index].key)
        case What.NODE:
            return node.name


def device_name(views: Sequence[PoolView], place: int) -> tuple[str, ...]:
    """Return driver, pool and name of a device."""
    for view in views:
        if place < view.shape.size:
            return *view.key, view.names[place]
        place -= view.shape.size
    raise IndexError(place)
