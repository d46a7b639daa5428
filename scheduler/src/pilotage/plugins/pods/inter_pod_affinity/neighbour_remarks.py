"""Which rule of inter-pod affinity a node violates, for people."""

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.neighbours import DomainSums, OwnTerm
from pilotage.framework.api.nodes import ABSENT, Ids, NodeInfo
from pilotage.framework.api.pods import TermKind
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import PodAffinity
from pilotage.model.selectors import LabelSelector


def missing(pod: Pod, terms: tuple[OwnTerm, ...], wanted: DomainSums, node: NodeInfo) -> str:
    """Return the first term of the pod's affinity that no pod in the node's domain meets."""
    place = next((place for place, term in enumerate(terms) if not wanted.number(term.topology_key, node)), None)
    if place is None:
        return ""
    key = terms[place].topology_key
    if key not in node.labels:
        return f"no label {key}"
    # One pod must meet all terms; each topology key may have another one.
    return f"no pod with {_all_in_words(pod)} in {key}={node.labels[key]}"


def unwanted(cycle: Cycle, pod: Pod, terms: tuple[OwnTerm, ...], node: NodeInfo) -> str:
    """Return the first term of the pod's anti-affinity that a pod in the node's domain meets."""
    selectors = _selectors(pod, "pod_anti_affinity")
    for place, term in enumerate(terms):
        key = term.topology_key
        if _are_in_domain(cycle, key, cycle.placed.counts(term.query), node):
            who = in_words(selectors[place]) if place < len(selectors) else "matching labels"
            return f"a pod with {who} is in {key}={node.labels[key]}"
    return ""


def unwelcome(cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
    """Return the domain of the node in which a pod has anti-affinity to the pod."""
    for carried in cycle.placed.terms_about(pod, TermKind.REQUIRED_ANTI_AFFINITY):
        key = carried.topology_key
        if _are_in_domain(cycle, key, carried.counts, node):
            return f"a pod in {key}={node.labels[key]} has anti-affinity to it"
    return ""


def in_words(selector: LabelSelector | None) -> str:
    """Return a selector in kubectl's format; "any pod" if it selects all."""
    found = []
    for each in selector.requirements() if selector is not None else ():
        values = "|".join(each.values)
        signs = {"In": f"{each.key}={values}", "NotIn": f"{each.key}!={values}", "DoesNotExist": f"!{each.key}"}
        found.append(signs.get(each.operator, each.key))
    return ",".join(found) or "any pod"


def _are_in_domain(cycle: Cycle, key: str, counts: Ids, node: NodeInfo) -> bool:
    if not cycle.nodes.has_label(key):
        return False
    ids = cycle.nodes.label_ids(key)
    return ids[node.slot] != ABSENT and bool((counts[ids == ids[node.slot]] > 0).any())


def _all_in_words(pod: Pod) -> str:
    return " and ".join(dict.fromkeys(map(in_words, _selectors(pod, "pod_affinity"))))


def _selectors(pod: Pod, which: str) -> list[LabelSelector | None]:
    given: PodAffinity | None = getattr(pod.spec.affinity, which, None)
    return [] if given is None else [term.label_selector for term in given.required]
