"""Exclusive resources of pods and containers: whole cores, memory, devices."""

from collections.abc import Collection, Iterator

from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Container
from pilotage.model.requests import CPU, MEMORY, Requests, counted
from pilotage.plugins.topology.node_resource_topology_match.demands import demand_of, is_native

MILLIS_IN_CORE = 1000


def is_exclusive(pod: Pod, reported: Collection[str]) -> bool:
    """Return whether a pod has exclusive resources; `reported` are the resources of its node's zones."""
    return any(exclusive_requests(pod, container, reported) for container in lasting_containers(pod))


def lasting_containers(pod: Pod) -> Iterator[Container]:
    """Yield the containers that keep their resources, in start order."""
    yield from (each for each in pod.spec.init_containers if each.is_sidecar)
    yield from pod.spec.containers


def exclusive_requests(pod: Pod, container: Container, reported: Collection[str]) -> Requests:
    """Return a container's exclusive resources."""
    guaranteed = demand_of(pod).guaranteed
    asked = counted(container.resources.requests)
    return {
        name: amount
        for name, amount in asked.items()
        if amount > 0 and (_is_device(name, reported) or (guaranteed and _is_pinned(name, amount)))
    }


def _is_device(resource: str, reported: Collection[str]) -> bool:
    return not is_native(resource) and resource in reported


def _is_pinned(resource: str, amount: int) -> bool:
    if resource == CPU:
        return amount % MILLIS_IN_CORE == 0  # fractions of a core come from the shared pool
    return resource == MEMORY or resource.startswith("hugepages-")
