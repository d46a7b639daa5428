"""A pod's spread constraints, ready for counting."""

from collections.abc import Iterable
from typing import NamedTuple

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ids
from pilotage.framework.api.pods import PodQuery
from pilotage.model.pod import Pod, PodShape
from pilotage.model.pod_spec import SpreadConstraint
from pilotage.model.selectors import NOTHING, LabelMatcher, Labels, compile_label_selector

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
HONOR = "Honor"
HOSTNAME = "kubernetes.io/hostname"


class Spread(NamedTuple):
    """The maximum skew of the selected pods over the domains of a topology key, and the eligible nodes."""

    topology_key: str
    max_skew: int
    selector: LabelMatcher
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def matches_among(self, pods: Iterable[Pod], namespace: str) -> int:
        """Return how many of these pods are of the namespace, match and are not terminating."""
        if self.selector.empty:
            return 0  # although an empty selector matches every pod: the same as in kube-scheduler
        return sum(
            pod.namespace == namespace and not pod.is_terminating and self.selector.matches(pod.labels) for pod in pods
        )


Spreads = tuple[Spread, ...]


def spreads_of(pod: Pod, action: str) -> Spreads:
    """Return a pod's own constraints of one kind; InvalidSelector if one of them is invalid."""
    keys = pod.shape.remember("labels that spread constraints take over", _match_label_keys)
    labels = {key: pod.labels[key] for key in keys if key in pod.labels}
    question = "spread constraints", action, tuple(labels.items())
    return pod.shape.remember(question, lambda shape: _own_spreads(shape, action, labels))


def default_spread(constraint: SpreadConstraint) -> Spread:
    """Return a default constraint; its selector is determined for each pod."""
    return _spread(constraint, NOTHING)


def _match_label_keys(shape: PodShape) -> tuple[str, ...]:
    constraints = shape.spec.topology_spread_constraints
    return tuple(dict.fromkeys(key for each in constraints for key in each.match_label_keys))


def _own_spreads(shape: PodShape, action: str, labels: Labels) -> Spreads:
    constraints = shape.spec.topology_spread_constraints
    return tuple(_own(each, labels) for each in constraints if each.when_unsatisfiable == action)


def _own(constraint: SpreadConstraint, labels: Labels) -> Spread:
    selector = compile_label_selector(constraint.label_selector)
    taken = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    return _spread(constraint, with_labels(selector, taken) if taken else selector)


def _spread(constraint: SpreadConstraint, selector: LabelMatcher) -> Spread:
    return Spread(
        constraint.topology_key,
        constraint.max_skew,
        selector,
        1 if constraint.min_domains is None else constraint.min_domains,
        constraint.node_affinity_policy in (None, HONOR),
        constraint.node_taints_policy == HONOR,
    )


def with_labels(selector: LabelMatcher, labels: Labels) -> LabelMatcher:
    """Return a selector that also requires exact labels; one that matches nothing is returned unchanged."""
    if selector.requirements is None:
        return selector
    return LabelMatcher(tuple(sorted({*selector.requirements, *((key, "In", (labels[key],)) for key in labels)})))


def matching_pods(cycle: Cycle, namespace: str, selector: LabelMatcher) -> Ids | None:
    """Return the number of matching pods on each node, by slot; None if there are none."""
    if not selector.requirements:
        return None
    return cycle.placed.counts(PodQuery(((frozenset((namespace,)), selector.requirements),), without_terminating=True))
