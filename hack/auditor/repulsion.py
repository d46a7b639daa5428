"""Required anti-affinity of placed pods: which pods it may keep away."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from auditor.demand import Manifest
from auditor.placement import Requirement, holds, requirements


class Repulsion(NamedTuple):
    """One anti-affinity term; `namespaces` is None where it may reach any namespace."""

    namespaces: tuple[str, ...] | None
    selector: tuple[Requirement, ...] | None


def repulsions_of(namespace: str, spec: Manifest) -> tuple[Repulsion, ...]:
    """Return the required anti-affinity terms of a pod."""
    anti = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
    terms = anti.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(repulsion_of(namespace, term) for term in terms)


def repulsion_of(namespace: str, term: Manifest) -> Repulsion:
    """Return one term; a namespace selector is taken to reach every namespace, since namespaces are not watched."""
    everywhere = term.get("namespaceSelector") is not None
    names = tuple(term.get("namespaces") or ()) or (namespace,)
    return Repulsion(None if everywhere else names, selector_of(term.get("labelSelector")))


def selector_of(raw: Manifest | None) -> tuple[Requirement, ...] | None:
    """Return a label selector as requirements; None matches nothing, an empty one everything."""
    if raw is None:
        return None
    exact = tuple(Requirement(key, "In", (value,)) for key, value in sorted((raw.get("matchLabels") or {}).items()))
    return exact + requirements(raw, "matchExpressions")


def reaches(repulsion: Repulsion, namespace: str, labels: Mapping[str, str]) -> bool:
    """Return whether a pod of this namespace and these labels is repelled, on whatever node."""
    if repulsion.namespaces is not None and namespace not in repulsion.namespaces:
        return False
    return repulsion.selector is not None and all(holds(requirement, labels) for requirement in repulsion.selector)


class Repulsions:
    """All terms in force, and whom they may keep away."""

    def __init__(self) -> None:
        self._terms: Counter[Repulsion] = Counter()
        self._answers: dict[tuple[str, tuple[tuple[str, str], ...]], bool] = {}

    def __bool__(self) -> bool:
        return bool(self._terms)

    def add(self, terms: tuple[Repulsion, ...]) -> None:
        """Put terms in force."""
        if terms:
            self._terms.update(terms)
            self._answers.clear()

    def drop(self, terms: tuple[Repulsion, ...]) -> None:
        """Take terms out of force."""
        if terms:
            self._terms = +(self._terms - Counter(terms))
            self._answers.clear()

    def keep_away(self, namespace: str, labels: tuple[tuple[str, str], ...]) -> bool:
        """Return whether any term in force may keep such a pod from some node."""
        key = (namespace, labels)
        if key not in self._answers:
            self._answers[key] = any(reaches(term, namespace, dict(labels)) for term in self._terms)
        return self._answers[key]
