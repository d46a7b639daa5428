"""Runs one plugin on a cluster with both of its methods, for one node and for many, which must agree."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.plugin import Filter, FollowsPods, Plugin, PreFilter, PreScore, Score
from pilotage.framework.api.verdicts import SKIP, OnlyNodes, Rejection, Skip
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.handle import begin

ByNode = dict[str, Rejection | None]


def reason_of(
    plugin: PreFilter | Filter, pod: Pod, node: Node, *, pods: Iterable[Pod] = (), objects: Iterable[Kind] = ()
) -> str | None:
    """Return why the plugin rejects the pod on the node, or None; the cluster has no other node.

    `pods` are already placed on the nodes that they name; `objects` are other objects in the API server.
    """
    cluster = FakeCluster([node], pods, objects)
    cycle = cluster.cycle(pod)
    with _following(plugin, cluster):
        if isinstance(plugin, PreFilter):
            before = plugin.pre_filter(cycle, pod)
            if isinstance(before, Skip):
                return None
            if isinstance(before, Rejection):
                return before.message
            if isinstance(before, OnlyNodes) and node.name not in before.names:
                return f"node(s) didn't satisfy plugin(s) [{plugin.name}]"
        rejection = verdicts_of(plugin, cycle, pod)[node.name] if isinstance(plugin, Filter) else None
    return None if rejection is None else rejection.message


def filter_all(plugin: Filter, cluster: FakeCluster, pod: Pod) -> Skip | Rejection | ByNode:
    """Return the plugin's verdicts on all nodes, or its PreFilter result if that is final."""
    cycle = cluster.cycle(pod)
    with _following(plugin, cluster):
        if isinstance(plugin, PreFilter):
            before = plugin.pre_filter(cycle, pod)
            if isinstance(before, Skip):
                return SKIP  # either of them
            if isinstance(before, Rejection):
                return before
        return verdicts_of(plugin, cycle, pod)


def verdicts_of(plugin: Filter, cycle: Cycle, pod: Pod) -> ByNode:
    """Return the verdicts on all nodes, which must be the same with both methods and for any subset of the nodes."""
    one_by_one = {node.name: plugin.filter(cycle, pod, node) for node in cycle.nodes}
    for part in _parts(cycle.nodes):
        verdicts = plugin.filter_nodes(cycle, pod, part)
        at_once = {node.name: verdicts[place] for place, node in enumerate(part)}
        assert at_once == {name: one_by_one[name] for name in at_once}, f"{plugin.name}: the two forms differ"
    return one_by_one


def raw_scores(
    plugin: Score, cluster: FakeCluster, pod: Pod, feasible: Collection[str] | None = None
) -> Skip | dict[str, int]:
    """Return the scores before normalisation, the same with both methods; SKIP if the plugin does not score the pod."""
    with _following(plugin, cluster):
        found = _scored(plugin, cluster, pod, feasible)
    return found if isinstance(found, Skip) else _named(found[1], found[2])


def score_all(
    plugin: Score, cluster: FakeCluster, pod: Pod, feasible: Collection[str] | None = None
) -> Skip | dict[str, int]:
    """Return the scores after normalisation; SKIP if the plugin does not score the pod."""
    with _following(plugin, cluster):
        found = _scored(plugin, cluster, pod, feasible)
        if isinstance(found, Skip):
            return found
        cycle, nodes, scores = found
        if plugin.normalize is not None:
            scores = plugin.normalize(cycle, pod, nodes, scores)
    return _named(nodes, scores)


@contextmanager
def _following(plugin: Plugin, cluster: FakeCluster) -> Iterator[None]:
    """Start a plugin, and let it follow the cluster's pods during the block if it follows pods."""
    begin(plugin, cluster)
    if not isinstance(plugin, FollowsPods) or any(each is plugin for each in cluster.cache._followers):
        yield
        return
    told = cluster.cache.pods()
    for pod in told:
        plugin.pod_placed(pod)
    try:
        yield
    finally:
        for pod in told:
            plugin.pod_left(pod)


def _scored(
    plugin: Score, cluster: FakeCluster, pod: Pod, feasible: Collection[str] | None
) -> Skip | tuple[Cycle, Nodes, np.ndarray]:
    cycle = cluster.cycle(pod)
    if isinstance(plugin, PreFilter):
        plugin.pre_filter(cycle, pod)
    nodes = cycle.nodes
    if feasible is not None:
        nodes = nodes.take(np.array([node.name in feasible for node in nodes]))
    if isinstance(plugin, PreScore):
        skip = plugin.pre_score(cycle, pod, nodes)
        if skip is not None:
            return SKIP  # either of them
    one_by_one = np.array([plugin.score(cycle, pod, node) for node in nodes], np.int64)
    for part in _parts(nodes):
        at_once = np.broadcast_to(np.asarray(plugin.score_nodes(cycle, pod, part)), len(part))
        expected = [score for node, score in zip(nodes, one_by_one, strict=True) if node.slot in part.slots]
        assert at_once.tolist() == expected, f"{plugin.name}: the two forms differ"
    return cycle, nodes, one_by_one


def _parts(nodes: Nodes) -> list[Nodes]:
    every_other = np.arange(len(nodes), dtype=np.int32)[::2]
    return [nodes, nodes.take(every_other)] if len(nodes) else [nodes]


def _named(nodes: Nodes, scores: np.ndarray) -> dict[str, int]:
    return {node.name: int(score) for node, score in zip(nodes, scores, strict=True)}
