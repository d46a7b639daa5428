"""Nodes: all as columns, a page as rows, and one with its pods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.model.pod import Pod
from pilotage.model.requests import CPU, MEMORY, PODS
from pilotage.views.answers import (
    CORDONED,
    HELD,
    NOMINATED,
    REPELS,
    NodeRow,
    NodeTable,
    NodeView,
    OtherPods,
    PodOnNode,
)
from pilotage.views.decisions import shown
from pilotage.views.node_names import TYPE, ZONE
from pilotage.views.paging import InvalidQuestion, after, continued, page
from pilotage.views.state import STEP, Stamp, State, Steps
from pilotage.views.viewer import Viewer, Words

MOST_COLUMNS = 16
MOST_PODS = 500  # of one node
MOST_DECISIONS = 20
REPELLING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class NodesQuestion:
    """Selects resources, and the form of the answer."""

    columns: tuple[str, ...] = ()  # none: cpu, memory and all other resources of nodes, up to 16
    form: Literal["columns", "rows"] = "columns"
    limit: int = 100
    continue_: str = ""

    def __post_init__(self) -> None:
        """Reject invalid values."""
        if self.form not in ("columns", "rows"):
            raise InvalidQuestion(f"format: {self.form!r} is unknown; use columns or rows")
        if len(self.columns) > MOST_COLUMNS:
            raise InvalidQuestion(f"columns: {len(self.columns)} are too many; the limit is {MOST_COLUMNS}")


def nodes(state: State, stamp: Stamp, question: NodesQuestion) -> Steps[NodeTable]:
    """Return all nodes."""
    resources = resources_of(state, question.columns)
    if question.form == "rows":
        return (yield from _rows(state, stamp, question, resources))
    found = _Columns(state, resources)
    yield
    names = yield from state.node_names.of(found.infos, found.version)
    allocatable, requested = dict[str, list[int]](), dict[str, list[int]]()
    for name in resources:
        allocatable[name], requested[name] = found.allocatable[name].tolist(), found.requested[name].tolist()
        yield
    pods, allowed, flags = found.pods.tolist(), found.allowed.tolist(), found.flags.tolist()
    yield
    return NodeTable(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        total=len(found.infos),
        names=names.names,
        zones=names.zones.values,
        zone=names.zones.places,
        types=names.types.values,
        type=names.types.places,
        allocatable=allocatable,
        requested=requested,
        units={name: unit_of(name) for name in resources},
        pods=pods,
        allowed=allowed,
        flags=flags,
    )


class _Columns:
    """All nodes at one moment: the cluster changes while the answer is built."""

    def __init__(self, state: State, resources: Sequence[str]) -> None:
        every = state.cache.nodes()
        self.infos, self.version = list(every), every.static_version
        self.allocatable = {name: every.allocatable(name).copy() for name in resources}
        self.requested = {name: every.requested(name).copy() for name in resources}
        self.pods, self.allowed = every.pod_count.copy(), every.allowed_pods.copy()
        self.flags = _flags(state, every)


def resources_of(state: State, wanted: Sequence[str] = ()) -> list[str]:
    """Return the resources to show, if any node has them."""
    known = state.cache.columns.resources()
    if wanted:
        return [name for name in dict.fromkeys(wanted) if name in known]
    first = [name for name in (CPU, MEMORY) if name in known]
    return [*first, *sorted(name for name in known if name not in (CPU, MEMORY, PODS))][:MOST_COLUMNS]


def unit_of(resource: str) -> str:
    """Return the unit of a resource's amounts."""
    if resource == CPU:
        return "m"
    is_bytes = resource in (MEMORY, "ephemeral-storage", "storage") or resource.startswith("hugepages-")
    return "bytes" if is_bytes else "pieces"


def _flags(state: State, every: Nodes) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    flags = np.where(every.unschedulable, CORDONED, 0).astype(np.int64)
    sets = every.taint_sets
    repels = np.array([any(taint.effect in REPELLING for taint in taints) for taints in sets], np.bool_)
    if len(repels):
        flags |= np.where(repels[every.taint_set_ids], REPELS, 0)
    for names, bit in ((state.queue.nominator.nodes, NOMINATED), ({hold.node for hold, _ in state.cache.holds}, HELD)):
        slots = [info.slot for name in names if (info := every.find(name)) is not None]
        flags[slots] |= bit
    return flags


def _rows(state: State, stamp: Stamp, question: NodesQuestion, resources: Sequence[str]) -> Steps[NodeTable]:
    every = state.cache.nodes()
    flags = _flags(state, every)
    behind = after(question.continue_, tuple[str])
    found, total, more = yield from page(list(every), lambda info: (info.name,), question.limit, behind)
    return NodeTable(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        total=total,
        units={name: unit_of(name) for name in resources},
        items=[_row(info, resources, int(flags[info.slot]) if 0 <= info.slot < len(flags) else 0) for info in found],
        continue_=continued(found[-1].name) if more else "",
    )


def _row(info: NodeInfo, resources: Sequence[str], flags: int) -> NodeRow:
    return NodeRow(
        name=info.name,
        zone=info.labels.get(ZONE, ""),
        type=info.labels.get(TYPE, ""),
        allocatable={name: info.allocatable.get(name, 0) for name in resources},
        requested={name: info.requested.get(name, 0) for name in resources},
        pods=len(info.pods),
        allowed=info.node.allowed_pods,
        flags=flags,
    )


def node_view(state: State, viewer: Viewer, stamp: Stamp, name: str) -> Steps[NodeView | None]:
    """Return a node with its pods; None if it does not exist."""
    info = state.cache.find_node(name)
    if info is None:
        return None
    seen = sorted(
        (pod for pod in info.pods.values() if viewer.sees(pod.namespace)), key=lambda pod: (-pod.priority, pod.key)
    )
    others = [pod for pod in info.pods.values() if not viewer.sees(pod.namespace)]
    yield
    words, decided = Words(state, viewer), []
    for number, (place, decision) in enumerate(islice(state.log.newest_first(), 20_000)):
        if number % STEP == STEP - 1:
            yield
        if decision.node == name and viewer.sees(decision.namespace):
            decided.append(shown(state, place, decision, words))
            if len(decided) == MOST_DECISIONS:
                break
    return NodeView(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        name=name,
        zone=info.labels.get(ZONE, ""),
        type=info.labels.get(TYPE, ""),
        allocatable=dict(info.allocatable),
        requested=dict(info.requested),
        allowed=info.node.allowed_pods,
        cordoned=info.node.unschedulable,
        taints=[f"{taint.key}={taint.value}:{taint.effect}" for taint in info.taints],
        pods=[_on_node(state, pod) for pod in seen[:MOST_PODS]],
        others=OtherPods(pods=len(others), requests=_sum(others)),
        nominated=[_on_node(state, pod) for pod in _nominated(state, viewer, name)],
        decisions=decided,
    )


def _nominated(state: State, viewer: Viewer, name: str) -> Iterator[Pod]:
    return (pod for pod in state.queue.nominator.pods_for_node(name) if viewer.sees(pod.namespace))


def _on_node(state: State, pod: Pod) -> PodOnNode:
    return PodOnNode(
        namespace=pod.namespace,
        name=pod.name,
        priority=pod.priority,
        profile=pod.scheduler_name,
        requests=dict(pod.requests),
        assumed=state.cache.is_assumed(pod.uid),
    )


def _sum(pods: Sequence[Pod]) -> dict[str, int]:
    total: dict[str, int] = {}
    for pod in pods:
        for name, amount in pod.usage.items():
            total[name] = total.get(name, 0) + amount
    return total
