"""What a pod really asks for: containers, sidecars, init containers, the pod as a whole, overhead and resizes."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from pilotage.model.label_syntax import key_complaints
from pilotage.model.pod_spec import Amounts, Container, PodSpec
from pilotage.model.pod_status import ContainerStatus, PodStatus
from pilotage.model.quantity import NANOS, NANOS_IN_MILLI, Quantity, parse

# Amounts per resource: cpu in thousandths, everything else in units. A resource that nobody names has no entry.
Requests = dict[str, int]
# The same in billionths. Fractions add up before they are rounded: two containers with half a byte want one byte.
Exact = dict[str, int]

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
# What a container without a request is taken for in scores, so that such pods do not all land on one node.
DEFAULTS: Exact = {CPU: 100 * NANOS_IN_MILLI, MEMORY: 200 * 1024 * 1024 * NANOS}
NO_STATUS = PodStatus()

REMEMBERED = 1 << 12  # names of resources; a cluster has dozens, a hostile one must not fill the memory


def is_tracked(resource: str) -> bool:
    """Tell whether a node's account has this resource; any other name is overlooked, as by kube-scheduler."""
    return resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar(resource)


@lru_cache(maxsize=REMEMBERED)
def is_scalar(resource: str) -> bool:
    """Tell whether the resource is counted under its own name: extended ones, huge pages, attachable volumes."""
    return (
        resource.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in resource
        or is_extended(resource)
    )


@lru_cache(maxsize=REMEMBERED)
def is_extended(resource: str) -> bool:
    """Tell whether the resource is one that a device plugin or a person added to nodes."""
    foreign = "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")
    # Quotas count it under this longer name, which must be valid too.
    return foreign and not key_complaints(f"requests.{resource}")


def counted(amounts: Mapping[str, str | int | float]) -> Requests:
    """Return a node's quantities as whole numbers, rounded up: cpu in thousandths, everything else in units."""
    return _counted({name: parse(n).nanos for name, n in amounts.items() if is_tracked(name) or name == PODS})


def effective_requests(spec: PodSpec) -> Requests:
    """Return what a pending pod needs, from its spec alone."""
    total = _aggregate(spec, _asked)
    return _counted(_plus(total | _of_whole_pod(spec, NO_STATUS), _exact(spec.overhead)))


def scored_requests(spec: PodSpec) -> Requests:
    """Return what a pending pod counts as in scores by resources: with defaults, and blind to pod-level requests."""
    return _counted(_plus(_aggregate(spec, lambda container: DEFAULTS | _asked(container)), _exact(spec.overhead)))


def nonzero_requests(spec: PodSpec) -> tuple[int, int]:
    """Return cpu and memory of a pod without a status, with defaults where it names none."""
    return _nonzero(spec, NO_STATUS)


def usage(spec: PodSpec, status: PodStatus) -> tuple[Requests, tuple[int, int]]:
    """Return what a placed pod takes, and its cpu and memory with defaults where it names none."""
    return _counted(_largest(spec, status, {})), _nonzero(spec, status)


def container_totals(spec: PodSpec, of: Callable[[Container], Amounts]) -> dict[str, str]:
    """Return what the containers of a pod need together, as quantities; `of` tells it of one."""
    return {name: str(Quantity(nanos)) for name, nanos in _aggregate(spec, lambda each: _exact(of(each))).items()}


def is_pod_level(resource: str) -> bool:
    """Tell whether a pod can ask for the resource as a whole."""
    return resource in (CPU, MEMORY) or resource.startswith("hugepages-")


def is_as_asked(spec: PodSpec, status: PodStatus) -> bool:
    """Tell whether a placed pod takes what its spec says, because its status says nothing else."""
    if status.resources is not None or _is_infeasible(status):
        return False
    asked = {each.name: each.resources.requests for each in (*spec.containers, *spec.init_containers)}
    return all(
        (each.allocated_resources or asked.get(each.name)) == asked.get(each.name)
        and (_actual(each) or asked.get(each.name)) == asked.get(each.name)
        for each in (*status.container_statuses, *status.init_container_statuses)
    )


def _nonzero(spec: PodSpec, status: PodStatus) -> tuple[int, int]:
    defaults = DEFAULTS
    if _pod_level(_exact(spec.resources.requests)):
        # With requests of the whole pod its containers may rightly name none.
        known = _largest(spec, status, {})
        defaults = {resource: amount for resource, amount in DEFAULTS.items() if resource not in known}
    found = _counted(_largest(spec, status, defaults))
    return found.get(CPU, 0), found.get(MEMORY, 0)


def _largest(spec: PodSpec, status: PodStatus, defaults: Exact) -> Exact:
    """Return the larger of what is asked, promised and given, while a resize is under way."""
    infeasible = _is_infeasible(status)
    statuses = {each.name: each for each in (*status.init_container_statuses, *status.container_statuses)}

    def promised(container: Container) -> Exact:
        known = statuses.get(container.name)
        if known is not None and known.allocated_resources:
            return _exact(known.allocated_resources)
        return {} if infeasible else _asked(container)

    def given(container: Container) -> Exact:
        actual = _actual(statuses.get(container.name))
        return _exact(actual) if actual else promised(container)

    def total(of: Callable[[Container], Exact]) -> Exact:
        return _aggregate(spec, lambda container: defaults | of(container))

    found: list[Exact] = [] if infeasible else [total(_asked)]
    if status.allocated_resources and status.resources is not None and status.resources.requests:
        found += [_exact(status.allocated_resources), _exact(status.resources.requests)]
    else:
        found += [total(promised), total(given)]
    return _plus(_maximum(*found) | _of_whole_pod(spec, status), _exact(spec.overhead))


def _of_whole_pod(spec: PodSpec, status: PodStatus) -> Exact:
    """Return what the pod as a whole asks for, or the larger of that and what it has; nothing if it asks nothing."""
    asked = _pod_level(_exact(spec.resources.requests))
    if not asked or status.resources is None:
        return asked
    placed = [_exact(status.resources.requests), _exact(status.allocated_resources or {})]
    return _pod_level(_maximum(*placed) if _is_infeasible(status) else _maximum(asked, *placed))


def _pod_level(requests: Exact) -> Exact:
    """Return the resources that can be asked for by the pod as a whole, and then replace those of its containers."""
    return {resource: amount for resource, amount in requests.items() if is_pod_level(resource)}


def _is_infeasible(status: PodStatus) -> bool:
    """Tell whether the node can never grant the resize that the spec asks for."""
    resize = status.condition("PodResizePending")
    return resize is not None and resize.reason == "Infeasible"


def _aggregate(spec: PodSpec, of: Callable[[Container], Exact]) -> Exact:
    """Return the most that is needed at any time: while init containers run one by one, or when all others do."""
    sidecars: Exact = {}
    peak: Exact = {}
    for container in spec.init_containers:
        if container.is_sidecar:
            sidecars = _plus(sidecars, of(container))
            peak = _maximum(peak, sidecars)
        else:
            peak = _maximum(peak, _plus(sidecars, of(container)))
    total = sidecars
    for container in spec.containers:
        total = _plus(total, of(container))
    return _maximum(total, peak)


def _asked(container: Container) -> Exact:
    return _exact(container.resources.requests)


def _actual(status: ContainerStatus | None) -> Amounts:
    return {} if status is None or status.resources is None else status.resources.requests


def _exact(amounts: Mapping[str, str | int | float]) -> Exact:
    return {resource: parse(amount).nanos for resource, amount in amounts.items() if is_tracked(resource)}


def _counted(amounts: Exact) -> Requests:
    return {
        resource: Quantity(nanos).milli_value() if resource == CPU else Quantity(nanos).value()
        for resource, nanos in amounts.items()
    }


def _plus(one: Exact, other: Exact) -> Exact:
    return one | {resource: one.get(resource, 0) + amount for resource, amount in other.items()}


def _maximum(*several: Exact) -> Exact:
    names = dict.fromkeys(name for each in several for name in each)
    return {name: max(each.get(name, 0) for each in several) for name in names}
