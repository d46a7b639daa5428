"""A pod's requests to NUMA zones, as a whole and by container."""

from dataclasses import dataclass
from typing import Final

from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import Container
from pilotage.model.qos import QOSClass, qos_of_spec
from pilotage.model.requests import CPU, MEMORY, Requests, counted

INIT, SIDECAR, APP, WHOLE = "init container", "sidecar container", "container", "pod"


@dataclass(frozen=True, slots=True)
class Part:
    """A container, or the pod as a whole, and its requests."""

    kind: str
    requests: Requests

    @property
    def keeps(self) -> bool:
        """Return whether it keeps its resources; an init container releases them for later ones."""
        return self.kind != INIT


@dataclass(frozen=True, slots=True)
class Demand:
    """The requests that the topology manager considers at admission."""

    qos: str
    containers: tuple[Part, ...]  # in start order
    pod: Part
    wants_devices: bool

    @property
    def guaranteed(self) -> bool:
        """Return whether the pod gets exclusive cores and memory."""
        return self.qos == QOSClass.GUARANTEED

    @property
    def is_free(self) -> bool:
        """Return whether the pod needs nothing exclusive from any zone, so that it fits everywhere."""
        return self.qos == QOSClass.BEST_EFFORT and not self.wants_devices

    def pinned(self, resource: str) -> bool:
        """Return whether one zone must have the requested amount, not merely the resource."""
        return self.guaranteed or not is_shared(resource)


QUESTION: Final = "NUMA demand"


def demand_of(pod: Pod) -> Demand:
    """Return a pod's demand, computed once for all pods of its shape."""
    return pod.shape.remember(QUESTION, _demand)


def is_native(resource: str) -> bool:
    """Return whether a resource is Kubernetes' own."""
    return "/" not in resource or "kubernetes.io/" in resource


def is_shared(resource: str) -> bool:
    """Return whether non-guaranteed pods get the resource from a shared pool."""
    return resource in (CPU, MEMORY) or resource.startswith("hugepages-")


def is_host_level(resource: str) -> bool:
    """Return whether a resource may belong to the node without a zone."""
    return resource in ("ephemeral-storage", "storage") or not is_native(resource)


def _demand(shape: PodShape) -> Demand:
    spec = shape.spec
    before = [Part(SIDECAR if each.is_sidecar else INIT, _asked(each)) for each in spec.init_containers]
    containers = (*before, *(Part(APP, _asked(each)) for each in spec.containers))
    devices = any(not is_native(name) for part in containers for name, amount in part.requests.items() if amount)
    return Demand(qos_of_spec(spec), containers, Part(WHOLE, shape.requests), devices)


def _asked(container: Container) -> Requests:
    return counted(container.resources.requests)
