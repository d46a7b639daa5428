"""Taints of nodes and tolerations of pods."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.node_changes import node_remedy, with_facts
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter, PreScore, Score, nothing_to_note
from pilotage.framework.api.pod_changes import plain, with_spec
from pilotage.framework.api.remedies import Change, Remedy
from pilotage.framework.api.scoring import by_maximum_reversed
from pilotage.framework.api.taint_matching import tolerates_all, untolerated_preferences
from pilotage.framework.api.verdicts import Filtered, Rejection, Verdicts
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.tolerations import (
    FORBIDDING,
    LIFECYCLE,
    Taint,
    Toleration,
    count_untolerated_preferences,
    first_untolerated,
)

MOST_OFFERED = 2
OF_KUBERNETES = (LIFECYCLE, "node.cloudprovider.kubernetes.io/")
TAINTED = Rejection("node(s) had untolerated taint(s)", preemption_helps=False)


class TaintToleration(PreFilter, Filter, PreScore, Score):
    """Keep pods off nodes with taints that they do not tolerate, and prefer nodes that do not mind them."""

    caching = Caching(STATIC, per=SHAPE)
    retry_on = (
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, "became_tolerable"),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION),
    )
    normalize = by_maximum_reversed

    pre_filter = nothing_to_note

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node with a taint that forbids the pod."""
        return None if _may_run(pod, node.node) else TAINTED

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes."""
        return Verdicts.where(~tolerates_all(pod.shape.tolerated, nodes), TAINTED)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to tolerate the fewest taints, or to remove them from a node; Kubernetes removes its own."""
        sets, ids = nodes.taint_sets, nodes.taint_set_ids
        numbers = np.bincount(ids, minlength=len(sets))
        opened: Counter[frozenset[Taint]] = Counter()
        for each in np.flatnonzero(numbers).tolist():
            opened[_forbidding(sets[each], pod)] += int(numbers[each])
        tolerable = [taints for taints in opened if not any(taint.key.startswith(OF_KUBERNETES) for taint in taints)]
        tolerable.sort(key=lambda taints: (len(taints), -opened[taints], sorted(map(str, taints))))
        for taints in tolerable[:MOST_OFFERED]:
            yield _tolerating(pod, taints)
        for taints in tolerable[:1]:
            yield _without(_one_with(nodes, pod, taints), taints)
        for taints in opened.keys() - set(tolerable):
            yield _well_again(_one_with(nodes, pod, taints), taints)
            break

    pre_score = nothing_to_note  # even without any taint every node gets its 100

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return how many taints ask the pod to stay away; the fewest is best."""
        return count_untolerated_preferences(node.taints, pod.shape.tolerated)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for all nodes."""
        return untolerated_preferences(pod.shape.tolerated, nodes)

    def became_tolerable(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether the taints forbade the pod, or the node was not there, and they allow it now."""
        return _may_run(pod, new) and (old is None or not _may_run(pod, old))


def _forbidding(taints: Iterable[Taint], pod: Pod) -> frozenset[Taint]:
    covers = pod.shape.tolerated.covers
    return frozenset(taint for taint in taints if taint.effect in FORBIDDING and not covers(taint))


def _one_with(nodes: Nodes, pod: Pod, taints: frozenset[Taint]) -> Node:
    sets, ids = nodes.taint_sets, nodes.taint_set_ids
    same = [number for number in np.unique(ids).tolist() if _forbidding(sets[number], pod) == taints]
    return nodes[int(np.flatnonzero(ids == same[0])[0])].node


def _tolerating(pod: Pod, taints: frozenset[Taint]) -> Remedy:
    ordered = sorted(taints, key=str)
    added = tuple(
        Toleration(each.key, "Equal" if each.value else "Exists", each.value, each.effect) for each in ordered
    )
    tolerations = (*pod.spec.tolerations, *added)
    change = with_spec(pod, {"tolerations": plain(tolerations)}, tolerations=tolerations)
    return Remedy(
        code="tolerate",
        actor="owner",
        words="tolerate {taints}",
        values={"taints": tuple(map(str, ordered))},
        changes=tuple(Change("spec.tolerations", None, str(each)) for each in ordered),
        size=float(len(ordered)),
        target=change.target,
        patch=change.patch,
        difference=change.difference,
    )


def _without(node: Node, taints: frozenset[Taint]) -> Remedy:
    left = tuple(taint for taint in node.taints if taint not in taints)
    told = tuple(sorted(map(str, taints)))
    changed, patch = with_facts(node, taints=left), {"spec": {"taints": plain(left)}}
    changes = [Change("spec.taints", each, None) for each in told]
    return node_remedy(
        "removeTaint",
        "remove the taint {taints} from {node}" if len(told) == 1 else "remove the taints {taints} from {node}",
        node,
        changed,
        patch,
        *changes,
        taints=told,
    )


def _well_again(node: Node, taints: frozenset[Taint]) -> Remedy:
    """Return what helps against taints that Kubernetes sets: the removal of their cause."""
    words = "repair {node}: Kubernetes has tainted it with {taints}"
    changed = with_facts(node, taints=tuple(taint for taint in node.taints if taint not in taints))
    return replace(
        node_remedy("repairNode", words, node, changed, {}, size=1.0, taints=tuple(sorted(map(str, taints)))),
        target=None,
        patch=None,
    )


def _may_run(pod: Pod, node: Node) -> bool:
    return first_untolerated(node.taints, pod.shape.tolerated) is None
