"""A pod with lower requests, reduced in the container that requests most."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from pilotage.framework.api.pod_changes import with_spec
from pilotage.framework.api.remedies import Change, Remedy
from pilotage.model.amounts import amount, amount_at_most
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Amounts, Container, PodSpec, Resources
from pilotage.model.quantity import NANOS, NANOS_IN_MILLI, Form, from_milli_value, from_value, parse
from pilotage.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, effective_requests, is_pod_level

Where = Literal["containers", "init_containers"]

JSON_NAMES: Mapping[Where, str] = {"containers": "containers", "init_containers": "initContainers"}
ROUNDS = 8  # containers that are changed for one resource at most


def ask_for_less(pod: Pod, most: Mapping[str, int], note: str = "") -> Remedy | None:
    """Return how the owner can limit the pod's requests to these amounts; None if nothing would be left."""
    spec = pod.spec
    for resource, limit in most.items():
        lower = _lowered(spec, resource, limit) if limit > 0 else None
        if lower is None:
            return None
        spec = lower
    asked = pod.requests
    change = with_spec(
        pod, _patch(pod.spec, spec), **{name: getattr(spec, name) for name in (*JSON_NAMES, "resources")}
    )
    told = [f"{name} {amount_at_most(name, most[name])} instead of {amount(name, asked.get(name, 0))}" for name in most]
    first = next(iter(most))
    values = (
        {"resource": first, "to": amount_at_most(first, most[first]), "from": amount(first, asked.get(first, 0))}
        if len(most) == 1
        else {"amounts": tuple(told)}
    )
    words = "ask for {resource} {to} instead of {from}" if len(most) == 1 else "ask for {amounts}"
    return Remedy(
        code="reduceRequest" if len(most) == 1 else "reduceRequests",
        actor="owner",
        words=words + (" ({note})" if note else ""),
        values={**values, **({"note": note} if note else {})},
        changes=tuple(_changes(pod.spec, spec)),
        size=sum((asked[name] - most[name]) / asked[name] for name in most),
        target=change.target,
        patch=change.patch,
        difference=change.difference,
    )


def _lowered(spec: PodSpec, resource: str, most: int) -> PodSpec | None:
    if is_pod_level(resource) and resource in spec.resources.requests:
        excess = effective_requests(spec).get(resource, 0) - most
        lower = _less(spec.resources, resource, excess)
        return None if lower is None else msgspec.structs.replace(spec, resources=lower)
    for _ in range(ROUNDS):
        excess = effective_requests(spec).get(resource, 0) - most
        if excess <= 0:
            return spec
        found = next(
            (less for less in _less_of_one(spec, resource, excess) if _total(less, resource) < most + excess), None
        )
        if found is None:
            return None
        spec = found
    return None


def _total(spec: PodSpec, resource: str) -> int:
    return effective_requests(spec).get(resource, 0)


def _less_of_one(spec: PodSpec, resource: str, excess: int) -> Iterator[PodSpec]:
    """Yield the spec with a lower request in one container, beginning with the one that requests most."""
    sized = [
        (parse(each.resources.requests[resource]).nanos, where, place)
        for where in JSON_NAMES
        for place, each in enumerate(getattr(spec, where))
        if resource in each.resources.requests
    ]
    for _, where, place in sorted(sized, key=lambda each: -each[0]):
        containers: tuple[Container, ...] = getattr(spec, where)
        lower = _less(containers[place].resources, resource, excess)
        if lower is not None:
            changed = msgspec.structs.replace(containers[place], resources=lower)
            yield msgspec.structs.replace(spec, **{where: (*containers[:place], changed, *containers[place + 1 :])})


def _less(resources: Resources, resource: str, excess: int) -> Resources | None:
    """Reduce a request by an amount, but not below the smallest possible one; None if that is no reduction."""
    unit = NANOS_IN_MILLI if resource == CPU else NANOS
    asked = parse(resources.requests[resource]).nanos
    left = max(1, (asked - excess * unit) // unit)
    if left * unit >= asked:
        return None
    text = _quantity(resource, left)
    limits = resources.limits
    if resource in limits and parse(limits[resource]).nanos == asked:
        limits = {**limits, resource: text}  # required for devices, and the pod keeps its QoS class
    return msgspec.structs.replace(resources, requests={**resources.requests, resource: text}, limits=limits)


def _quantity(resource: str, number: int) -> str:
    if resource == CPU:
        return str(from_milli_value(number))
    in_bytes = resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-")
    return str(from_value(number, Form.BINARY if in_bytes else Form.DECIMAL))


def _changes(before: PodSpec, after: PodSpec) -> Iterator[Change]:
    for path, old, new in _changed(before, after):
        for name in new.requests:
            if new.requests[name] != old.requests.get(name):
                was, to = _number(name, old.requests), _number(name, new.requests)
                yield Change(f"{path}.resources.requests.{name}", was, to, "m" if name == CPU else "")


def _number(resource: str, amounts: Amounts) -> int:
    quantity = parse(amounts[resource])
    return quantity.milli_value() if resource == CPU else quantity.value()


def _changed(before: PodSpec, after: PodSpec) -> Iterator[tuple[str, Resources, Resources]]:
    if before.resources != after.resources:
        yield "spec", before.resources, after.resources
    for where, name in JSON_NAMES.items():
        for place, (old, new) in enumerate(zip(getattr(before, where), getattr(after, where), strict=True)):
            if old.resources != new.resources:
                yield f"spec.{name}[{place}]", old.resources, new.resources


def _patch(before: PodSpec, after: PodSpec) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if before.resources != after.resources:
        found["resources"] = _resources_patch(before.resources, after.resources)
    for where, name in JSON_NAMES.items():
        pairs = zip(getattr(before, where), getattr(after, where), strict=True)
        changed = [
            {"name": new.name, "resources": _resources_patch(old.resources, new.resources)}
            for old, new in pairs
            if old.resources != new.resources
        ]
        if changed:
            found[name] = changed
    return found


def _resources_patch(before: Resources, after: Resources) -> dict[str, Any]:
    parts = {"requests": (before.requests, after.requests), "limits": (before.limits, after.limits)}
    found = {part: {name: to for name, to in new.items() if old.get(name) != to} for part, (old, new) in parts.items()}
    return {part: changed for part, changed in found.items() if changed}
