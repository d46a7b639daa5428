"""Inter-pod affinity and anti-affinity: compiled terms."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pilotage.model.excess import has_too_many_terms
from pilotage.model.limits import MOST_POD_TERMS
from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import PodAffinity, PodAffinityTerm
from pilotage.model.selectors import EVERYTHING, NOTHING, InvalidSelector, LabelMatcher, Labels, compile_label_selector


class AffinityTerm(NamedTuple):
    """A term: the pods that it selects, and its topology key; equal terms match the same pods."""

    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: LabelMatcher
    selector: LabelMatcher
    weight: int = 0  # of a preferred term

    def matches(self, pod: Pod, namespace_labels: Labels) -> bool:
        """Return whether the term matches this pod, whose namespace has these labels."""
        return (
            pod.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(pod.labels)


class AffinityTerms(NamedTuple):
    """All terms of a pod, in the order of its spec."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()


NO_TERMS = AffinityTerms()


class InvalidTerms(ValueError):
    """A pod with an invalid term; the message names the list and the reason."""


def terms_of(pod: Pod) -> AffinityTerms:
    """Return a pod's terms; InvalidTerms if one of them has an invalid selector."""
    if pod.shape.spec.affinity is None:
        return NO_TERMS
    found = pod.shape.remember(("affinity terms", pod.namespace), lambda shape: _compiled(shape, pod.namespace))
    if isinstance(found, InvalidTerms):
        raise found
    return found


def readable_terms_of(pod: Pod) -> AffinityTerms:
    """Return a pod's terms, or none if one of them is invalid, as kube-scheduler does for placed pods."""
    try:
        return terms_of(pod)
    except InvalidTerms:
        return NO_TERMS


def carried_terms(pod: Pod, labels: Labels) -> AffinityTerms:
    """Return the terms of a placed pod on a node with these labels: its own, unless there are too many.

    In that case, return one for each topology of the node, with anti-affinity to all pods that any term may select.
    """
    if pod.shape.spec.affinity is None:
        return NO_TERMS
    return _covering(pod, labels) if has_too_many_terms(pod.shape) else readable_terms_of(pod)


def _covering(pod: Pod, labels: Labels) -> AffinityTerms:
    affinity = pod.shape.spec.affinity
    away = affinity.pod_anti_affinity if affinity is not None else None
    by_key: dict[str, set[str] | None] = {}  # the namespaces, None for all
    for term in away.required if away is not None else ():
        key = term.topology_key
        if key not in labels or term.label_selector is None or (key not in by_key and len(by_key) >= MOST_POD_TERMS):
            continue  # a term for another topology, or one that selects no pod
        namespaces = by_key.setdefault(key, set())
        if term.namespace_selector is not None:
            by_key[key] = None
        elif namespaces is not None:
            namespaces.update(term.namespaces or (pod.namespace,))
    return AffinityTerms(required_anti=tuple(_wide(key, namespaces) for key, namespaces in by_key.items()))


def _wide(key: str, namespaces: set[str] | None) -> AffinityTerm:
    return AffinityTerm(key, frozenset(namespaces or ()), NOTHING if namespaces is not None else EVERYTHING, EVERYTHING)


def _compiled(shape: PodShape, namespace: str) -> AffinityTerms | InvalidTerms:
    affinity = shape.spec.affinity
    assert affinity is not None
    near, away = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
    weighed, weighed_anti = _weighed(near), _weighed(away)
    lists: Mapping[str, Iterable[tuple[int, PodAffinityTerm]]] = {
        "requiredAffinityTerms": [(0, term) for term in near.required],
        "requiredAntiAffinityTerms": [(0, term) for term in away.required],
        "preferredAffinityTerms": weighed,
        "preferredAntiAffinityTerms": weighed_anti,
    }
    compiled = []
    for name, terms in lists.items():
        try:
            compiled.append(tuple(_term(term, weight, namespace) for weight, term in terms))
        except InvalidSelector as error:
            return InvalidTerms(f"{name}: {error}")
    return AffinityTerms(*compiled)


def _weighed(affinity: PodAffinity) -> list[tuple[int, PodAffinityTerm]]:
    return [(each.weight, each.pod_affinity_term) for each in affinity.preferred]


def _term(term: PodAffinityTerm, weight: int, namespace: str) -> AffinityTerm:
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        term.topology_key,
        frozenset((namespace,) if own else term.namespaces),
        compile_label_selector(term.namespace_selector),
        compile_label_selector(term.label_selector),
        weight,
    )
