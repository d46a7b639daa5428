"""Pods on other nodes that keep a pod off a node: by topology spread, or by anti-affinity in either direction."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.neighbours import namespace_labels, own_terms
from pilotage.framework.api.nodes import Ids, NodeInfo, Nodes
from pilotage.framework.api.pods import TermKind
from pilotage.framework.api.spreading import HARD, matching_pods, spreads_of
from pilotage.model.affinity import InvalidTerms, carried_terms
from pilotage.model.pod import Pod
from pilotage.model.selectors import InvalidSelector, Labels


@dataclass(frozen=True, slots=True)
class Link:
    """Pods that count in their topology domain: their number on each node, by slot, and a function to identify them."""

    topology_key: str
    counts: Ids
    matches: Callable[[Pod], bool]


class FarPods:
    """The constraints between a pod and pods on other nodes."""

    def __init__(self, cycle: Cycle, pod: Pod) -> None:
        self._nodes = cycle.nodes
        try:
            self._links = [*_spread(cycle, pod), *_shunned(cycle, pod), *_shunning(cycle, pod)]
        except (InvalidSelector, InvalidTerms):
            self._links = []  # already reported by the plugin of these constraints

    def about(self, info: NodeInfo) -> list[Pod]:
        """Return the pods on other nodes that may keep the pod off this one, each once."""
        found: dict[str, Pod] = {}
        for link in self._links:
            value = info.labels.get(link.topology_key)
            if value is None:
                continue
            domain = self._nodes.label_id(link.topology_key, value)
            same = (self._nodes.label_ids(link.topology_key) == domain) & (link.counts[: len(self._nodes)] > 0)
            for slot in np.flatnonzero(same).tolist():
                if slot != info.slot:
                    pods = self._nodes[slot].pods.values()
                    found.update((pod.uid, pod) for pod in pods if link.matches(pod))
        return list(found.values())


def _spread(cycle: Cycle, pod: Pod) -> Iterator[Link]:
    for spread in spreads_of(pod, HARD):
        counts = matching_pods(cycle, pod.namespace, spread.selector)
        if counts is not None:
            selects = spread.selector.matches
            yield Link(spread.topology_key, counts, _of_namespace(pod.namespace, selects))


def _of_namespace(namespace: str, selects: Callable[[Labels], bool]) -> Callable[[Pod], bool]:
    return lambda other: other.namespace == namespace and selects(other.labels)


def _shunned(cycle: Cycle, pod: Pod) -> Iterator[Link]:
    for term in own_terms(pod, cycle.objects).required_anti:
        yield Link(term.topology_key, cycle.placed.counts(term.query), term.matches)


def _shunning(cycle: Cycle, pod: Pod) -> Iterator[Link]:
    labels = namespace_labels(cycle.objects, pod.namespace)
    for carried in cycle.placed.terms_about(pod, TermKind.REQUIRED_ANTI_AFFINITY):
        yield Link(carried.topology_key, carried.counts, _carries(cycle.nodes, carried.topology_key, pod, labels))


def _carries(nodes: Nodes, key: str, pod: Pod, labels: Labels) -> Callable[[Pod], bool]:
    def carries(other: Pod) -> bool:
        node = nodes.find(other.node_name)
        terms = () if node is None else carried_terms(other, node.labels).required_anti
        return any(term.topology_key == key and term.matches(pod, labels) for term in terms)

    return carries
