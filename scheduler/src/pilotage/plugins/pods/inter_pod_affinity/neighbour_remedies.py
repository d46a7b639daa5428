"""Remedies for inter-pod affinity: moving conflicting pods, or turning a requirement into a preference."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.neighbours import OwnTerm, OwnTerms, namespace_labels
from pilotage.framework.api.node_changes import freed, movable
from pilotage.framework.api.nodes import ABSENT, NodeInfo, Nodes
from pilotage.framework.api.pod_changes import plain, with_spec
from pilotage.framework.api.pods import TermKind
from pilotage.framework.api.remedies import Change, Remedy
from pilotage.framework.api.spreading import HOSTNAME
from pilotage.model.affinity import carried_terms
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Affinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from pilotage.plugins.pods.inter_pod_affinity.neighbour_remarks import in_words

ANTI = TermKind.REQUIRED_ANTI_AFFINITY
MOST_NODES = 32  # of a domain that are checked
FEW_NODES = 8  # for which the conflicting pods are determined
MOST_PODS = 3
MOST_COUNTED = 2 * MOST_PODS  # a pod with anti-affinity in both directions counts twice
HEAVIEST = 100
LARGE = 2.0  # the size of a change that gives up a term
LISTS = {"pod_affinity": "podAffinity", "pod_anti_affinity": "podAntiAffinity"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Which = Literal["pod_affinity", "pod_anti_affinity"]


@dataclass(frozen=True)
class _InTheWay:
    """The pods that keep a pod off a node, and their domain."""

    node: NodeInfo
    key: str
    pods: list[Pod]


def who_leaves(cycle: Cycle, pod: Pod, own: OwnTerms, nodes: Nodes) -> Iterator[Remedy]:
    """Yield the remedy of moving the conflicting pods, for the domain with the fewest of them."""
    found = []
    for place in _fewest_conflicts(cycle, pod, own, nodes):
        there = _in_the_way(cycle, pod, own, nodes[place])
        if there is not None:
            found.append(there)
    if found:
        best = min(found, key=lambda each: (len(each.pods), max(other.priority for other in each.pods), each.node.name))
        remedy = freed(best.node, best.pods)
        if best.key != HOSTNAME:
            domain = best.node.labels.get(best.key, "")
            more = {"key": best.key.rpartition("/")[2], "domain": domain}
            remedy = replace(remedy, words="move {pods} out of {key} {domain}", values={**remedy.values, **more})
        yield replace(remedy, example=best.node.name)


def softer(pod: Pod, which: Which, terms: tuple[OwnTerm, ...], cycle: Cycle) -> Iterator[Remedy]:
    """Yield the remedy of making a required term preferred, for each term; affinity that no pod meets comes first."""
    affinity = pod.spec.affinity or Affinity()
    given: PodAffinity = getattr(affinity, which) or PodAffinity()
    for index, term in enumerate(given.required):
        unmatched = index < len(terms) and not cycle.placed.counts(terms[index].query).any()
        yield _softened(pod, affinity, which, index, term, unmatched=unmatched and which == "pod_affinity")


def _softened(
    pod: Pod, affinity: Affinity, which: Which, index: int, term: PodAffinityTerm, *, unmatched: bool
) -> Remedy:
    given: PodAffinity = getattr(affinity, which)
    required = (*given.required[:index], *given.required[index + 1 :])
    preferred = (*given.preferred, WeightedPodAffinityTerm(HEAVIEST, term))
    changed = msgspec.structs.replace(given, required=required, preferred=preferred)
    patch: dict[str, Any] = {REQUIRED: plain(required) or None, PREFERRED: plain(preferred)}
    change = with_spec(
        pod,
        {"affinity": {LISTS[which]: patch}},
        affinity=msgspec.structs.replace(affinity, **{which: changed}),
    )
    near = "near" if which == "pod_affinity" else "away from"
    return Remedy(
        code="softenAffinity" if which == "pod_affinity" else "softenAntiAffinity",
        actor="owner",
        words=f"prefer to be {near} {{selector}} instead of requiring it" + (" (no pod has these labels)" * unmatched),
        values={"selector": in_words(term.label_selector), "key": term.topology_key},
        changes=(Change(f"spec.affinity.{LISTS[which]}.{REQUIRED}[{index}]", "required", "preferred"),),
        size=LARGE - 0.5 * unmatched,
        target=change.target,
        patch=change.patch,
        difference=change.difference,
    )


def _fewest_conflicts(cycle: Cycle, pod: Pod, own: OwnTerms, nodes: Nodes) -> list[int]:
    """Return the indices of a few nodes whose domains contain only a few conflicting pods."""
    total = np.zeros(len(nodes), np.int64)
    shunned = [(term.topology_key, cycle.placed.counts(term.query)) for term in own.required_anti]
    shunning = [(each.topology_key, each.counts) for each in cycle.placed.terms_about(pod, ANTI)]
    for key, counts in (*shunned, *shunning):
        if cycle.nodes.has_label(key):
            ids = cycle.nodes.label_ids(key)
            by_domain = np.bincount(ids, counts)
            by_domain[ABSENT] = 0
            total += by_domain[nodes.label_ids(key)].astype(np.int64)
    few = np.flatnonzero((total > 0) & (total <= MOST_COUNTED))
    found: list[int] = few[np.argsort(total[few], kind="stable")][:FEW_NODES].tolist()
    return found


def _in_the_way(cycle: Cycle, pod: Pod, own: OwnTerms, info: NodeInfo) -> _InTheWay | None:
    """Return the pods that keep the pod off a node; None if there are too many, or some cannot be moved."""
    labels = namespace_labels(cycle.objects, pod.namespace)
    found: dict[str, Pod] = {}
    keys: list[str] = []
    for term in own.required_anti:
        for there in _domain(cycle.nodes, term.topology_key, info, cycle.placed.counts(term.query)):
            found |= {other.uid: other for other in there.pods.values() if term.matches(other)}
            keys.append(term.topology_key)
    for carried in cycle.placed.terms_about(pod, ANTI):
        for there in _domain(cycle.nodes, carried.topology_key, info, carried.counts):
            keys.append(carried.topology_key)
            for other in there.pods.values():
                terms = carried_terms(other, there.labels).required_anti
                if any(each.topology_key == carried.topology_key and each.matches(pod, labels) for each in terms):
                    found[other.uid] = other
        if len(found) > MOST_PODS:
            return None
    holders = [cycle.nodes.find(other.node_name) for other in found.values()]
    can_leave = {other.uid for holder in holders if holder is not None for other in movable(holder)}
    if not found or not found.keys() <= can_leave:
        return None
    return _InTheWay(info, keys[0], list(found.values()))


def _domain(nodes: Nodes, key: str, info: NodeInfo, counts: Any) -> list[NodeInfo]:
    """Return the nodes in the same domain with any of the counted pods."""
    ids = nodes.label_ids(key)
    if ids[info.slot] == ABSENT:
        return []
    slots = np.flatnonzero((ids == ids[info.slot]) & (counts > 0))[:MOST_NODES]
    return [nodes[slot] for slot in slots.tolist()]
