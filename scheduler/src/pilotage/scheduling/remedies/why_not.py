"""Why a pod is not on a node: which plugin rejects it there, or by how much another node is better, by plugin."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt, Nominations
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.explanation import PluginScore, scores_at
from pilotage.scheduling.rejection_details import details
from pilotage.scheduling.remedies.trying import Tries


@dataclass(frozen=True)
class WhyNot:
    """One node compared with the best one, or with the pod's current one."""

    node: str
    text: str
    other: str = ""  # the node that it is compared with
    behind: int = 0  # by how much the other one is better; below zero if this one is
    by_plugin: Mapping[str, int] = field(default_factory=dict)  # weighted, the largest part first


def why_not(cache: ClusterCache, engine: Engine, nominations: Nominations, pod: Pod, node: str) -> WhyNot:
    """Compare a node with the one that a pod has or would get; the pod is treated as if it had no node."""
    with _set_aside(cache, pod):
        attempt = Tries(cache, engine, nominations, pod.on("") if pod.node_name else pod).attempt()
        info = attempt.cycle.nodes.find(node)
        if info is None:
            return WhyNot(node, f"there is no node {node}")
        try:
            return _compared(attempt, info, pod.node_name)
        except PluginFailed as error:
            return WhyNot(node, f"the nodes cannot be compared: {error}")


@contextmanager
def _set_aside(cache: ClusterCache, pod: Pod) -> Iterator[None]:
    """Hide a pod that has a node, as when that node was chosen."""
    if cache.find_pod(pod.uid) is None:
        yield
        return
    cache.hide(pod.uid)
    try:
        yield
    finally:
        cache.show(pod.uid)


def _compared(attempt: Attempt, info: NodeInfo, current: str) -> WhyNot:
    before = attempt.run_pre_filter().rejection
    if before is not None:
        return WhyNot(info.name, f"{before.plugin} rejects it on all nodes: {before.message}")
    feasible = attempt.feasible()
    assert attempt.entry is not None
    if code := int(attempt.codes[info.slot]):
        return WhyNot(info.name, _rejected(attempt.entry.rejections[code - 1], attempt, info))
    best = attempt.best(feasible)
    own = attempt.cycle.nodes.find(current) if current else None
    fits = own is not None and not attempt.codes[own.slot]
    slot = own.slot if own is not None and fits else int(best[0])
    if slot == info.slot:
        return WhyNot(info.name, f"it is on {info.name}" if current else f"{info.name} is the best node")
    return _behind(attempt, feasible, info, attempt.cycle.nodes[slot])


def _rejected(rejection: Rejection, attempt: Attempt, info: NodeInfo) -> str:
    told = zip(rejection.reasons, details(rejection, attempt.cycle.pod, info), strict=True)
    reasons = ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in told)
    by = f" by {rejection.plugin}" if rejection.plugin else ""
    return f"{info.name} is rejected{by}: {reasons}"


def _behind(attempt: Attempt, feasible: Nodes, info: NodeInfo, other: NodeInfo) -> WhyNot:
    here, there = (scores_at(attempt, feasible, each.slot) for each in (info, other))
    parts = {name: _weighted(here, name) - _weighted(there, name) for name in dict.fromkeys((*here, *there))}
    parts = {name: parts[name] for name in sorted(parts, key=lambda name: (-abs(parts[name]), name)) if parts[name]}
    behind = -sum(parts.values())
    told = ", ".join(f"{name} {part:+d}" for name, part in parts.items())
    if behind > 0:
        text = f"{info.name} loses to {other.name} by {behind}: {told}"
    elif not behind:
        text = f"{info.name} is as good as {other.name}" + (f": {told}" if told else "")
    else:
        text = f"{info.name} is now better than {other.name} by {-behind}: {told}"
    return WhyNot(info.name, text, other.name, behind, parts)


def _weighted(scores: Mapping[str, PluginScore], name: str) -> int:
    return scores[name].weighted if name in scores else 0
