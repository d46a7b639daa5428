"""What a pod could ask of its node instead, and the labels with which a node would do."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any

import msgspec
import numpy as np

from pilotage.config.suggestions import near_of_many
from pilotage.framework.api.node_changes import node_remedy, with_facts
from pilotage.framework.api.node_matching import match_required
from pilotage.framework.api.nodes import ABSENT, Bools, Ints, NodeInfo, Nodes
from pilotage.framework.api.pod_changes import PodChange, plain, with_spec
from pilotage.framework.api.remedies import Change, NodeName, Remedy, Value
from pilotage.framework.api.spreading import HOSTNAME
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Affinity, NodeAffinity
from pilotage.model.selectors import (
    NAME_FIELD,
    TESTS,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    RequiredNodeAffinity,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
MOST_CONDITIONS = 24  # up to which each of them is left out in turn
MOST_NODES = 32  # whose labels are considered
MOST_NAMES = 4  # of nodes that do not exist, for which a similar one is looked up
# What nodes report about themselves; another node cannot simply be given such a label.
FACTS = ("kubernetes.io/", "k8s.io/")
OF_PEOPLE = ("node-role.kubernetes.io/", "node.kubernetes.io/exclude")


@dataclass(frozen=True)
class _Other:
    """Something else to ask for, and on which of the nodes it would do."""

    remedy: Remedy
    opened: Bools


class _Masks:
    """For each condition of a pod the nodes that do not meet it: each is evaluated once, and alone."""

    def __init__(self, pod: Pod, nodes: Nodes) -> None:
        self.nodes = nodes
        self.labels = {
            key: ~match_required(RequiredNodeAffinity({key: value}, None), nodes)
            for key, value in (pod.spec.node_selector or {}).items()
        }
        self.terms = [[_unmet(part, nodes) for part in _parts(term)] for term in _terms(pod)]
        self._unmet_labels = self._count(list(self.labels.values()))
        counts = [self._count(term) for term in self.terms]
        self._terms_hold = reduce(or_, (count == 0 for count in counts)) if counts else np.ones(len(nodes), np.bool_)
        self._counts = counts

    def without_label(self, key: str) -> Bools:
        """Return which nodes meet everything but a label of the nodeSelector."""
        found: Bools = (self._unmet_labels == self.labels[key]) & self._terms_hold
        return found

    def without(self, index: int, place: int) -> Bools:
        """Return which nodes meet everything but one condition of a term."""
        found: Bools = (self._counts[index] == self.terms[index][place]) & (self._unmet_labels == 0)
        return found

    def without_terms(self) -> Bools:
        """Return which nodes have the labels of the nodeSelector."""
        found: Bools = self._unmet_labels == 0
        return found

    def _count(self, unmet: list[Bools]) -> Ints:
        return sum((mask.astype(np.int64) for mask in unmet), np.zeros(len(self.nodes), np.int64))


def _unmet(part: NodeSelectorTerm, nodes: Nodes) -> Bools:
    return ~match_required(RequiredNodeAffinity(None, NodeSelector((part,))), nodes)


def _parts(term: NodeSelectorTerm) -> list[NodeSelectorTerm]:
    """Return each condition of a term as a term of its own."""
    expressions = [NodeSelectorTerm(match_expressions=(each,)) for each in term.match_expressions]
    return expressions + [NodeSelectorTerm(match_fields=(each,)) for each in term.match_fields]


def selector_remedies(pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
    """Yield what a pod can ask for instead, the change that opens most nodes first; then labels for a node."""
    number = len(pod.spec.node_selector or ()) + sum(len(_parts(term)) for term in _terms(pod))
    if number > MOST_CONDITIONS:
        yield _nothing_asked(pod, number)
        return
    masks = _Masks(pod, nodes)
    found = [*_other_labels(pod, nodes, masks), *_other_terms(pod, masks)]
    found += () if found else _no_terms(pod, masks)
    found.sort(key=lambda each: (each.remedy.size, -int(np.count_nonzero(each.opened))))
    yield from (each.remedy for each in found[:3])
    yield from _labelled(pod, nodes)


def _nothing_asked(pod: Pod, number: int) -> Remedy:
    """Return a pod without any condition on its node: it has too many to leave them out one by one."""
    affinity = pod.spec.affinity or Affinity()
    wanted = msgspec.structs.replace(affinity.node_affinity or NodeAffinity(), required=None)
    change = with_spec(
        pod,
        {"nodeSelector": None, "affinity": {"nodeAffinity": {REQUIRED: None}}},
        node_selector=None,
        affinity=msgspec.structs.replace(affinity, node_affinity=wanted),
    )
    told = f"{number} conditions"
    words = "remove the nodeSelector and the required node affinity (they have {from})"
    return _owner("dropAffinity", words, change, told, None, _PATH, 3.0)


def name_remedies(pod: Pod, wanted: Iterable[str], nodes: Nodes) -> Iterator[Remedy]:
    """Yield the name of an existing node that is similar to one that the pod asks for by metadata.name."""
    names: frozenset[str] = frozenset()
    for name in islice(wanted, MOST_NAMES):
        names = names or frozenset(info.name for info in nodes)
        if name not in names and (other := near_of_many(name, names)):
            change = _with_terms(pod, tuple(_named(term, name, other) for term in _terms(pod)))
            yield _owner("otherNode", "ask for {to} instead of {from}", change, name, other, _PATH, 0.5)


_PATH = f"spec.affinity.nodeAffinity.{REQUIRED}"


def _other_labels(pod: Pod, nodes: Nodes, masks: _Masks) -> Iterator[_Other]:
    selector = pod.spec.node_selector or {}
    for key, value in selector.items():
        rest = {name: each for name, each in selector.items() if name != key}
        opened = masks.without_label(key)
        if not opened.any():
            continue
        path = f"spec.nodeSelector.{key}"
        if (other := _value_instead(nodes, opened, key, value)) is not None:
            change = with_spec(pod, {"nodeSelector": {key: other}}, node_selector={**rest, key: other})
            words = "ask for {key}={to} instead of {from}"
            shown = NodeName(other) if key == HOSTNAME else other
            remedy = _owner("otherLabel", words, change, value, shown, path, 0.5, key=key)
            yield _Other(remedy, opened & (nodes.label_ids(key) == nodes.label_id(key, other)))
        change = with_spec(pod, {"nodeSelector": {key: None}}, node_selector=rest or None)
        remedy = _owner(
            "dropLabel", "remove {key}={from} from the nodeSelector", change, value, None, path, 1.0, key=key
        )
        yield _Other(remedy, opened)


def _value_instead(nodes: Nodes, opened: Bools, key: str, value: str) -> str | None:
    """Return a similar value that one of these nodes has, or else the one that most of them have."""
    ids = nodes.label_ids(key)[opened]
    values = nodes.label_values(key)
    numbers = Counter(values[each] for each in ids[ids != ABSENT].tolist())
    numbers.pop(value, None)
    if not numbers:
        return None
    return near_of_many(value, numbers) or numbers.most_common(1)[0][0]


def _other_terms(pod: Pod, masks: _Masks) -> Iterator[_Other]:
    terms = _terms(pod)
    for index, term in enumerate(terms):
        for place, (requirement, left) in enumerate(_without_one(term)):
            others = (*terms[:index], *(() if left.empty else (left,)), *terms[index + 1 :])
            opened = masks.without(index, place)
            if opened.any() and (not left.empty or len(terms) == 1):
                told = _told(requirement)
                words = "remove {from} from the node affinity"
                yield _Other(_owner("dropTerm", words, _with_terms(pod, others), told, None, _PATH, 1.0), opened)


def _no_terms(pod: Pod, masks: _Masks) -> Iterator[_Other]:
    """Yield the pod without its terms, if there are several and no single condition of them is the obstacle."""
    opened = masks.without_terms()
    if len(_terms(pod)) > 1 and opened.any():
        told = f"{len(_terms(pod))} terms"
        words = "remove the required node affinity (it has {from})"
        yield _Other(_owner("dropAffinity", words, _with_terms(pod, ()), told, None, _PATH, 2.0), opened)


def _without_one(term: NodeSelectorTerm) -> Iterator[tuple[NodeSelectorRequirement, NodeSelectorTerm]]:
    for field in ("match_expressions", "match_fields"):
        conditions: tuple[NodeSelectorRequirement, ...] = getattr(term, field)
        for place, condition in enumerate(conditions):
            left = (*conditions[:place], *conditions[place + 1 :])
            yield condition, msgspec.structs.replace(term, **{field: left})


def _with_terms(pod: Pod, terms: tuple[NodeSelectorTerm, ...]) -> PodChange:
    affinity = pod.spec.affinity or Affinity()
    required = NodeSelector(terms) if terms else None
    near_nodes = msgspec.structs.replace(affinity.node_affinity or NodeAffinity(), required=required)
    patch = None if required is None else plain(required)
    return with_spec(
        pod,
        {"affinity": {"nodeAffinity": {REQUIRED: patch}}},
        affinity=msgspec.structs.replace(affinity, node_affinity=near_nodes),
    )


def _named(term: NodeSelectorTerm, name: str, other: str) -> NodeSelectorTerm:
    fields = tuple(
        msgspec.structs.replace(field, values=tuple(other if value == name else value for value in field.values))
        if field.key == NAME_FIELD
        else field
        for field in term.match_fields
    )
    return msgspec.structs.replace(term, match_fields=fields)


def _owner(
    code: str, words: str, change: PodChange, before: str, after: str | None, path: str, size: float, **values: Value
) -> Remedy:
    return Remedy(
        code=code,
        actor="owner",
        words=words,
        values={"from": before, **({} if after is None else {"to": after}), **values},
        changes=(Change(path, before, after),),
        size=size,
        target=change.target,
        patch=change.patch,
        difference=change.difference,
    )


def _labelled(pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
    """Yield the labels that a node would need, if an administrator may set them."""
    infos = [nodes[place] for place in range(min(MOST_NODES, len(nodes)))]
    missing = [(info, needed) for info in infos if (needed := _labels_for(pod, info))]
    if not missing:
        return
    info, needed = min(missing, key=lambda each: (len(each[1]), each[0].name))
    labels: dict[str, Any] = {**info.labels, **needed}
    changed = with_facts(info.node, labels={key: value for key, value in labels.items() if value is not None})
    told = tuple(key if value is None else f"{key}={value}" for key, value in needed.items())
    words = "label {node} with {labels}" if all(needed.values()) else "change these labels of {node}: {labels}"
    changes = [Change(f"metadata.labels.{key}", info.labels.get(key), value) for key, value in needed.items()]
    yield node_remedy("labelNode", words, info.node, changed, {"metadata": {"labels": needed}}, *changes, labels=told)


def _labels_for(pod: Pod, info: NodeInfo) -> dict[str, str | None]:
    """Return the labels that a node would need, None for one to remove; {} if no labels would do."""
    selector = pod.spec.node_selector or {}
    needed: dict[str, str | None] = {key: value for key, value in selector.items() if info.labels.get(key) != value}
    terms = _terms(pod)
    if terms:
        of_terms = [found for term in terms if (found := _labels_of(term, info)) is not None]
        if not of_terms:
            return {}
        of_terms.sort(key=len)
        needed |= of_terms[0]
    return {} if any(_is_a_fact(key) for key in needed) else needed


def _labels_of(term: NodeSelectorTerm, info: NodeInfo) -> dict[str, str | None] | None:
    if term.empty or term.match_fields:
        return None
    needed: dict[str, str | None] = {}
    for each in term.match_expressions:
        if TESTS[each.operator](each.key, each.values)(info.labels):
            continue
        if each.operator == "In":
            needed[each.key] = each.values[0]
        elif each.operator == "Exists":
            needed[each.key] = "true"
        elif each.operator in ("NotIn", "DoesNotExist"):
            needed[each.key] = None
        else:
            return None
    return needed


def _is_a_fact(key: str) -> bool:
    prefix = key.partition("/")[0] + "/" if "/" in key else ""
    return prefix.endswith(FACTS) and not key.startswith(OF_PEOPLE)


def _told(requirement: NodeSelectorRequirement) -> str:
    values = ", ".join(requirement.values[:3]) + (", ..." if len(requirement.values) > 3 else "")
    told = f"{requirement.key} {requirement.operator}"
    return f"{told} ({values})" if values else told


def _required(pod: Pod) -> NodeSelector | None:
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    return affinity.required if affinity else None


def _terms(pod: Pod) -> tuple[NodeSelectorTerm, ...]:
    required = _required(pod)
    return required.node_selector_terms if required is not None else ()
