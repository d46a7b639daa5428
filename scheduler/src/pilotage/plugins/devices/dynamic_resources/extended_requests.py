"""The extended resources of a pod that devices serve: on which nodes, and the requests for them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, Ints, Nodes
from pilotage.kinds.devices import EXACT_COUNT, DeviceRequest, ExactRequest
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import Container, PodSpec
from pilotage.model.quantity import LARGEST, NANOS, parse
from pilotage.plugins.devices.dynamic_resources.device_classes import DeviceClasses, can_be_served

MOST_BITS = 62  # of a non-negative integer


class Served(NamedTuple):
    """A resource and the class that serves it on nodes that have none of it."""

    resource: str
    device_class: str


Needed = tuple[Served, ...]  # from devices, on nodes of one kind


class RequestMapping(NamedTuple):
    """Which request of the special claim has devices for a container."""

    container: str
    resource: str
    request: str


class Variant(NamedTuple):
    """The special claim on nodes of one kind: its requests, and who uses them."""

    requests: tuple[DeviceRequest, ...] = ()
    mappings: tuple[RequestMapping, ...] = ()


NO_DEVICES = Variant()


class ExtendedDemand(NamedTuple):
    """The extended resources of a pod, of which classes serve at least one."""

    served: tuple[Served, ...]  # by name
    others: tuple[str, ...]

    def on_node(self, node: Node) -> Needed | None:
        """Return what devices must serve on a node, since it has none of it; None if the node cannot fit the rest."""
        if any(resource not in node.allocatable for resource in self.others):
            return None
        return tuple(each for each in self.served if not node.allocatable.get(each.resource, 0))

    def on_nodes(self, nodes: Nodes) -> tuple[Ids, list[Needed | None]]:
        """Return the same for many nodes: an index for each, and the answers that it selects."""
        missing = [nodes.allocatable(each.resource) == 0 for each in self.served]
        kinds = _numbered(missing)
        for resource in self.others:
            lacking = nodes.allocatable(resource) == 0
            for place in np.flatnonzero(lacking).tolist():
                # A node may also state that it has 0 of a resource.
                lacking[place] = resource not in nodes[place].allocatable
            kinds[lacking] = -1
        firsts, places = np.unique(kinds, return_index=True, return_inverse=True)[1:]
        return places.reshape(-1).astype(np.int32), [self.on_node(nodes[first].node) for first in firsts.tolist()]


def extended_demand(pod: Pod, classes: DeviceClasses) -> ExtendedDemand | None:
    """Return the extended resources of a pod if a class serves any of them."""
    names = extended_resources(pod)
    if not names:
        return None
    found = [(name, classes.serving(name)) for name in names]
    served = tuple(Served(name, device_class) for name, device_class in found if device_class is not None)
    if not served:
        return None
    return ExtendedDemand(served, tuple(name for name, device_class in found if device_class is None))


def extended_resources(pod: Pod) -> tuple[str, ...]:
    """Return the names of the pod's resources that a class could serve, sorted."""
    return pod.shape.remember("extended resources", _extended_resources)


def _extended_resources(shape: PodShape) -> tuple[str, ...]:
    return tuple(sorted(name for name, amount in shape.requests.items() if amount > 0 and can_be_served(name)))


def variant_of(pod: Pod, served: Needed) -> Variant:
    """Return the requests for what devices serve on a node."""
    if not served:
        return NO_DEVICES
    return pod.shape.remember(("requests of devices", served), lambda shape: _variant(shape.spec, served))


def _variant(spec: PodSpec, served: Sequence[Served]) -> Variant:
    parts = [_requests_for(each, spec) for each in served]
    requests = sorted((request for part in parts for request in part.requests), key=lambda each: each.name)
    return Variant(tuple(requests), tuple(mapping for part in parts for mapping in part.mappings))


class _Use(NamedTuple):
    """A container that uses a resource: its place among all containers, and the request of its own."""

    place: int
    container: str
    request: str
    amount: int


class _Start(NamedTuple):
    """An init container: the requests of later containers that it uses first, and how many devices it lacks then."""

    use: _Use
    reused: tuple[str, ...]
    lacking: int


def _requests_for(served: Served, spec: PodSpec) -> Variant:
    """Return the requests for one resource; init containers take turns with one request for what they lack."""
    uses = list(_uses(served.resource, (*spec.init_containers, *spec.containers)))
    ending = {i for i, each in enumerate(spec.init_containers) if not each.is_sidecar}
    lasting = [use for use in uses if use.place not in ending]
    starts = [_start(use, lasting) for use in uses if use.place in ending]
    found = [_request(use.request, use.amount, served) for use in lasting]
    most = max(starts, key=lambda each: each.lacking, default=None)  # the first of equals
    extra: tuple[str, ...] = ()
    if most is not None and most.lacking:
        extra = (most.use.request,)
        found.append(_request(most.use.request, most.lacking, served))
    mappings = [(use, use.request) for use in lasting]
    mappings += [(each.use, name) for each in starts for name in each.reused + extra * (each.lacking > 0)]
    return Variant(
        tuple(found), tuple(RequestMapping(use.container, served.resource, request) for use, request in mappings)
    )


def _uses(resource: str, containers: Sequence[Container]) -> Iterator[_Use]:
    for place, container in enumerate(containers):
        asked = container.resources.requests
        amount, rest = divmod(parse(asked.get(resource, 0)).nanos, NANOS)
        if 0 < amount <= LARGEST and not rest:
            yield _Use(place, container.name, f"container-{place}-request-{sorted(asked).index(resource)}", amount)


def _start(use: _Use, lasting: Sequence[_Use]) -> _Start:
    reused: list[str] = []
    lacking = use.amount
    for other in lasting:
        if other.place > use.place and lacking > 0:
            reused.append(other.request)
            lacking -= other.amount
    return _Start(use, tuple(reused), max(lacking, 0))


def _request(name: str, count: int, served: Served) -> DeviceRequest:
    return DeviceRequest(name, ExactRequest(served.device_class, allocation_mode=EXACT_COUNT, count=count))


def _numbered(masks: Sequence[Bools]) -> Ints:
    """Return a number for each place, which is the same for places that are in the same masks."""
    if len(masks) > MOST_BITS:
        return np.unique(np.stack(masks), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    found = np.zeros(len(masks[0]), np.int64)
    for bit, mask in enumerate(masks):
        found |= mask.astype(np.int64) << bit
    return found
