"""Describes briefly which condition of a node selector a node does not meet."""

from collections.abc import Iterable, Iterator

from pilotage.model.selectors import (
    NAME_FIELD,
    TESTS,
    Labels,
    NodeMatcher,
    RequiredNodeAffinity,
    RequirementKey,
    TermMatcher,
)

MOST_VALUES, MOST_TERMS = 3, 3
LONGEST = 63  # characters of a value; the API allows no more in a label
OPERATORS = {"In": "in", "NotIn": "not in", "Gt": "above", "Lt": "below"}
NO_TERM = "no term of the affinity can match any node"


def mismatch(required: RequiredNodeAffinity, labels: Labels, name: str) -> str:
    """Return the first failing condition of the nodeSelector, otherwise of each term; "" if the node matches."""
    for requirement in required.labels.requirements or ():
        if not _holds(requirement, labels):
            return _told(requirement, labels)
    return "" if required.selector is None else selector_mismatch(required.selector, labels, name)


def selector_mismatch(selector: NodeMatcher, labels: Labels, name: str) -> str:
    """Return the first failing condition of each term; "" if any term matches."""
    if selector.matches(labels, name):
        return ""
    terms = [next(_failing(term, labels, name)) for term in selector.terms]
    return _some(terms, MOST_TERMS, "; or ") if terms else NO_TERM


def _failing(term: TermMatcher, labels: Labels, name: str) -> Iterator[str]:
    for field, operator, values in term.fields:
        has = name if field == NAME_FIELD else ""
        if (has == values[0]) != (operator == "In"):
            yield f"wants {field} {_wanted((field, operator, values))}"
    for requirement in term.expressions.requirements or ():
        if not _holds(requirement, labels):
            yield _told(requirement, labels)


def _holds(requirement: RequirementKey, labels: Labels) -> bool:
    key, operator, values = requirement
    return TESTS[operator](key, values)(labels)


def _told(requirement: RequirementKey, labels: Labels) -> str:
    key, operator, _ = requirement
    if operator == "Exists":
        return f"wants the label {key}"
    if operator == "DoesNotExist":
        return f"wants no label {key}"
    has = f"has {_short(labels[key])}" if key in labels else "has none"
    return f"wants {key} {_wanted(requirement)}, {has}"


def _wanted(requirement: RequirementKey) -> str:
    _, operator, values = requirement
    shown = [_short(value) for value in values]
    if len(shown) == 1 and operator in ("In", "NotIn"):
        return f"{'=' if operator == 'In' else '!='} {shown[0]}"
    inside = _some(shown, MOST_VALUES, ", ")
    return f"{OPERATORS[operator]} {inside if operator in ('Gt', 'Lt') else f'({inside})'}"


def _some(texts: Iterable[str], most: int, between: str) -> str:
    found = list(dict.fromkeys(texts))
    shown = between.join(found[:most])
    return f"{shown}{between}{len(found) - most} more" if len(found) > most else shown


def _short(value: str) -> str:
    return f"{value[:LONGEST]}..." if len(value) > LONGEST else value or '""'
