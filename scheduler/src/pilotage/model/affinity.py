"""What a pod says about other pods: the terms of its affinity and anti-affinity, ready to match."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import PodAffinity, PodAffinityTerm
from pilotage.model.selectors import InvalidSelector, LabelMatcher, Labels, compile_label_selector


class AffinityTerm(NamedTuple):
    """One term: which pods it means, and within which topology; terms that are equal match the same."""

    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: LabelMatcher
    selector: LabelMatcher
    weight: int = 0  # of a preferred term

    def matches(self, pod: Pod, namespace_labels: Labels) -> bool:
        """Tell whether the term means this pod, whose namespace has these labels."""
        return (
            pod.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(pod.labels)


class AffinityTerms(NamedTuple):
    """All terms of a pod, in the order in which it has them."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()


NO_TERMS = AffinityTerms()


class InvalidTerms(ValueError):
    """A pod whose terms cannot be read; the text says which list and why."""


def terms_of(pod: Pod) -> AffinityTerms:
    """Return a pod's terms; InvalidTerms if one of them has a selector that makes no sense."""
    if pod.shape.spec.affinity is None:
        return NO_TERMS
    found = pod.shape.remember(("affinity terms", pod.namespace), lambda shape: _compiled(shape, pod.namespace))
    if isinstance(found, InvalidTerms):
        raise found
    return found


def readable_terms_of(pod: Pod) -> AffinityTerms:
    """Return a pod's terms, none at all if one of them makes no sense, as is the custom with placed pods."""
    try:
        return terms_of(pod)
    except InvalidTerms:
        return NO_TERMS


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
