"""Detects pods that exceed a limit on their size."""

from collections.abc import Iterator
from typing import NamedTuple

from pilotage.model import limits
from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import Affinity, PodAffinity, PodAffinityTerm
from pilotage.model.selectors import LabelSelector, NodeSelectorTerm


class Excess(NamedTuple):
    """An exceeded limit of a pod."""

    number: int
    what: str
    most: int

    def __str__(self) -> str:
        """Return the message for the pod's owner."""
        return f"the pod has {self.number:,} {self.what}, and at most {self.most:,} are allowed"


def excess_of(pod: Pod) -> Excess | None:
    """Return the first limit that a pod exceeds, or None."""
    found: Excess | None = pod.shape.remember("excess", _excess_of_shape)
    if found is not None:
        return found
    if len(pod.labels) > limits.MOST_LABELS:
        return Excess(len(pod.labels), "labels", limits.MOST_LABELS)
    owners = len(pod.metadata.owner_references)
    return Excess(owners, "owners", limits.MOST_OWNERS) if owners > limits.MOST_OWNERS else None


def _excess_of_shape(shape: PodShape) -> Excess | None:
    # The order matters: later counts iterate over lists that earlier ones found to be short.
    return next((count for count in _counts(shape) if count.number > count.most), None)


def _counts(shape: PodShape) -> Iterator[Excess]:
    spec = shape.spec
    containers = len(spec.containers) + len(spec.init_containers) + len(spec.ephemeral_containers)
    yield Excess(containers, "containers", limits.MOST_CONTAINERS)
    yield Excess(len(shape.requests), "resources in its requests", limits.MOST_RESOURCES)
    yield Excess(len(shape.host_ports), "host ports", limits.MOST_HOST_PORTS)
    volumes = sum(volume.has_known_source for volume in spec.volumes)
    yield Excess(volumes, "volumes that matter to scheduling", limits.MOST_VOLUMES)
    yield Excess(len(spec.resource_claims), "resource claims", limits.MOST_CLAIMS)
    yield Excess(len(spec.tolerations), "tolerations", limits.MOST_TOLERATIONS)
    yield Excess(len(spec.topology_spread_constraints), "topology spread constraints", limits.MOST_SPREADS)
    yield from _node_counts(shape)
    yield from _pod_counts(shape)
    yield Excess(len(shape.key), "bytes of scheduling requirements", limits.MOST_BYTES)


def _node_counts(shape: PodShape) -> Iterator[Excess]:
    spec, what = shape.spec, "conditions on nodes in nodeSelector and node affinity"
    keys, terms = len(spec.node_selector or ()), _node_terms(spec.affinity or Affinity())
    yield Excess(keys + len(terms), what, limits.MOST_NODE_CONDITIONS)
    conditions = [each for term in terms for each in (*term.match_expressions, *term.match_fields)]
    yield Excess(keys + len(conditions), what, limits.MOST_NODE_CONDITIONS)
    values = sum(len(each.values) for each in conditions)
    yield Excess(values, "values in its node affinity", limits.MOST_NODE_VALUES)


def _node_terms(affinity: Affinity) -> list[NodeSelectorTerm]:
    wanted = affinity.node_affinity
    if wanted is None:
        return []
    required = wanted.required.node_selector_terms if wanted.required is not None else ()
    return [*required, *(each.preference for each in wanted.preferred or ())]


def _pod_counts(shape: PodShape) -> Iterator[Excess]:
    yield from _term_counts(shape)
    spreads = shape.spec.topology_spread_constraints
    conditions = sum(len(each.match_label_keys) + selector_size(each.label_selector) for each in spreads)
    yield Excess(conditions, "conditions and values in its topology spread constraints", limits.MOST_POD_CONDITIONS)


def has_too_many_terms(shape: PodShape) -> bool:
    """Return whether a pod has more affinity terms than can be evaluated for each other pod."""
    return shape.remember("too many terms", lambda _: any(each.number > each.most for each in _term_counts(shape)))


def _term_counts(shape: PodShape) -> Iterator[Excess]:
    affinity = shape.spec.affinity or Affinity()
    rules = [each for each in (affinity.pod_affinity, affinity.pod_anti_affinity) if each is not None]
    number = sum(len(each.required) + len(each.preferred) for each in rules)
    yield Excess(number, "terms of pod affinity and anti-affinity", limits.MOST_POD_TERMS)
    if number <= limits.MOST_POD_TERMS:
        conditions = sum(_breadth(term) for each in rules for term in _terms(each))
        yield Excess(conditions, "namespaces, conditions and values in its pod affinity", limits.MOST_POD_CONDITIONS)


def _terms(rules: PodAffinity) -> list[PodAffinityTerm]:
    return [*rules.required, *(each.pod_affinity_term for each in rules.preferred)]


def _breadth(term: PodAffinityTerm) -> int:
    return len(term.namespaces) + selector_size(term.namespace_selector) + selector_size(term.label_selector)


def selector_size(selector: LabelSelector | None) -> int:
    """Return how many conditions and values a selector has."""
    if selector is None:
        return 0
    expressions = selector.match_expressions
    return len(selector.match_labels) + len(expressions) + sum(len(each.values) for each in expressions)
