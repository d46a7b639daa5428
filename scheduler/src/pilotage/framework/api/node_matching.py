"""Selectors over many nodes at once, equivalent to the compiled matchers for one node."""

from collections.abc import Callable
from functools import reduce
from operator import or_

import numpy as np

from pilotage.framework.api.nodes import ABSENT, Bools, Ids, Ints, Nodes
from pilotage.model.pod import Pod, PodShape
from pilotage.model.selectors import (
    COMPARISONS,
    NAME_FIELD,
    LabelKey,
    LabelMatcher,
    NodeMatcher,
    Preferences,
    RequiredNodeAffinity,
    RequirementKey,
    TermMatcher,
)

Values = tuple[str, ...]


def required_of(pod: Pod) -> RequiredNodeAffinity:
    """Return a pod's required node affinity; pods of one shape share it."""
    return pod.shape.remember("required node affinity", _required)


def _required(shape: PodShape) -> RequiredNodeAffinity:
    affinity = shape.spec.affinity and shape.spec.affinity.node_affinity
    return RequiredNodeAffinity(shape.spec.node_selector, affinity.required if affinity else None)


def match_labels(matcher: LabelMatcher, nodes: Nodes) -> Bools:
    """Return which nodes have labels that meet all requirements."""
    if matcher.requirements is None:
        return np.zeros(len(nodes), np.bool_)
    return _all_hold(matcher.requirements, nodes, _label_holds)


def match_node_selector(matcher: NodeMatcher, nodes: Nodes) -> Bools:
    """Return which nodes any term matches."""
    matches = [_term_matches(term, nodes) for term in matcher.terms]
    return reduce(or_, matches) if matches else np.zeros(len(nodes), np.bool_)


def match_required(required: RequiredNodeAffinity, nodes: Nodes) -> Bools:
    """Return which nodes meet both a pod's nodeSelector and its required terms."""
    if required.selector is None:
        return match_labels(required.labels, nodes)
    matches = match_node_selector(required.selector, nodes)
    return matches if required.labels.empty else matches & match_labels(required.labels, nodes)


def score_preferences(preferences: Preferences, nodes: Nodes) -> Ints:
    """Return for each node the sum of the weights of the terms that match it."""
    scores = np.zeros(len(nodes), np.int64)
    for weight, term in preferences.terms:
        scores += np.int64(weight) * _term_matches(term, nodes)
    return scores


def _term_matches(term: TermMatcher, nodes: Nodes) -> Bools:
    if not term.fields:
        return match_labels(term.expressions, nodes)
    by_name = _all_hold(term.fields, nodes, _field_holds)
    return by_name if term.expressions.empty else by_name & match_labels(term.expressions, nodes)


def _all_hold(requirements: LabelKey, nodes: Nodes, holds: Callable[[RequirementKey, Nodes], Bools]) -> Bools:
    if not requirements:
        return np.ones(len(nodes), np.bool_)
    held = holds(requirements[0], nodes)
    for requirement in requirements[1:]:
        if not held.any():
            break  # one key that no node has is enough, and a pod may require hundreds
        held &= holds(requirement, nodes)
    return held


def _label_holds(requirement: RequirementKey, nodes: Nodes) -> Bools:
    key, operator, values = requirement
    match operator:
        case "In":
            return _has_one_of(key, values, nodes)
        case "NotIn":
            return ~_has_one_of(key, values, nodes)
        case "Exists":
            return ~_equal(nodes.label_ids(key), ABSENT)
        case "DoesNotExist":
            return _equal(nodes.label_ids(key), ABSENT)
        case _:
            return _compares(requirement, nodes)


def _has_one_of(key: str, values: Values, nodes: Nodes) -> Bools:
    ids = nodes.label_ids(key)  # first, because this loads the label's values
    wanted = [found for value in values if (found := nodes.label_id(key, value)) != ABSENT]
    if len(wanted) == 1:
        return _equal(ids, wanted[0])
    if not wanted:
        return np.zeros(len(nodes), np.bool_)
    allowed = np.zeros(len(nodes.label_values(key)), np.bool_)
    allowed[wanted] = True
    return allowed[ids]


def _compares(requirement: RequirementKey, nodes: Nodes) -> Bools:
    key, operator, (bound,) = requirement
    numbers, are_numbers = nodes.label_numbers(key)
    compared: Bools = COMPARISONS[operator](numbers, int(bound)) & are_numbers
    return compared[nodes.label_ids(key)]


def _field_holds(requirement: RequirementKey, nodes: Nodes) -> Bools:
    field, operator, (value,) = requirement
    if field != NAME_FIELD:  # every other field reads as ""
        return np.full(len(nodes), (value == "") == (operator == "In"))
    named = nodes.find(value)
    is_it = _equal(nodes.slots, -1 if named is None else named.slot)
    return is_it if operator == "In" else ~is_it


def _equal(ids: Ids, wanted: int) -> Bools:
    same: Bools = ids == wanted
    return same
