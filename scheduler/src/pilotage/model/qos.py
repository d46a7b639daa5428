"""The QoS class of a pod, as Kubernetes computes it."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Amounts, Container, PodSpec, Resources
from pilotage.model.quantity import InvalidQuantity, parse
from pilotage.model.requests import CPU, MEMORY, container_totals


class QOSClass(StrEnum):
    """The classes, from the last to the first to be evicted."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


NOTED = {qos.value: qos for qos in QOSClass}


def qos_of(pod: Pod) -> QOSClass:
    """Return the class in the pod's status, or the one that the API server would set."""
    noted = NOTED.get(pod.status.qos_class)
    return noted or pod.shape.remember("QoS class", lambda shape: qos_of_spec(shape.spec))


def qos_of_spec(spec: PodSpec) -> QOSClass:
    """Return the class by pod-level resources, or without any by those of the containers."""
    parts = [_whole(spec)] if spec.resources.requests or spec.resources.limits else _containers(spec)
    requests, limits = _total(each.requests for each in parts), _total(each.limits for each in parts)
    if not requests and not limits:
        return QOSClass.BEST_EFFORT
    # A sum would hide a container without a limit.
    limited = all(_positive(each.limits).keys() == {CPU, MEMORY} for each in parts)
    return QOSClass.GUARANTEED if limited and requests == limits else QOSClass.BURSTABLE


# The API server sets missing requests to the limits; in a file they are still missing.


def _whole(spec: PodSpec) -> Resources:
    limits, inside = _counting(spec.resources.limits), container_totals(spec, _asked)
    return Resources(limits | inside | _counting(spec.resources.requests), limits)


def _containers(spec: PodSpec) -> list[Resources]:
    every = (*spec.containers, *spec.init_containers)
    return [Resources(_asked(each), _counting(each.resources.limits)) for each in every]


def _asked(container: Container) -> Amounts:
    return _counting(container.resources.limits) | _counting(container.resources.requests)


def _counting(amounts: Amounts) -> Amounts:
    """Return the resources that count, without invalid amounts."""
    return {name: amount for name, amount in amounts.items() if name in (CPU, MEMORY) and _is_quantity(amount)}


def _is_quantity(amount: str | int | float) -> bool:
    try:
        parse(amount)
    except InvalidQuantity:
        return False
    return True


def _positive(amounts: Amounts) -> dict[str, int]:
    exact = {name: parse(amount).nanos for name, amount in amounts.items()}
    return {name: nanos for name, nanos in exact.items() if nanos > 0}


def _total(several: Iterable[Amounts]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in several:
        total.update(_positive(each))
    return total
