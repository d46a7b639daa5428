"""Requests and limits of every pod: /metrics/resources, written in pieces, because it grows with the number of pods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import Amounts, Container, PodSpec
from pilotage.model.quantity import NANOS, InvalidQuantity, parse
from pilotage.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, Requests, container_totals, is_pod_level
from pilotage.telemetry.exposition import escaped, header, labels_text, number
from pilotage.telemetry.families import STABLE

REQUEST, LIMIT = "kube_pod_resource_request", "kube_pod_resource_limit"
MEANINGS = {
    REQUEST: "A pod's resource requests as the scheduler counts them, with init containers, sidecars and overhead.",
    LIMIT: "A pod's resource limits, counted like its requests.",
}
AT_A_TIME = 500  # pods in a piece: about a millisecond

Samples = list[str]  # the ends of lines, from the resource on


def resource_metrics(pods: Sequence[Pod], disabled: Iterable[str] = ()) -> Iterator[str]:
    """Yield the text for these pods in pieces, so that other tasks can run in between."""
    for name in sorted({LIMIT, REQUEST}.difference(disabled)):
        yield header(name, "gauge", f"[{STABLE}] {MEANINGS[name]}")
        for first in range(0, len(pods), AT_A_TIME):
            yield "".join([_lines(name, pod) for pod in pods[first : first + AT_A_TIME]])


def _lines(name: str, pod: Pod) -> str:
    # A finished pod uses no resources.
    if pod.is_finished:
        return ""
    try:
        samples = _requested(pod) if name == REQUEST else pod.shape.remember("limits, as metrics", _limits)
    except InvalidQuantity:
        return ""
    priority = "" if pod.spec.priority is None else str(pod.spec.priority)
    start = (
        f'{name}{{namespace="{escaped(pod.namespace)}",pod="{escaped(pod.name)}",node="{escaped(pod.node_name)}",'
        f'scheduler="{escaped(pod.scheduler_name)}",priority="{priority}",'
    )
    return "".join([start + each for each in samples])


def _requested(pod: Pod) -> Samples:
    usage = pod.usage if pod.node_name else pod.requests
    if usage is pod.shape.requests:
        return pod.shape.remember("requests, as metrics", lambda shape: _counted(shape.requests))
    return _counted(usage)


def _counted(requests: Requests) -> Samples:
    return _samples({name: amount / 1000 if name == CPU else amount for name, amount in requests.items()})


def _limits(shape: PodShape) -> Samples:
    spec = shape.spec
    found = container_totals(spec, _limits_of) | _of_whole_pod(spec)
    # Overhead raises an existing limit, but does not create one.
    nanos = {name: parse(amount).nanos + parse(spec.overhead.get(name, 0)).nanos for name, amount in found.items()}
    return _samples({name: amount / NANOS for name, amount in nanos.items()})


def _limits_of(container: Container) -> Amounts:
    return container.resources.limits


def _of_whole_pod(spec: PodSpec) -> Amounts:
    return {name: amount for name, amount in spec.resources.limits.items() if is_pod_level(name)}


def _samples(amounts: Mapping[str, float]) -> Samples:
    return [
        f"{labels_text(('resource', 'unit'), (name, _unit(name)))}}} {number(float(amount))}\n"
        for name, amount in amounts.items()
        if amount
    ]


def _unit(resource: str) -> str:
    if resource == CPU:
        return "cores"
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""
