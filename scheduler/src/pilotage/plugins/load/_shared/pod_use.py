"""The predicted and maximum usage of pods."""

from collections.abc import Mapping

from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import Amounts
from pilotage.model.quantity import InvalidQuantity, milli_value_of, value_of
from pilotage.model.requests import container_totals
from pilotage.plugins.load._shared.rounding import rounded

CPU, MEMORY = "cpu", "memory"
Both = tuple[int, int]  # cpu in thousandths, memory in bytes

LIMITS = "limits of cpu and memory"


def requests_of(pod: Pod) -> Both:
    """Return a pod's requests."""
    return pod.requests.get(CPU, 0), pod.requests.get(MEMORY, 0)


def limits_of(pod: Pod) -> Both:
    """Return a pod's limits, but at least its requests."""
    return at_least(pod.shape.remember(LIMITS, _limits), requests_of(pod))


def limits_where_placed(pod: Pod) -> Both:
    """Return the same for a pod on its node, where a resize may be in progress."""
    used = pod.usage
    return at_least(pod.shape.remember(LIMITS, _limits), (used.get(CPU, 0), used.get(MEMORY, 0)))


def at_least(one: Both, other: Both) -> Both:
    """Return the larger amounts."""
    return max(one[0], other[0]), max(one[1], other[1])


def predicted_cpu(shape: PodShape, default: int, multiplier: float) -> int:
    """Return the predicted cpu usage of a pod: per container its limit, a multiple of its request, or a default."""
    spec = shape.spec
    total = sum(
        _predicted(each.resources.limits, each.resources.requests, default, multiplier) for each in spec.containers
    )
    return total + _amount(spec.overhead, CPU)


def _predicted(limits: Amounts, requests: Amounts, default: int, multiplier: float) -> int:
    if CPU in limits:
        return _amount(limits, CPU)
    return rounded(_amount(requests, CPU) * multiplier) if CPU in requests else default


def _limits(shape: PodShape) -> Both:
    spec = shape.spec
    try:
        totals = container_totals(spec, lambda container: container.resources.limits)
    except InvalidQuantity:
        totals = {}
    cpu, memory = (
        _amount(spec.resources.limits if resource in spec.resources.limits else totals, resource)
        + _amount(spec.overhead, resource)
        for resource in (CPU, MEMORY)
    )
    return cpu, memory


def _amount(amounts: Mapping[str, str | int | float], resource: str) -> int:
    written = amounts.get(resource, 0)
    try:
        return max(0, milli_value_of(written) if resource == CPU else value_of(written))
    except InvalidQuantity:
        return 0
