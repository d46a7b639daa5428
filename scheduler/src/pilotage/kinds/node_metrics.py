"""The metrics API's current usage of a node."""

from msgspec import field

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.node import Node
from pilotage.model.node_load import NodeLoad, ResourceLoad, is_share, seconds_since_1970
from pilotage.model.pod_spec import Amounts
from pilotage.model.quantity import InvalidQuantity, parse


class NodeMetrics(
    KubeObject, group="metrics.k8s.io", version="v1beta1", plural="nodes", scope="Cluster", wakes=False, watched=False
):
    """The usage of a node; `deviation` is not in the API, only in manifests for simulations."""

    timestamp: str | None = None
    usage: Amounts = field(default_factory=dict)
    deviation: Amounts = field(default_factory=dict)


def load_of(metrics: NodeMetrics, node: Node, latest: float) -> NodeLoad:
    """Return the used shares of the node's capacity, with the time limited to `latest`."""
    until = seconds_since_1970(metrics.timestamp)
    return NodeLoad(
        _load("cpu", metrics, node), _load("memory", metrics, node), latest if until is None else min(until, latest)
    )


def capacity_of(node: Node, resource: str) -> int:
    """Return the capacity of a node in billionths, including what is not for pods; 0 if it cannot be parsed."""
    written = node.capacity.get(resource)
    if written is None:  # manifests may have only allocatable
        return node.allocatable.get(resource, 0) * (10**6 if resource == "cpu" else 10**9)
    return _nanos(written) or 0


def _load(resource: str, metrics: NodeMetrics, node: Node) -> ResourceLoad | None:
    used, capacity = _nanos(metrics.usage.get(resource)), capacity_of(node, resource)
    if used is None or capacity <= 0:
        return None
    average, deviation = 100 * used / capacity, 100 * (_nanos(metrics.deviation.get(resource)) or 0) / capacity
    return ResourceLoad(average, deviation) if is_share(average) and is_share(deviation) else None


def _nanos(written: str | int | float | None) -> int | None:
    try:
        return None if written is None else parse(written).nanos
    except InvalidQuantity:
        return None
