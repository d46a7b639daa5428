"""The effective requests of a pod: containers, sidecars, init containers, the pod as a whole, overhead and resizes."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from pilotage.model.label_syntax import is_key
from pilotage.model.pod_spec import Amounts, Container, PodSpec
from pilotage.model.pod_status import ContainerStatus, PodStatus
from pilotage.model.quantity import NANOS, NANOS_IN_MILLI, Quantity, parse, whole

# Amounts per resource: cpu in thousandths, everything else in units. A resource that is not requested has no entry.
Requests = dict[str, int]
# The same in billionths. Fractions are added before rounding: two containers with half a byte request one byte.
Exact = dict[str, int]

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
# The default of a container without a request in scores, so that such pods do not all land on one node.
DEFAULTS: Exact = {CPU: 100 * NANOS_IN_MILLI, MEMORY: 200 * 1024 * 1024 * NANOS}
NO_STATUS = PodStatus()

SHORT = 63  # characters; in a name of this length no part is too long
REMEMBERED = 1 << 12  # resource names; a cluster has dozens, and hostile pods must not fill the memory


def _is_tracked(resource: str) -> bool:
    """Return whether nodes account for this resource; any other name is ignored, as by kube-scheduler."""
    return _is_scalar(resource) or resource in (CPU, MEMORY, EPHEMERAL_STORAGE)


is_tracked = lru_cache(maxsize=REMEMBERED)(_is_tracked)


@lru_cache(maxsize=REMEMBERED)
def is_scalar(resource: str) -> bool:
    """Return whether the resource is counted under its own name: extended ones, huge pages, attachable volumes."""
    return _is_scalar(resource)


def _is_scalar(resource: str) -> bool:
    return (
        _is_extended(resource)
        or "kubernetes.io/" in resource
        or resource.startswith(("hugepages-", "attachable-volumes-"))
    )


@lru_cache(maxsize=REMEMBERED)
def is_extended(resource: str) -> bool:
    """Return whether it is an extended resource, which a device plugin or an admin added to nodes."""
    return _is_extended(resource)


def _is_extended(resource: str) -> bool:
    if "/" not in resource or "kubernetes.io/" in resource or resource.startswith("requests."):
        return False
    # Quotas use a longer name, which must be valid too; only the length can matter.
    return is_key(resource if len(resource) <= SHORT else f"requests.{resource}")


def counted(amounts: Mapping[str, str | int | float]) -> Requests:
    """Return a node's quantities as integers, rounded up: cpu in thousandths, everything else in units."""
    pods = {PODS: parse(amounts[PODS]).nanos} if PODS in amounts else {}
    return _counted(_exact(amounts) | pods)


def effective_requests(spec: PodSpec) -> Requests:
    """Return the requests of a pending pod, from its spec alone."""
    total = _aggregate(spec, _asked)
    return _counted(_plus(total | _of_whole_pod(spec, NO_STATUS), _exact(spec.overhead)))


def scored_requests(spec: PodSpec) -> Requests:
    """Return the requests of a pending pod for resource scores: with defaults, ignoring pod-level requests."""
    return _counted(_plus(_aggregate(spec, lambda container: DEFAULTS | _asked(container)), _exact(spec.overhead)))


def nonzero_requests(spec: PodSpec) -> tuple[int, int]:
    """Return the cpu and memory requests of a pod without a status, with defaults for missing ones."""
    return _nonzero(spec, NO_STATUS)


def usage(spec: PodSpec, status: PodStatus) -> tuple[Requests, tuple[int, int]]:
    """Return the usage of a placed pod, and its cpu and memory with defaults for missing requests."""
    return _counted(_largest(spec, status, {}, _exact)), _nonzero(spec, status)


def container_totals(spec: PodSpec, of: Callable[[Container], Amounts]) -> dict[str, str]:
    """Return the total of a pod's containers as quantities; `of` returns the amounts of one container."""
    return {name: str(Quantity(nanos)) for name, nanos in _aggregate(spec, lambda each: _exact(of(each))).items()}


def is_pod_level(resource: str) -> bool:
    """Return whether a pod-level request for the resource is possible."""
    return resource in (CPU, MEMORY) or resource.startswith("hugepages-")


def is_as_asked(spec: PodSpec, status: PodStatus) -> bool:
    """Return whether the usage of a placed pod equals its spec's requests, because its status does not differ."""
    if status.resources is not None or _is_infeasible(status):
        return False
    asked = {each.name: each.resources.requests for each in (*spec.containers, *spec.init_containers)}
    return all(
        not reported or reported == asked.get(each.name)
        for each in (*status.container_statuses, *status.init_container_statuses)
        for reported in (each.allocated_resources, _actual(each))
    )


def _nonzero(spec: PodSpec, status: PodStatus) -> tuple[int, int]:
    defaults = DEFAULTS
    if _pod_level(_exact(spec.resources.requests)):
        # With pod-level requests its containers need not have any.
        known = _largest(spec, status, {}, _basic)
        defaults = {resource: amount for resource, amount in DEFAULTS.items() if resource not in known}
    found = _largest(spec, status, defaults, _basic)
    return whole(found.get(CPU, 0), NANOS_IN_MILLI), whole(found.get(MEMORY, 0), NANOS)


def _largest(spec: PodSpec, status: PodStatus, defaults: Exact, read: Callable[[Amounts], Exact]) -> Exact:
    """Return the largest of requested, allocated and actual resources during a resize."""
    infeasible = _is_infeasible(status)
    statuses = {each.name: each for each in (*status.init_container_statuses, *status.container_statuses)}

    def asked(container: Container) -> Exact:
        return read(container.resources.requests)

    def allocated(container: Container) -> Exact:
        known = statuses.get(container.name)
        if known is not None and known.allocated_resources:
            return read(known.allocated_resources)
        return {} if infeasible else asked(container)

    def given(container: Container) -> Exact:
        actual = _actual(statuses.get(container.name))
        return read(actual) if actual else allocated(container)

    def total(of: Callable[[Container], Exact]) -> Exact:
        return _aggregate(spec, lambda container: defaults | of(container))

    found: list[Exact] = [] if infeasible else [total(asked)]
    if status is NO_STATUS:
        pass  # nothing was allocated yet
    elif status.allocated_resources and status.resources is not None and status.resources.requests:
        found += [read(status.allocated_resources), read(status.resources.requests)]
    else:
        found += [total(allocated), total(given)]
    return _plus(_maximum(*found) | _of_whole_pod(spec, status), read(spec.overhead))


def _of_whole_pod(spec: PodSpec, status: PodStatus) -> Exact:
    """Return the pod-level requests, or the larger of those and the actual resources; nothing without any."""
    asked = _pod_level(_exact(spec.resources.requests))
    if not asked or status.resources is None:
        return asked
    placed = [_exact(status.resources.requests), _exact(status.allocated_resources or {})]
    return _pod_level(_maximum(*placed) if _is_infeasible(status) else _maximum(asked, *placed))


def _pod_level(requests: Exact) -> Exact:
    """Return the pod-level resources, which replace those of the containers."""
    return {resource: amount for resource, amount in requests.items() if is_pod_level(resource)}


def _is_infeasible(status: PodStatus) -> bool:
    """Return whether the requested resize is infeasible on the node."""
    resize = status.condition("PodResizePending")
    return resize is not None and resize.reason == "Infeasible"


def _aggregate(spec: PodSpec, of: Callable[[Container], Exact]) -> Exact:
    """Return the maximum needed at any time: while init containers run one by one, or while all others run.

    The cost is linear in the resources of each container.
    """
    sidecars: Exact = {}
    peak: Exact = {}
    for container in spec.init_containers:
        for resource, amount in of(container).items():
            needed = sidecars.get(resource, 0) + amount
            if container.is_sidecar:
                sidecars[resource] = needed
            if needed > peak.setdefault(resource, 0):
                peak[resource] = needed
    total = sidecars
    for container in spec.containers:
        for resource, amount in of(container).items():
            total[resource] = total.get(resource, 0) + amount
    return _maximum(total, peak)


def _asked(container: Container) -> Exact:
    return _exact(container.resources.requests)


def _actual(status: ContainerStatus | None) -> Amounts:
    return {} if status is None or status.resources is None else status.resources.requests


def _exact(amounts: Mapping[str, str | int | float]) -> Exact:
    tracked = is_tracked if len(amounts) < REMEMBERED else _is_tracked  # too many distinct names to cache
    return {resource: parse(amount).nanos for resource, amount in amounts.items() if tracked(resource)}


def _basic(amounts: Mapping[str, str | int | float]) -> Exact:
    """Return the requests of the resources that have a default."""
    return {resource: parse(amounts[resource]).nanos for resource in DEFAULTS if resource in amounts}


def _counted(amounts: Exact) -> Requests:
    return {resource: whole(nanos, NANOS_IN_MILLI if resource == CPU else NANOS) for resource, nanos in amounts.items()}


def _plus(one: Exact, other: Exact) -> Exact:
    return one | {resource: one.get(resource, 0) + amount for resource, amount in other.items()}


def _maximum(*several: Exact) -> Exact:
    several = tuple(filter(None, several))
    if len(several) == 1:
        return {name: max(0, amount) for name, amount in several[0].items()}
    names = dict.fromkeys(name for each in several for name in each)
    return {name: max(each.get(name, 0) for each in several) for name in names}
