"""Which nodes a pod selects, and which taints it tolerates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from auditor.demand import Manifest

HARD_EFFECTS = ("NoSchedule", "NoExecute")
WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """A pod's toleration of some taints."""

    key: str
    operator: str
    value: str
    effect: str


class Requirement(NamedTuple):
    """One line of a selector."""

    key: str
    operator: str
    values: tuple[str, ...]


class Term(NamedTuple):
    """Requirements that must all hold: on labels and on fields of the node."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod's requirements on the node object itself; `terms` is None where any node will do."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def placement_of(spec: Manifest) -> Placement:
    """Return the placement rules of a pod spec."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return Placement(
        selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        terms=None if required is None else tuple(term_of(t) for t in required.get("nodeSelectorTerms") or ()),
        tolerations=tuple(toleration_of(t) for t in spec.get("tolerations") or ()),
    )


def toleration_of(raw: Manifest) -> Toleration:
    """Return one toleration with its defaults filled in."""
    return Toleration(raw.get("key", ""), raw.get("operator") or "Equal", raw.get("value", ""), raw.get("effect", ""))


def term_of(raw: Manifest) -> Term:
    """Return one node selector term."""
    return Term(requirements(raw, "matchExpressions"), requirements(raw, "matchFields"))


def requirements(raw: Manifest, key: str) -> tuple[Requirement, ...]:
    """Return the requirements listed under one key."""
    return tuple(Requirement(r["key"], r["operator"], tuple(r.get("values") or ())) for r in raw.get(key) or ())


def allows(placement: Placement, name: str, labels: Mapping[str, str]) -> bool:
    """Return whether a node of this name and these labels is one the pod may run on."""
    if any(labels.get(key) != value for key, value in placement.selector):
        return False
    return placement.terms is None or any(term_holds(term, name, labels) for term in placement.terms)


def term_holds(term: Term, name: str, labels: Mapping[str, str]) -> bool:
    """Return whether every requirement of a term holds; a term without any holds nowhere."""
    if not term.labels and not term.fields:
        return False
    if not all(holds(requirement, labels) for requirement in term.labels):
        return False
    return all(field_holds(requirement, name) for requirement in term.fields)


def field_holds(requirement: Requirement, name: str) -> bool:
    """Return whether a requirement on a field holds; Kubernetes knows metadata.name, In and NotIn, and one value."""
    if requirement.operator not in ("In", "NotIn") or len(requirement.values) != 1:
        return False
    actual = name if requirement.key == "metadata.name" else ""
    return (actual == requirement.values[0]) is (requirement.operator == "In")


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Return whether a requirement holds on labels; one that Kubernetes would refuse to parse never does."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return bool(requirement.values) and value not in requirement.values
        case "Exists":
            return value is not None and not requirement.values
        case "DoesNotExist":
            return value is None and not requirement.values
        case "Gt" | "Lt":
            return compares(requirement, value)
        case _:
            return False


def compares(requirement: Requirement, value: str | None) -> bool:
    """Return whether a label is a number strictly above or below the one asked for."""
    numbers = [value or "", *requirement.values]
    # Python reads more as a number than Go does: "1_0", for one.
    if len(numbers) != 2 or not all(WHOLE.fullmatch(number) for number in numbers):
        return False
    actual, bound = map(int, numbers)
    return actual > bound if requirement.operator == "Gt" else actual < bound


def endures(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Return whether the taint is no obstacle to a pod with these tolerations."""
    return taint.effect not in HARD_EFFECTS or any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether one toleration covers the taint."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator == "Equal" and toleration.value == taint.value)
