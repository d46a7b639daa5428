"""InterPodAffinity: affinity and anti-affinity between pods."""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add, and_, or_

import numpy as np
from numpy.typing import NDArray
from pydantic import StrictBool

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.config.types import Int32
from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.neighbours import DomainSums, OwnTerms, Weighed, namespace_labels, own_terms
from pilotage.framework.api.nodes import Bools, Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter, PreScore, Score
from pilotage.framework.api.pods import CarriedTerm, TermKind
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.verdicts import (
    SKIP,
    SKIP_KIND,
    SKIP_SHAPE,
    Filtered,
    PluginFailed,
    PreFiltered,
    Rejection,
    Skip,
    Verdicts,
)
from pilotage.kinds.workloads import Namespace
from pilotage.model.affinity import AffinityTerm, InvalidTerms, carried_terms, terms_of
from pilotage.model.excess import has_too_many_terms
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.pods.inter_pod_affinity.neighbour_remarks import missing, unwanted, unwelcome
from pilotage.plugins.pods.inter_pod_affinity.neighbour_remedies import softer, who_leaves

# Evictions cannot add missing pods.
LONELY = Rejection("node(s) didn't match pod affinity rules", preemption_helps=False)
ANTI_AFFINITY = Rejection("node(s) didn't match pod anti-affinity rules")
UNWELCOME = Rejection("node(s) didn't satisfy existing pods anti-affinity rules")

SCORES = "InterPodAffinity scores"  # the note for scoring; that for filtering has the plugin's name


class Surroundings:
    """The domains of pods that match a pod's affinity or anti-affinity, or whose anti-affinity matches the pod."""

    __slots__ = ("may_be_first", "own", "shunned", "shunning", "wanted")

    def __init__(
        self, own: OwnTerms, may_be_first: bool, wanted: DomainSums, shunned: DomainSums, shunning: DomainSums
    ) -> None:
        self.own = own
        self.may_be_first = may_be_first  # the pod has affinity to pods like itself, so the first one is exempt
        self.wanted = wanted
        self.shunned = shunned
        self.shunning = shunning

    def clone(self) -> "Surroundings":
        """Return a copy that can be changed for a what-if."""
        copies = self.wanted.clone(), self.shunned.clone(), self.shunning.clone()
        return Surroundings(self.own, self.may_be_first, *copies)

    def has_wanted(self, node: NodeInfo) -> bool:
        """Return whether a node meets the required affinity."""
        if all(count > 0 for count in self.wanted.at(node)):
            return True
        return self.may_be_first and self.wanted.empty and self.wanted.has_domains(node)

    def have_wanted(self, nodes: Nodes) -> Bools:
        """Return the same for many nodes."""
        if self.may_be_first and self.wanted.empty:
            return self.wanted.have_domains(nodes)
        return reduce(and_, (counts > 0 for counts in self.wanted.over(nodes)))


class InterPodAffinity(PreFilter, Filter, PreScore, Score):
    """Place pods by affinity and anti-affinity to other pods, of both sides."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: StrictBool = False

    caching = Caching(CLUSTER)
    retry_on = (
        Retry(Resource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, "after_pod"),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_LABEL),
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, "after_node"),
    )
    reads = (Namespace,)

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in arguments that have valid types."""
        weight = self.hard_pod_affinity_weight
        if 0 <= weight <= 100:
            return []
        return [invalid((*at, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")]

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Count in each domain the pods that match the pod's terms, or whose anti-affinity matches it."""
        try:
            own = own_terms(pod, cycle.objects)
        except InvalidTerms as error:
            return Rejection(f"parsing pod: {error}", preemption_helps=False)
        carried = cycle.placed.terms_about(pod, TermKind.REQUIRED_ANTI_AFFINITY)
        shunning = DomainSums.of(cycle.nodes, _shunning(cycle.nodes, carried))
        if not own.required and not own.required_anti and shunning.empty:
            return SKIP if carried else SKIP_KIND
        wanted = DomainSums.of(cycle.nodes, _wanted(cycle, own))
        shunned = DomainSums.of(cycle.nodes, _shunned(cycle, own))
        cycle.notes[self.name] = Surroundings(own, own.required_match(pod), wanted, shunned, shunning)
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Add another pod."""
        self._count(cycle, pod, other, node, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Remove another pod."""
        self._count(cycle, pod, other, node, -1)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node that violates affinity, or anti-affinity in either direction."""
        around: Surroundings = cycle.notes[self.name]
        if not around.has_wanted(node):
            return LONELY
        if any(count > 0 for count in around.shunned.at(node)):
            return ANTI_AFFINITY
        return UNWELCOME if any(count > 0 for count in around.shunning.at(node)) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes."""
        around: Surroundings = cycle.notes[self.name]
        cases = [(~around.have_wanted(nodes), LONELY)] if around.own.required else []
        for sums, rejection in ((around.shunned, ANTI_AFFINITY), (around.shunning, UNWELCOME)):
            if not sums.empty:
                cases.append((reduce(or_, (counts > 0 for counts in sums.over(nodes))), rejection))
        return Verdicts.first_of(*cases) if cases else Verdicts.all_fit(len(nodes))

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return which rule the node violates, and in which domain."""
        around: Surroundings | None = cycle.notes.get(self.name)
        if around is None:
            return ""
        if not around.has_wanted(node):
            return missing(pod, around.own.required, around.wanted, node)
        if any(count > 0 for count in around.shunned.at(node)):
            return unwanted(cycle, pod, around.own.required_anti, node)
        return unwelcome(cycle, pod, node)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to move the conflicting pods, or to turn a requirement into a preference."""
        around: Surroundings = cycle.notes[self.name]
        verdicts = self.filter_nodes(cycle, pod, nodes)
        said = {verdicts.rejections[code - 1] for code in np.unique(verdicts.codes).tolist() if code}
        if LONELY in said:
            yield from softer(pod, "pod_affinity", around.own.required, cycle)
        if said & {ANTI_AFFINITY, UNWELCOME}:
            in_the_way = [0, *(rejection is not LONELY for rejection in verdicts.rejections)]
            conflicting = np.array(in_the_way, np.bool_)[verdicts.codes]
            yield from who_leaves(cycle, pod, around.own, nodes.take(conflicting))
        if ANTI_AFFINITY in said:
            yield from softer(pod, "pod_anti_affinity", around.own.required_anti, cycle)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Sum the weights of preferred terms of both sides in each domain, including infeasible nodes."""
        if self.ignore_preferred_terms_of_existing_pods and not _has_preferences(pod):
            return SKIP_SHAPE
        try:
            own = own_terms(pod, cycle.objects)
        except InvalidTerms as error:
            raise PluginFailed(f"failed to parse pod: {error}") from error
        every = list(self._preferences(cycle, pod, own))
        parts = [part for part in every if cycle.nodes.has_label(part.topology_key)]
        # The pod is scored even if weights cancel each other out.
        if not any(part.exists(cycle.nodes) for part in parts):
            return SKIP if every else SKIP_KIND
        cycle.notes[SCORES] = DomainSums.of(cycle.nodes, parts)
        return None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the sum of the weights in the node's domains; may be negative."""
        sums: DomainSums = cycle.notes[SCORES]
        return sum(sums.at(node))

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        sums: DomainSums = cycle.notes[SCORES]
        return reduce(add, sums.over(nodes))

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
        """Scale from the lowest to the highest score; if all are equal, all get the minimum."""
        lowest, highest = scores.min(), scores.max()
        if lowest == highest:
            return np.zeros_like(scores)
        # The order of operations decides how 29 of 50 is rounded: to 57, as in Go.
        stretched: NDArray[np.float64] = MAX_SCORE * ((scores - lowest) / (highest - lowest))
        return stretched.astype(np.int64)

    def after_pod(self, pod: Pod, event: Event, old: Pod | None, new: Pod | None) -> bool:
        """Return whether a placed pod that was added, deleted or changed its labels can help."""
        if any(each is not None and not each.node_name and not each.nominated_node for each in (old, new)):
            return False
        try:
            own = terms_of(pod)
            if new is None:
                assert old is not None
                return _any_matches(own.required_anti, old) or _may_shun(old, pod)
        except InvalidTerms:
            return True
        if old is None:
            return _all_match(own.required, new)
        came = _all_match(own.required, new) and not _all_match(own.required, old)
        return came or (_any_matches(own.required_anti, old) and not _any_matches(own.required_anti, new))

    def after_node(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether a node that was added or moved to other domains can help."""
        try:
            own = terms_of(pod)
        except InvalidTerms:
            return True
        if old is None:
            return bool(own.required_anti) or any(term.topology_key in new.labels for term in own.required)
        came, went = (
            any(each.get(term.topology_key) not in (None, other.get(term.topology_key)) for term in terms)
            for each, other, terms in (
                (new.labels, old.labels, own.required),
                (old.labels, new.labels, own.required_anti),
            )
        )
        return came or went

    def _count(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo, by: int) -> None:
        around: Surroundings = cycle.notes[self.name]
        labels = namespace_labels(cycle.objects, pod.namespace)
        for carried in carried_terms(other, node.labels).required_anti:
            if carried.matches(pod, labels):
                around.shunning.change(carried.topology_key, node, by)
        if around.own.required_match(other):
            for key in dict.fromkeys(term.topology_key for term in around.own.required):
                around.wanted.change(key, node, by)
        for term in around.own.required_anti:
            if term.matches(other):
                around.shunned.change(term.topology_key, node, by)

    def _preferences(self, cycle: Cycle, pod: Pod, own: OwnTerms) -> Iterator[Weighed]:
        for sign, terms in ((1, own.preferred), (-1, own.preferred_anti)):
            for term in terms:
                yield Weighed(term.topology_key, cycle.placed.counts(term.query), sign * term.weight)
        if self.hard_pod_affinity_weight > 0:
            for carried in cycle.placed.terms_about(pod, TermKind.REQUIRED_AFFINITY):
                yield Weighed(carried.topology_key, carried.places, self.hard_pod_affinity_weight)
        for sign, kind in ((1, TermKind.PREFERRED_AFFINITY), (-1, TermKind.PREFERRED_ANTI_AFFINITY)):
            for carried in cycle.placed.terms_about(pod, kind):
                yield Weighed(carried.topology_key, carried.places, sign * carried.weight)


def _wanted(cycle: Cycle, own: OwnTerms) -> Iterator[Weighed]:
    if own.required:
        # A single pod must meet all terms, but each topology key may be satisfied by a different pod.
        counts = cycle.placed.counts(own.required_query)
        yield from (Weighed(key, counts) for key in dict.fromkeys(term.topology_key for term in own.required))


def _shunned(cycle: Cycle, own: OwnTerms) -> Iterator[Weighed]:
    # If no node has the topology's label, it has no domains.
    terms = (term for term in own.required_anti if cycle.nodes.has_label(term.topology_key))
    return (Weighed(term.topology_key, cycle.placed.counts(term.query)) for term in terms)


def _shunning(nodes: Nodes, carried: Iterable[CarriedTerm]) -> Iterator[Weighed]:
    return (Weighed(term.topology_key, term.places) for term in carried if nodes.has_label(term.topology_key))


def _has_preferences(pod: Pod) -> bool:
    affinity = pod.shape.spec.affinity
    return affinity is not None and any(
        each is not None and bool(each.preferred) for each in (affinity.pod_affinity, affinity.pod_anti_affinity)
    )


def _may_shun(placed: Pod, pod: Pod) -> bool:
    return has_too_many_terms(placed.shape) or _any_matches(terms_of(placed).required_anti, pod)


# Hints do not look up namespaces, so namespace selectors see no labels.


def _all_match(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    return bool(terms) and all(term.matches(pod, {}) for term in terms)


def _any_matches(terms: Iterable[AffinityTerm], pod: Pod) -> bool:
    return any(term.matches(pod, {}) for term in terms)
