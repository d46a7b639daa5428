"""Pods with the fields that scheduling reads, and the shape that pods with equal specs share."""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from pilotage.model.metadata import Metadata
from pilotage.model.pod_spec import Container, PodSpec
from pilotage.model.pod_status import PodStatus
from pilotage.model.requests import Requests, effective_requests, is_as_asked, nonzero_requests, usage
from pilotage.model.tolerations import Tolerated

Answer = TypeVar("Answer")
HostPort = tuple[str, str, int]  # address, protocol, port
PortNumber = tuple[str, int]  # protocol, port

DEFAULT_SCHEDULER = "default-scheduler"
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - means all addresses of a node; nothing listens here


class PodObject(Struct, gc=False, rename="camel"):
    """A pod of the API, without fields that scheduling does not use."""

    metadata: Metadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = PodStatus()


class PodShape:
    """The scheduling-relevant spec of a pod; pods with equal specs share one shape, and its cached results."""

    def __init__(self, key: bytes, spec: PodSpec) -> None:
        self.key = key
        self.spec = spec
        self._answers: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"PodShape({self.key!r})"

    def remember(self, question: Hashable, compute: Callable[["PodShape"], Answer]) -> Answer:
        """Return a value that depends only on the shape, computed once."""
        try:
            return self._answers[question]  # type: ignore[no-any-return]  # one key has one type of value
        except KeyError:
            answer = self._answers[question] = compute(self)
            return answer

    @cached_property
    def requests(self) -> Requests:
        """Return the effective requests of the pod: cpu in thousandths, everything else in units."""
        return effective_requests(self.spec)

    @cached_property
    def nonzero_requests(self) -> tuple[int, int]:
        """Return cpu and memory with small defaults for missing requests, as placed pods count in scores."""
        return nonzero_requests(self.spec)

    @cached_property
    def tolerated(self) -> Tolerated:
        """Return the taints that the pod tolerates."""
        return Tolerated(self.spec.tolerations)

    @cached_property
    def running_containers(self) -> tuple[Container, ...]:
        """Return the containers that run together: the regular ones and the sidecars."""
        return (*self.spec.containers, *(each for each in self.spec.init_containers if each.is_sidecar))

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Return the host ports of the pod, each once."""
        ports = (port for container in self.running_containers for port in container.ports if port.host_port > 0)
        found = ((port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port) for port in ports)
        return tuple(dict.fromkeys(found))

    @cached_property
    def port_numbers(self) -> frozenset[PortNumber]:
        """Return the same without addresses."""
        return frozenset(port[1:] for port in self.host_ports)


# Weak, because every rollout creates new shapes.
_shapes: WeakValueDictionary[bytes, PodShape] = WeakValueDictionary()
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def shape_of(spec: PodSpec) -> PodShape:
    """Return the shape of a spec; equal specs get the same one."""
    key = _encode(
        (
            spec.containers,
            spec.init_containers,
            spec.ephemeral_containers,
            spec.overhead,
            spec.resources,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            [volume for volume in spec.volumes if volume.has_known_source],
            spec.resource_claims,
            spec.host_network,
            spec.host_users,
            spec.security_context and spec.security_context.seccomp_profile,
        )
    )
    shape = _shapes.get(key)
    if shape is None:
        shape = _shapes[key] = PodShape(key, spec)
    return shape


class Pod:
    """A pod: its identity, its node and its shape."""

    __slots__ = (
        "_usage",
        "annotations",
        "labels",
        "metadata",
        "name",
        "namespace",
        "node_name",
        "priority",
        "scheduler_name",
        "shape",
        "spec",
        "status",
        "uid",
    )

    def __init__(self, given: PodObject) -> None:
        self.metadata = given.metadata
        self.spec = given.spec
        self.status = given.status
        self.name = given.metadata.name
        self.namespace = given.metadata.namespace or "default"
        self.uid = given.metadata.uid or f"{self.namespace}/{self.name}"
        self.labels = given.metadata.labels
        self.annotations = given.metadata.annotations
        self.scheduler_name = given.spec.scheduler_name or DEFAULT_SCHEDULER
        self.node_name = given.spec.node_name
        self.priority = given.spec.priority or 0
        self.shape = shape_of(given.spec)
        self._usage: tuple[Requests, tuple[int, int]] | None = None

    def __repr__(self) -> str:
        return f"Pod({self.key})"

    @property
    def key(self) -> str:
        """Return namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_terminating(self) -> bool:
        """Return whether the pod is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_finished(self) -> bool:
        """Return whether the pod has finished and uses nothing any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def nominated_node(self) -> str:
        """Return the node nominated for the pod, or ""."""
        return self.status.nominated_node_name

    @property
    def requests(self) -> Requests:
        """Return the effective requests of the pod."""
        return self.shape.requests

    @property
    def usage(self) -> Requests:
        """Return the usage of the pod on its node; during a resize, the larger of the amounts before and after."""
        return self._measured()[0]

    @property
    def nonzero_usage(self) -> tuple[int, int]:
        """Return its cpu and memory usage with small defaults for missing requests."""
        return self._measured()[1]

    def on(self, node_name: str) -> "Pod":
        """Return a copy of the pod on a node."""
        placed = Pod.__new__(Pod)  # attribute by attribute: a loop takes three times as long
        placed.metadata, placed.spec, placed.status = self.metadata, self.spec, self.status
        placed.name, placed.namespace, placed.uid = self.name, self.namespace, self.uid
        placed.labels, placed.annotations = self.labels, self.annotations
        placed.scheduler_name, placed.priority, placed.shape = self.scheduler_name, self.priority, self.shape
        placed._usage = self._usage
        placed.node_name = node_name
        return placed

    def with_nominated_node(self, node_name: str) -> "Pod":
        """Return a copy of the pod with a nominated node, or with none."""
        waiting = self.on(self.node_name)
        waiting.status = msgspec.structs.replace(self.status, nominated_node_name=node_name)
        return waiting

    def _measured(self) -> tuple[Requests, tuple[int, int]]:
        if self._usage is None:
            if is_as_asked(self.spec, self.status):
                self._usage = self.shape.requests, self.shape.nonzero_requests
            else:
                self._usage = usage(self.spec, self.status)
        return self._usage
