"""Inter-pod affinity: which pods a pending pod's terms match, and sums of pods in each topology domain."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.nodes import ABSENT, Bools, Ids, Ints, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.pods import Places, PodQuery
from pilotage.kinds.workloads import Namespace
from pilotage.model.affinity import AffinityTerm, AffinityTerms, terms_of
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelMatcher, Labels


class OwnTerm(NamedTuple):
    """A term of a pending pod, with its namespaces by name."""

    topology_key: str
    weight: int
    namespaces: frozenset[str] | None  # None for all
    selector: LabelMatcher
    query: PodQuery

    def matches(self, pod: Pod) -> bool:
        """Return whether the term matches this pod."""
        return (self.namespaces is None or pod.namespace in self.namespaces) and self.selector.matches(pod.labels)


class OwnTerms(NamedTuple):
    """All terms of a pending pod, for the current namespaces."""

    required_query: PodQuery = PodQuery(())  # for pods that meet all required affinity terms
    required: tuple[OwnTerm, ...] = ()
    required_anti: tuple[OwnTerm, ...] = ()
    preferred: tuple[OwnTerm, ...] = ()
    preferred_anti: tuple[OwnTerm, ...] = ()

    def required_match(self, pod: Pod) -> bool:
        """Return whether a pod meets all required affinity terms; there must be at least one."""
        return bool(self.required) and all(term.matches(pod) for term in self.required)


NO_OWN_TERMS = OwnTerms()


class _Remembered:
    """The cached terms of a pod's shape, and the state of the cluster that they are valid for."""

    __slots__ = ("objects", "terms", "version")

    def __init__(self) -> None:
        self.objects: Objects | None = None
        self.version = -1
        self.terms = NO_OWN_TERMS


def own_terms(pod: Pod, objects: Objects) -> OwnTerms:
    """Return the terms of a pending pod; InvalidTerms if one of them has an invalid selector."""
    terms = terms_of(pod)
    if not any(terms):
        return NO_OWN_TERMS
    known = pod.shape.remember(("own terms", pod.namespace), lambda _: _Remembered())
    version = objects.version(Namespace)
    if known.objects is not objects or known.version != version:
        known.objects, known.version, known.terms = objects, version, _named(terms, objects)
    return known.terms


def namespace_labels(objects: Objects, name: str) -> Labels:
    """Return the labels of a namespace; empty for an unknown one."""
    found = objects.get(Namespace, name)
    return {} if found is None else found.metadata.labels


def _named(terms: AffinityTerms, objects: Objects) -> OwnTerms:
    required, *others = (tuple(_own(term, objects) for term in each) for each in terms)
    conditions = dict.fromkeys(condition for term in required for condition in term.query.conditions)
    return OwnTerms(PodQuery(tuple(conditions)), required, *others)


def _own(term: AffinityTerm, objects: Objects) -> OwnTerm:
    namespaces = _namespaces(term, objects)
    query = PodQuery(((namespaces, term.selector.requirements),))
    return OwnTerm(term.topology_key, term.weight, namespaces, term.selector, query)


def _namespaces(term: AffinityTerm, objects: Objects) -> frozenset[str] | None:
    selector = term.namespace_selector
    if selector.empty:
        return None
    if selector.requirements is None:
        return term.namespaces
    every = (namespace.metadata for namespace in objects.all(Namespace))
    return term.namespaces.union(each.name for each in every if selector.matches(each.labels))


SPARSE = 3  # if fewer than one in this many nodes has matching pods, only those nodes are read


class Weighed(NamedTuple):
    """Matching pods to sum up in the domains of their nodes, with their weights."""

    topology_key: str
    places: Places
    weight: int = 1

    def exists(self, nodes: Nodes) -> bool:
        """Return whether any of them is in a domain."""
        ids = nodes.label_ids(self.topology_key)
        if isinstance(self.places, tuple):
            return any(ids[slot] != ABSENT for slot, _ in self.places)
        return bool(np.logical_and(self.places, ids).any())


class DomainSums:
    """Sums of pods in each domain: an array for each topology key, by the id of the label's value."""

    __slots__ = ("_by_key", "_nodes")

    def __init__(self, nodes: Nodes, by_key: dict[str, Ints]) -> None:
        self._nodes = nodes  # all of the cluster
        self._by_key = by_key

    @classmethod
    def of(cls, nodes: Nodes, parts: Iterable[Weighed]) -> "DomainSums":
        """Add up all parts; pods on nodes without the label are in no domain."""
        of_key: dict[str, list[Weighed]] = {}
        for part in parts:
            of_key.setdefault(part.topology_key, []).append(part)
        return cls(nodes, {key: _by_domain(nodes, key, some) for key, some in of_key.items()})

    @property
    def empty(self) -> bool:
        """Return whether all domains are empty."""
        return not any(sums.any() for sums in self._by_key.values())

    def at(self, node: NodeInfo) -> list[int]:
        """Return the sum in the node's domain for each key; 0 if it has none."""
        return [int(sums[self._domain(key, node)]) for key, sums in self._by_key.items()]

    def number(self, key: str, node: NodeInfo) -> int:
        """Return the sum in the node's domain for one key."""
        sums = self._by_key.get(key)
        return 0 if sums is None else int(sums[self._domain(key, node)])

    def over(self, nodes: Nodes) -> list[Ints]:
        """Return the same for many nodes: one array for each key."""
        return [sums.take(nodes.label_ids(key)) for key, sums in self._by_key.items()]

    def has_domains(self, node: NodeInfo) -> bool:
        """Return whether the node has a domain for every key."""
        return all(key in node.labels for key in self._by_key)

    def have_domains(self, nodes: Nodes) -> Bools:
        """Return the same for many nodes."""
        return reduce(and_, (nodes.label_ids(key) != ABSENT for key in self._by_key))

    def change(self, key: str, node: NodeInfo, by: int) -> None:
        """Add or remove a pod on the node."""
        domain = self._domain(key, node)
        if domain == ABSENT:
            return
        if key not in self._by_key:
            self._by_key[key] = np.zeros(len(self._nodes.label_values(key)), np.int64)
        self._by_key[key][domain] += by

    def clone(self) -> "DomainSums":
        """Return a copy that can be changed."""
        return DomainSums(self._nodes, {key: sums.copy() for key, sums in self._by_key.items()})

    def _domain(self, key: str, node: NodeInfo) -> int:
        return self._nodes.label_id(key, node.labels.get(key))


def _by_domain(nodes: Nodes, key: str, parts: Sequence[Weighed]) -> Ints:
    ids, domains = nodes.label_ids(key), len(nodes.label_values(key))
    everywhere = [weighed for part in parts if (weighed := _weights(part)) is not None]
    sums = _added(ids, everywhere, domains) if everywhere else np.zeros(domains, np.int64)
    for part in parts:
        if isinstance(part.places, tuple):
            for slot, number in part.places:
                sums[ids[slot]] += number * part.weight
    sums[ABSENT] = 0
    return sums


def _added(ids: Ids, parts: Sequence[NDArray[np.int32 | np.floating]], domains: int) -> Ints:
    weights = parts[0]
    for part in parts[1:]:
        weights = weights + part
    some = weights.nonzero()[0]
    if SPARSE * len(some) < len(ids):
        ids, weights = ids[some], weights[some]
    # Sums in floating point are exact: pods times weights stay far below 2**53.
    return np.bincount(ids, weights=weights, minlength=domains).astype(np.int64)


def _weights(part: Weighed) -> NDArray[np.int32 | np.floating] | None:
    if isinstance(part.places, tuple):
        return None
    return part.places if part.weight == 1 else part.places * float(part.weight)
