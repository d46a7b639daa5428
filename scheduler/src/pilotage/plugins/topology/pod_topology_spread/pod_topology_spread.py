"""PodTopologySpread: spreads pods over topology domains."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, duplicate, forbidden, invalid, required, unsupported
from pilotage.config.resource_names import unqualified
from pilotage.config.types import Int32, Item, Section
from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import Filter, PreFilter, PreScore, Score
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.spreading import HARD, HOSTNAME, SOFT, Spreads, default_spread, spreads_of
from pilotage.framework.api.verdicts import (
    SKIP_KIND,
    SKIP_SHAPE,
    Filtered,
    PluginFailed,
    PreFiltered,
    Rejection,
    Skip,
    Verdicts,
)
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import SpreadConstraint
from pilotage.model.selectors import InvalidSelector
from pilotage.plugins.topology.pod_topology_spread.default_selectors import SOURCES, DefaultSelectors
from pilotage.plugins.topology.pod_topology_spread.domain_layout import Layouts
from pilotage.plugins.topology.pod_topology_spread.spread_counts import HardCounts, SoftCounts, rounded
from pilotage.plugins.topology.pod_topology_spread.spread_remedies import spread_remedies

REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = Rejection(f"{REASON} (missing required label)", preemption_helps=False)  # evictions cannot add a label
TOO_UNEVEN = Rejection(REASON)

SCORING = "PodTopologySpread score"  # the note for scoring; that for filtering has the plugin's name
SYSTEM, LIST = "System", "List"
SYSTEM_DEFAULTS = (
    SpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    SpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT),
)


class SelectorRequirement(Section):
    """One condition of a selector."""

    key: StrictStr = ""
    operator: StrictStr = ""
    values: tuple[Item, ...] = ()


class Selector(Section):
    """A selector, which is parsed only to report that it is not allowed."""

    match_labels: dict[StrictStr, Item] = Field(default_factory=dict)
    match_expressions: tuple[SelectorRequirement, ...] = ()


class DefaultConstraint(Section):
    """A constraint for pods without any; it selects the pods of the same services and controller."""

    max_skew: Int32 = 0
    topology_key: StrictStr = ""
    when_unsatisfiable: StrictStr = ""
    label_selector: Selector | None = Field(default=None, exclude_if=lambda given: given is None)
    min_domains: Int32 | None = Field(default=None, exclude_if=lambda given: given is None)
    node_affinity_policy: StrictStr | None = Field(default=None, exclude_if=lambda given: given is None)
    node_taints_policy: StrictStr | None = Field(default=None, exclude_if=lambda given: given is None)
    match_label_keys: tuple[Item, ...] = Field(default=(), exclude_if=lambda given: not given)

    def as_model(self) -> SpreadConstraint:
        """Return the constraint in the format of a pod's spec."""
        return SpreadConstraint(**{**dict(self), "label_selector": None})

    def faults(self, at: At) -> Iterator[Fault]:
        """Yield the errors in the constraint."""
        if self.max_skew <= 0:
            yield invalid((*at, "maxSkew"), self.max_skew, "not in valid range (0, inf)")
        if not self.topology_key:
            yield required((*at, "topologyKey"), "can not be empty")
        for wrong in unqualified(self.topology_key) if self.topology_key else ():
            yield invalid((*at, "topologyKey"), self.topology_key, wrong)
        if not self.when_unsatisfiable:
            yield required((*at, "whenUnsatisfiable"), "can not be empty")
        elif self.when_unsatisfiable not in (HARD, SOFT):
            yield unsupported((*at, "whenUnsatisfiable"), self.when_unsatisfiable, (HARD, SOFT))
        if self.label_selector is not None:
            yield forbidden(
                (*at, "labelSelector"), "constraint must not define a selector, as they deduced for each pod"
            )


class PodTopologySpread(PreFilter, Filter, PreScore, Score):
    """Spread pods over zones, nodes or other topology domains, as evenly as their constraints require."""

    default_constraints: tuple[DefaultConstraint, ...] = Field(default=(), exclude_if=lambda given: not given)
    defaulting_type: Annotated[StrictStr, AfterValidator(lambda given: given or SYSTEM)] = SYSTEM

    caching = Caching(CLUSTER)
    retry_on = (
        Retry(Resource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, "after_assigned_pod"),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION | Action.UPDATE_POD_LABEL, "after_target_pod"),
        Retry(
            Resource.NODE,
            Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
            "after_node",
        ),
    )
    reads = SOURCES

    def __post_init__(self) -> None:
        """Sort the default constraints by whenUnsatisfiable."""
        super().__post_init__()
        self._defaults: dict[str, Spreads] = {}  # by whenUnsatisfiable
        self._selectors = DefaultSelectors()
        self._layouts = Layouts()
        self._objects: Objects | None = None  # of the last cycle, for hints
        given = [each.as_model() for each in self.default_constraints]
        for each in SYSTEM_DEFAULTS if self.defaulting_type == SYSTEM else given:
            action = each.when_unsatisfiable
            self._defaults[action] = (*self._defaults.get(action, ()), default_spread(each))

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in arguments that have valid types."""
        return [*self._type_faults((*at, "defaultingType")), *self._constraint_faults((*at, "defaultConstraints"))]

    def _type_faults(self, at: At) -> Iterator[Fault]:
        if self.defaulting_type not in (SYSTEM, LIST):
            yield unsupported(at, self.defaulting_type, (SYSTEM, LIST))
        elif self.defaulting_type == SYSTEM and self.default_constraints:
            yield invalid(at, SYSTEM, "when .defaultConstraints are not empty", f"set it to {LIST}")

    def _constraint_faults(self, at: At) -> Iterator[Fault]:
        seen = set()
        for place, constraint in enumerate(self.default_constraints):
            yield from constraint.faults((*at, place))
            kind = constraint.topology_key, constraint.when_unsatisfiable
            if kind in seen:
                yield duplicate((*at, place), f"{{{', '.join(kind)}}}")
            seen.add(kind)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Count the pods that match each hard constraint in each domain."""
        self._objects = cycle.objects
        try:
            spreads = self._spreads(pod, HARD, cycle.objects)
        except InvalidSelector as error:
            text = f"get constraints from pod: obtaining pod's hard topology spread constraints: {error}"
            raise PluginFailed(text) from None
        if not spreads:
            by_shape = pod.shape.spec.topology_spread_constraints or HARD not in self._defaults
            return SKIP_SHAPE if by_shape else SKIP_KIND
        layout = self._layouts.of(cycle.nodes, pod.shape, spreads, complete=True, remit=cycle.remit)
        cycle.notes[self.name] = HardCounts.of(cycle, pod, spreads, layout)
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Add another pod."""
        if other.namespace == pod.namespace:
            cycle.notes[self.name].change(other, node, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Remove another pod."""
        if other.namespace == pod.namespace:
            cycle.notes[self.name].change(other, node, -1)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node whose domain would exceed the smallest one by more than maxSkew."""
        counts: HardCounts = cycle.notes[self.name]
        for place, spread in enumerate(counts.spreads):
            if spread.topology_key not in node.labels:
                return MISSING_LABEL
            if counts.skew(place, counts.layout.domain(place, node)) > spread.max_skew:
                return TOO_UNEVEN
        return None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes."""
        counts: HardCounts = cycle.notes[self.name]
        return Verdicts(counts.codes(nodes), (MISSING_LABEL, TOO_UNEVEN))

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return the numbers of pods that a constraint compares."""
        counts: HardCounts | None = cycle.notes.get(self.name)
        return "" if counts is None else counts.violation(node)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer a larger maxSkew, or to turn a requirement into a preference."""
        return spread_remedies(pod, cycle.notes[self.name], nodes)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Count the pods that match each soft constraint in the domains of the feasible nodes."""
        try:
            spreads = self._spreads(pod, SOFT, cycle.objects)
        except InvalidSelector as error:
            text = f"calculating preScoreState: obtaining pod's soft topology spread constraints: {error}"
            raise PluginFailed(text) from None
        if not spreads:
            return SKIP_KIND
        # Kubernetes' defaults spread over hostnames even if nodes have no zone.
        complete = bool(pod.shape.spec.topology_spread_constraints) or self.defaulting_type != SYSTEM
        layout = self._layouts.of(cycle.nodes, pod.shape, spreads, complete=complete, remit=cycle.remit)
        cycle.notes[SCORING] = SoftCounts(cycle, pod, spreads, layout, nodes)
        return None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Sum up the pods in the node's domains; topologies with more domains have a higher weight."""
        counts: SoftCounts = cycle.notes[SCORING]
        if counts.ignores(node):
            return 0
        total = 0.0
        for place, spread in enumerate(counts.spreads):
            if spread.topology_key not in node.labels:
                continue
            if spread.topology_key == HOSTNAME:
                number = spread.matches_among(node.pods.values(), pod.namespace)
            else:
                number = int(counts.sums[place][counts.layout.domain(place, node)])
            total += number * counts.weights[place] + (spread.max_skew - 1)
        whole = math.floor(total)
        return whole + (total - whole >= 0.5)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        counts: SoftCounts = cycle.notes[SCORING]
        scores = rounded(counts.scores(nodes))
        ignored = counts.ignored(nodes)
        if ignored is not None:
            scores[ignored] = 0
        return scores

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
        """Scale the fewest pods to the highest score; nodes without a topology key get 0."""
        ignored = cycle.notes[SCORING].ignored(nodes)
        scored = scores if ignored is None else scores[~ignored]
        smallest, largest = int(scored.min(initial=np.iinfo(np.int64).max)), int(scored.max(initial=0))
        if largest == 0:
            normalized = np.full_like(scores, MAX_SCORE)
        else:
            normalized = (largest + smallest - scores) * MAX_SCORE // largest
        if ignored is not None:
            normalized[ignored] = 0
        return normalized

    def after_assigned_pod(self, pod: Pod, event: Event, old: Pod | None, new: Pod | None) -> bool:
        """Return whether a pod that a hard constraint counts was added, deleted or changed."""
        for other in (new, old):
            if other is not None and not _counts_for(other, pod):
                return False
        spreads = self._hinted_spreads(pod)
        if spreads is None:
            return True
        if old is not None and new is not None:
            return _changes_a_match(spreads, old, new)
        changed = new or old
        return changed is not None and any(spread.selector.matches(changed.labels) for spread in spreads)

    def after_target_pod(self, pod: Pod, event: Event, old: Pod, new: Pod) -> bool:
        """Return whether the pod's tolerations have changed, if they matter, or whether it matches itself."""
        spreads = self._hinted_spreads(pod)
        if spreads is None:
            return True
        if old.spec.tolerations != new.spec.tolerations and any(spread.honors_taints for spread in spreads):
            return True
        return _changes_a_match(spreads, old, new)

    def after_node(self, pod: Pod, event: Event, old: Node | None, new: Node | None) -> bool:
        """Return whether a node with all topology keys was added, deleted, moved to another domain or retainted."""
        spreads = self._hinted_spreads(pod)
        if spreads is None:
            return True
        keys = [spread.topology_key for spread in spreads]
        had, has = (node is not None and all(key in node.labels for key in keys) for node in (old, new))
        if old is None or new is None:
            return had or has
        moved = any(old.labels.get(key, "") != new.labels.get(key, "") for key in keys)
        return had != has or (has and (moved or old.taints != new.taints))

    def _spreads(self, pod: Pod, action: str, objects: Objects) -> Spreads:
        if pod.shape.spec.topology_spread_constraints:
            return spreads_of(pod, action)
        defaults = self._defaults.get(action, ())
        if not defaults:
            return ()
        selector = self._selectors.of(objects, pod)
        return () if selector.empty else tuple(spread._replace(selector=selector) for spread in defaults)

    def _hinted_spreads(self, pod: Pod) -> Spreads | None:
        """Return the hard constraints of a pod outside of its cycle, or None if they are unknown."""
        try:
            if pod.shape.spec.topology_spread_constraints:
                return spreads_of(pod, HARD)
            return None if self._objects is None else self._spreads(pod, HARD, self._objects)
        except InvalidSelector:
            return None


def _counts_for(other: Pod, pod: Pod) -> bool:
    return bool(other.node_name or other.nominated_node) and other.namespace == pod.namespace


def _changes_a_match(spreads: Spreads, old: Pod, new: Pod) -> bool:
    return any(spread.selector.matches(old.labels) != spread.selector.matches(new.labels) for spread in spreads)
