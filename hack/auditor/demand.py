"""What a pod requests of a node, summed as Kubernetes does."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from auditor.quantity import BadQuantity, parse, units

Manifest = Mapping[str, Any]
Amounts = dict[str, Fraction]
Note = Callable[[str], None]
RequestsOf = Callable[[Manifest], Amounts]

NATIVE = ("cpu", "memory", "ephemeral-storage")


def demand_of(pod: Manifest, note: Note) -> dict[str, int]:
    """Return the pod's request per resource in schedulers' units, zeros left out."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    asked: Amounts = {}
    for view in views(spec, status, note):
        asked = larger(asked, pod_total(spec, *view))
    asked = plus(asked, amounts(spec.get("overhead"), note))
    served_by_claim = claimed(status)
    counted = {name: units(name, value) for name, value in asked.items() if is_counted(name)}
    return {name: amount for name, amount in counted.items() if amount > 0 and name not in served_by_claim}


def views(spec: Manifest, status: Manifest, note: Note) -> list[tuple[RequestsOf, Amounts]]:
    """Return how requests are read from the spec and, for a pod being resized, from what is allocated and in force."""
    states = {c.get("name"): c for key in ("initContainerStatuses", "containerStatuses") for c in status.get(key) or ()}
    whole = requests(spec, note)

    def wanted(container: Manifest) -> Amounts:
        return requests(container, note)

    if not any(has_amounts(state) for state in [status, *states.values()]):
        return [(wanted, whole)]
    infeasible = resize_is_infeasible(status)

    def allocated(container: Manifest) -> Amounts:
        given = states.get(container.get("name"), {}).get("allocatedResources")
        return amounts(given, note) if given else {} if infeasible else wanted(container)

    def in_force(container: Manifest) -> Amounts:
        return requests(states.get(container.get("name"), {}), note) or allocated(container)

    whole_allocated = amounts(status.get("allocatedResources"), note) or ({} if infeasible else whole)
    found: list[tuple[RequestsOf, Amounts]] = [
        (allocated, whole_allocated),
        (in_force, requests(status, note) or whole_allocated),
    ]
    # The kubelet will never grant an infeasible resize, so it does not count.
    return found if infeasible else [(wanted, whole), *found]


def has_amounts(state: Manifest) -> bool:
    """Return whether a status carries resource amounts of its own."""
    return bool(state.get("allocatedResources") or (state.get("resources") or {}).get("requests"))


def resize_is_infeasible(status: Manifest) -> bool:
    """Return whether the kubelet has permanently rejected the pod's resize."""
    return any(
        condition.get("type") == "PodResizePending" and condition.get("reason") == "Infeasible"
        for condition in status.get("conditions") or ()
    )


def pod_total(spec: Manifest, requests_of: RequestsOf, whole: Amounts) -> Amounts:
    """Return the pod's peak over its start-up and its running time, overridden by pod-level requests."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for init in spec.get("initContainers") or ():
        if is_sidecar(init):
            sidecars = plus(sidecars, requests_of(init))
            peak = larger(peak, sidecars)
        else:
            peak = larger(peak, plus(sidecars, requests_of(init)))
    running = sidecars
    for container in spec.get("containers") or ():
        running = plus(running, requests_of(container))
    return larger(peak, running) | {name: value for name, value in whole.items() if may_be_pod_level(name)}


def is_sidecar(init_container: Manifest) -> bool:
    """Return whether an init container stays running beside the others."""
    return init_container.get("restartPolicy") == "Always"


def may_be_pod_level(name: str) -> bool:
    """Return whether a pod-level request replaces the containers' sum of this resource."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def claimed(status: Manifest) -> set[str]:
    """Return the extended resources that a device claim serves in the node's stead."""
    mappings = (status.get("extendedResourceClaimStatus") or {}).get("requestMappings") or ()
    return {mapping.get("resourceName", "") for mapping in mappings}


def is_counted(name: str) -> bool:
    """Return whether schedulers account for this resource; other names are ignored."""
    if name in NATIVE or name.startswith(("hugepages-", "attachable-volumes-")):
        return True
    return "/" in name and not name.startswith("requests.")


def requests(holder: Manifest, note: Note) -> Amounts:
    """Return the requests that a container, a pod spec or a status names."""
    return amounts((holder.get("resources") or {}).get("requests"), note)


def amounts(raw: Mapping[str, Any] | None, note: Note) -> Amounts:
    """Return a resource list as exact numbers, noting what cannot be read."""
    found: Amounts = {}
    for name, text in (raw or {}).items():
        try:
            found[name] = parse(str(text))
        except BadQuantity as error:
            note(f"{name}: {error}; counted as 0")
    return found


def plus(left: Amounts, right: Amounts) -> Amounts:
    """Return the sum per resource."""
    if not left or not right:
        return left or right
    return {name: left.get(name, Fraction(0)) + right.get(name, Fraction(0)) for name in keys(left, right)}


def larger(left: Amounts, right: Amounts) -> Amounts:
    """Return the maximum per resource."""
    if not left or not right:
        return left or right
    return {name: max(left.get(name, Fraction(0)), right.get(name, Fraction(0))) for name in keys(left, right)}


def keys(left: Amounts, right: Amounts) -> Iterable[str]:
    """Return every resource of either, in a stable order."""
    return dict.fromkeys([*left, *right])
