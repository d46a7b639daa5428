"""NodeAffinity: node affinity of pods and profiles."""

from collections.abc import Iterator
from functools import cached_property

import msgspec
from pydantic import Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, dotted
from pilotage.config.types import Int32, Item, Section
from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.node_matching import match_node_selector, match_required, required_of, score_preferences
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter, PreScore, Score
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.scoring import by_maximum
from pilotage.framework.api.verdicts import (
    SKIP_SHAPE,
    Filtered,
    OnlyNodes,
    PluginFailed,
    PreFiltered,
    Rejection,
    Skip,
    Verdicts,
)
from pilotage.model import pod_spec
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodShape
from pilotage.model.selector_mismatch import mismatch, selector_mismatch
from pilotage.model.selectors import (
    InvalidSelector,
    NodeMatcher,
    NodeSelectorTerm,
    Preferences,
    compile_node_selector,
    compile_preferences,
    term_complaints,
)
from pilotage.plugins.nodes.node_affinity.selector_remedies import name_remedies, selector_remedies

CONFLICT = Rejection("pod affinity terms conflict", preemption_helps=False)
NOT_ADDED = Rejection("node(s) didn't match scheduler-enforced node affinity", preemption_helps=False)
NOT_WANTED = Rejection("node(s) didn't match Pod's node affinity/selector", preemption_helps=False)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _is_empty(value: object) -> bool:
    return not value


def _is_unset(value: object) -> bool:
    return value is None


class Requirement(Section):
    """One condition on a label or field of a node."""

    key: StrictStr = ""
    operator: StrictStr = ""
    values: tuple[Item, ...] | None = Field(default=None, exclude_if=_is_empty)


class Term(Section):
    """Conditions that must all hold."""

    match_expressions: tuple[Requirement, ...] = Field(default=(), exclude_if=_is_empty)
    match_fields: tuple[Requirement, ...] = Field(default=(), exclude_if=_is_empty)

    def complaints(self, prefix: str) -> Iterator[str]:
        """Yield the errors in the conditions."""
        term = msgspec.convert(self.model_dump(by_alias=True), NodeSelectorTerm)
        for complaint in term_complaints(term, prefix):
            yield self._with_empty_lists(complaint, prefix)

    def _with_empty_lists(self, complaint: str, prefix: str) -> str:
        # A file can contain an empty list, and messages show it; the API, like the model, drops it.
        for name, conditions in (("matchExpressions", self.match_expressions), ("matchFields", self.match_fields)):
            for index, condition in enumerate(conditions):
                if condition.values == ():
                    where = f"{prefix}{name}[{index}].values: Invalid value: "
                    complaint = complaint.replace(f"{where}null: ", f"{where}[]: ")
        return complaint


class Selector(Section):
    """Terms, one of which must match."""

    node_selector_terms: tuple[Term, ...] | None = None  # kube-scheduler writes it even if it is absent


class PreferredTerm(Section):
    """A term with a weight."""

    weight: Int32 = 0
    preference: Term = Term()


class AddedAffinity(Section):
    """A node affinity for all pods of a profile."""

    required: Selector | None = Field(
        default=None, alias="requiredDuringSchedulingIgnoredDuringExecution", exclude_if=_is_unset
    )
    preferred: tuple[PreferredTerm, ...] = Field(
        default=(), alias="preferredDuringSchedulingIgnoredDuringExecution", exclude_if=_is_empty
    )


class NodeAffinity(PreFilter, Filter, PreScore, Score):
    """Keep pods on nodes that match their node selector and affinity, or the profile's, and score by preferences."""

    added_affinity: AddedAffinity | None = Field(default=None, exclude_if=_is_unset)

    caching = Caching(STATIC, per=SHAPE)
    retry_on = (Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, "came_to_match"),)
    normalize = by_maximum
    no_arguments = "args are not of type {}Args, got <nil>"

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the selectors of the added affinity."""
        return [
            Fault(Stage.VALIDATION, complaint, where)
            for where, term in self._added_terms((*at, "addedAffinity"))
            for complaint in term.complaints(f"{dotted(where)}.")
        ]

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Return the nodes that the pod's required terms name, if all of them name nodes."""
        affinity = _affinity(pod)
        required = affinity.required if affinity else None
        if required is None:
            nothing_asked = pod.spec.node_selector is None and self._added_selector is None
            return SKIP_SHAPE if nothing_asked else None
        names = required.names()
        if names is None:
            return None
        return OnlyNodes(names) if names else CONFLICT

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node that the profile or the pod does not select."""
        if self._added_selector is not None and not self._added_selector.matches(node.labels, node.name):
            return NOT_ADDED
        return None if required_of(pod).matches(node.labels, node.name) else NOT_WANTED

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes."""
        unwanted = ~match_required(required_of(pod), nodes)
        if self._added_selector is None:
            return Verdicts.where(unwanted, NOT_WANTED)
        return Verdicts.first_of((~match_node_selector(self._added_selector, nodes), NOT_ADDED), (unwanted, NOT_WANTED))

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return the first condition that the node does not meet, of the profile or of the pod."""
        added = "" if self._added_selector is None else selector_mismatch(self._added_selector, node.labels, node.name)
        return f"the profile {added}" if added else mismatch(required_of(pod), node.labels, node.name)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to change or remove a condition, or to label a node."""
        affinity = _affinity(pod)
        named = affinity.required.names() if affinity and affinity.required else None
        yield from name_remedies(pod, sorted(named or ()), cycle.nodes)
        yield from selector_remedies(pod, nodes)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Skip if neither the pod nor the profile has preferences."""
        affinity = _affinity(pod)
        if affinity is None or affinity.preferred is None:
            return SKIP_SHAPE if self._added_preferences is None else None
        try:
            _preferences(pod)
        except InvalidSelector as error:
            raise PluginFailed(str(error)) from error
        return None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the weight of all preferred terms that match the node."""
        added = self._added_preferences
        own = _preferences(pod).score(node.labels, node.name)
        return own if added is None else own + added.score(node.labels, node.name)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for all nodes."""
        own = score_preferences(_preferences(pod), nodes)
        return own if self._added_preferences is None else own + score_preferences(self._added_preferences, nodes)

    def came_to_match(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether the node matches now, and did not match before or is new."""
        if self._added_selector is not None and not self._added_selector.matches(new.labels, new.name):
            return False
        required = required_of(pod)
        return required.matches(new.labels, new.name) and (old is None or not required.matches(old.labels, old.name))

    @cached_property
    def _added(self) -> pod_spec.NodeAffinity:
        given = {} if self.added_affinity is None else self.added_affinity.model_dump(by_alias=True, exclude_none=True)
        return msgspec.convert(given, pod_spec.NodeAffinity)

    @cached_property
    def _added_selector(self) -> NodeMatcher | None:
        return None if self._added.required is None else compile_node_selector(self._added.required)

    @cached_property
    def _added_preferences(self) -> Preferences | None:
        return compile_preferences(self._added.preferred) if self._added.preferred else None

    def _added_terms(self, at: At) -> Iterator[tuple[At, Term]]:
        added = self.added_affinity or AddedAffinity()
        required = (added.required or Selector()).node_selector_terms or ()
        yield from (((*at, REQUIRED, "nodeSelectorTerms", index), term) for index, term in enumerate(required))
        for index, weighed in enumerate(added.preferred):
            if weighed.weight:  # one without effect is ignored
                yield (*at, PREFERRED, index), weighed.preference  # without "preference", as in Kubernetes


def _affinity(pod: Pod) -> pod_spec.NodeAffinity | None:
    return pod.spec.affinity.node_affinity if pod.spec.affinity else None


def _preferences(pod: Pod) -> Preferences:
    return pod.shape.remember(("NodeAffinity", "preferences"), _shape_preferences)


def _shape_preferences(shape: PodShape) -> Preferences:
    affinity = shape.spec.affinity and shape.spec.affinity.node_affinity
    return compile_preferences((affinity.preferred or ()) if affinity else ())
