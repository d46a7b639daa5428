"""Decodes responses of the metrics API, Prometheus and load-watcher; an invalid entry does not affect the others."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from pilotage.kinds.node_metrics import NodeMetrics
from pilotage.model.node_load import NodeLoad, ResourceLoad, is_share

Message = TypeVar("Message")

# load-watcher's names.
AVERAGE, DEVIATION = "AVG", "STD"
LATEST = ("Latest", "")


class Malformed(ValueError):
    """A response that cannot be decoded; the text says why."""


class Sample(NamedTuple):
    """One number of a Prometheus vector, with all of its labels."""

    labels: Mapping[str, str]
    value: float


class _List(Struct, gc=False):
    items: list[Raw] | None = None


class _Series(Struct, gc=False):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(Struct, gc=False, rename="camel"):
    result_type: str = ""
    result: Raw = Raw(b"null")


class _Answer(Struct, gc=False):
    status: str = ""
    data: _Data | None = None
    error: str = ""


class _Metric(Struct, gc=False):
    type: str = ""
    operator: str = ""
    value: float | None = None


class _Node(Struct, gc=False):
    metrics: list[Raw] | None = None


class _Map(Struct, gc=False):
    nodes: dict[str, Raw] | None = field(default=None, name="NodeMetricsMap")


class _Window(Struct, gc=False):
    end: float = 0.0


class _Watched(Struct, gc=False):
    data: _Map | None = None
    window: _Window | None = None
    timestamp: float = 0.0


def read_node_metrics(body: bytes) -> tuple[list[NodeMetrics], int]:
    """Return the objects of a list of the metrics API, and the number of invalid ones."""
    items = _decoded(body, _List).items or []
    found = [metrics for item in items if (metrics := _or_none(item, NodeMetrics)) is not None]
    return found, len(items) - len(found)


def read_vector(body: bytes) -> tuple[list[Sample], int]:
    """Return the samples of an instant query's response, and the number of samples without a valid number."""
    answer = _decoded(body, _Answer)
    if answer.status != "success" or answer.data is None:
        raise Malformed(answer.error[:200] or f"its status is {answer.status[:40]!r}")
    if answer.data.result_type != "vector":
        raise Malformed(f"the query returns a {answer.data.result_type[:40] or 'nothing'}, not a vector")
    items = _decoded(answer.data.result, list[Raw] | None) or []
    found = [sample for item in items if (sample := _sample(item)) is not None]
    return found, len(items) - len(found)


def read_watched(body: bytes, latest: float) -> tuple[dict[str, NodeLoad], int]:
    """Return load-watcher's measurements, and the number of nodes without usable values."""
    answer = _decoded(body, _Watched)
    end = (answer.window.end if answer.window else 0) or answer.timestamp
    until = min(end, latest) if end > 0 else latest
    given = (answer.data and answer.data.nodes) or {}
    loads = {name: _watched_load(node, until) for name, node in given.items()}
    known = {name: load for name, load in loads.items() if load.is_known}
    return known, len(loads) - len(known)


def _sample(item: Raw) -> Sample | None:
    series = _or_none(item, _Series)
    try:
        value = float(series.value[1]) if series is not None else None
    except ValueError:
        return None
    return None if series is None or value is None or not is_share(100 * value) else Sample(series.metric, value)


def _watched_load(node: Raw, until: float) -> NodeLoad:
    given = _or_none(node, _Node)
    metrics = list(_metrics(given))
    return NodeLoad(_resource_load(metrics, "CPU"), _resource_load(metrics, "Memory"), until)


def _metrics(node: _Node | None) -> Iterator[_Metric]:
    for item in (node and node.metrics) or ():
        metric = _or_none(item, _Metric)
        if metric is not None and metric.value is not None and is_share(metric.value):
            yield metric


def _resource_load(metrics: list[_Metric], kind: str) -> ResourceLoad | None:
    """Return the mean, or the latest value if there is none; a deviation without either is useless."""
    values = {metric.operator: metric.value or 0.0 for metric in metrics if metric.type == kind}
    average = next((values[operator] for operator in (AVERAGE, *LATEST) if operator in values), None)
    return None if average is None else ResourceLoad(average, values.get(DEVIATION, 0.0))


def _decoded(body: bytes | Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise Malformed(f"the response cannot be decoded: {error}"[:200]) from None


def _or_none(item: Raw, kind: type[Message]) -> Message | None:
    try:
        return msgspec.json.decode(item, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
