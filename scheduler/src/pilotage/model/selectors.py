"""Label and node selectors: their API types, validation, and matching."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import gt, lt
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct

from pilotage.model.go_text import as_json, quoted, shown
from pilotage.model.label_syntax import VALUE, VALUE_RULE, complaints, is_key, is_value, key_complaints

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]
RequirementKey = tuple[str, str, tuple[str, ...]]
LabelKey = tuple[RequirementKey, ...]
TermKey = tuple[LabelKey, LabelKey]
NodeKey = tuple[TermKey, ...]
PreferencesKey = tuple[tuple[int, TermKey], ...]
Key = TypeVar("Key", RequirementKey, TermKey, LabelKey, NodeKey, PreferencesKey)
Compiled = TypeVar("Compiled")

NAME_FIELD = "metadata.name"
LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")


class LabelSelectorRequirement(Struct, frozen=True, gc=False, rename="camel"):
    """One condition on a label."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()

    def canonical(self) -> RequirementKey:
        """Return the same key for conditions that differ only in the order or repetition of values."""
        is_set = self.operator in ("In", "NotIn")  # for the others a repeated value affects validity
        return self.key, self.operator, tuple(sorted(set(self.values))) if is_set else self.values


class NodeSelectorRequirement(LabelSelectorRequirement, frozen=True, gc=False):
    """One condition on a label or field of a node, also with Gt and Lt."""


class LabelSelector(Struct, frozen=True, gc=False, rename="camel"):
    """Conditions that must all hold; an empty selector matches everything, an absent one nothing."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def requirements(self) -> Iterator[LabelSelectorRequirement]:
        """Yield every condition; an exact label becomes an In with one value."""
        for key, value in sorted(self.match_labels.items()):
            yield LabelSelectorRequirement(key, "In", (value,))
        yield from self.match_expressions

    def canonical(self) -> LabelKey:
        """Return the same key for selectors that match the same labels by the same conditions."""
        return _ordered(requirement.canonical() for requirement in self.requirements())


class NodeSelectorTerm(Struct, frozen=True, gc=False, rename="camel"):
    """Conditions on one node, all of which must hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    @property
    def empty(self) -> bool:
        """Return whether there are no conditions; such a term matches nothing, unlike an empty label selector."""
        return not self.match_expressions and not self.match_fields

    def canonical(self) -> TermKey:
        """Return the same key for terms with the same conditions."""
        # Values of fields are not merged: [n1, n1] is invalid, [n1] is not.
        fields = ((field.key, field.operator, tuple(sorted(field.values))) for field in self.match_fields)
        return _ordered(expression.canonical() for expression in self.match_expressions), _ordered(fields)


class NodeSelector(Struct, frozen=True, gc=False, rename="camel"):
    """Terms, one of which must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    def canonical(self) -> NodeKey:
        """Return the same key for selectors with the same terms; empty terms do not count."""
        return _ordered(term.canonical() for term in self.node_selector_terms if not term.empty)

    def names(self) -> frozenset[str] | None:
        """Return the only node names that the terms allow by metadata.name, or None if some term allows others."""
        allowed: set[str] = set()
        for term in self.node_selector_terms:
            # An In with several values is accepted here, although such a term is invalid and never matches a node.
            named = [set(f.values) for f in term.match_fields if f.key == NAME_FIELD and f.operator == "In"]
            if not named:
                return None
            allowed |= set.intersection(*named)
        return frozenset(allowed) if self.node_selector_terms else None


class PreferredSchedulingTerm(Struct, frozen=True, gc=False, rename="camel"):
    """A term that adds its weight to the score of matching nodes."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()

    @property
    def idle(self) -> bool:
        """Return whether the term has no effect, so that even its errors are ignored."""
        return self.weight == 0 or self.preference.empty


def preferences_key(terms: Iterable[PreferredSchedulingTerm]) -> PreferencesKey:
    """Return the same key for lists of preferred terms with the same scores; repeated terms count twice."""
    return tuple(sorted((term.weight, term.preference.canonical()) for term in terms if not term.idle))


def _ordered(keys: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(sorted(set(keys)))


class InvalidSelector(ValueError):
    """An invalid selector, with Kubernetes' message."""

    def __init__(self, complaints: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(complaints))
        super().__init__(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")


def requirement_complaints(requirement: LabelSelectorRequirement, prefix: str = "") -> Iterator[str]:
    """Yield the errors in a condition on labels with a known operator."""
    if not is_key(requirement.key):
        yield _invalid(f"{prefix}key", requirement.key, "; ".join(key_complaints(requirement.key)))
    yield from _count_complaints(requirement, f"{prefix}values")
    for index, value in enumerate(requirement.values):
        if not is_value(value):
            wrong = complaints(value, 63, VALUE, VALUE_RULE)
            yield _invalid(f"{prefix}values[{index}][{requirement.key}]", value, "; ".join(wrong))


def _count_complaints(requirement: LabelSelectorRequirement, path: str) -> Iterator[str]:
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn" if not values:
            yield _invalid(path, values, "for 'in', 'notin' operators, values set can't be empty")
        case "Exists" | "DoesNotExist" if values:
            yield _invalid(path, values, "values set must be empty for exists and does not exist")
        case "Gt" | "Lt":
            if len(values) != 1:
                yield _invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required")
            for index, value in enumerate(values):
                if integer(value) is None:
                    yield _invalid(f"{path}[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")


def term_complaints(term: NodeSelectorTerm, prefix: str = "") -> Iterator[str]:
    """Yield the errors in a term of a node selector."""
    for index, expression in enumerate(term.match_expressions):
        where = f"{prefix}matchExpressions[{index}]."
        if expression.operator in NODE_OPERATORS:
            yield from requirement_complaints(expression, where)
        else:
            yield _unsupported(where, expression.operator, NODE_OPERATORS)
    for index, field in enumerate(term.match_fields):
        where = f"{prefix}matchFields[{index}]."
        if field.operator not in FIELD_OPERATORS:
            yield _unsupported(where, field.operator, FIELD_OPERATORS)
        elif len(field.values) != 1:
            yield _invalid(f"{where}values", field.values, "must have one element")


def _invalid(path: str, value: str | tuple[str, ...], detail: str) -> str:
    # Go shows an absent list as null, and the API drops empty lists.
    return f"{path}: Invalid value: {shown(None if value == () else value)}: {detail}"


def _unsupported(prefix: str, operator: str, known: Iterable[str]) -> str:
    supported = ", ".join(map(quoted, known))
    # The operator has a named type, so it is not a plain string in Go.
    return f"{prefix}operator: Unsupported value: {as_json(operator)}: supported values: {supported}"


def integer(text: str | None) -> int | None:
    """Return a label's value as an integer within 64 bits, or None."""
    # Leading zeros are fine; a label has at most 63 characters, so longer texts are not numbers.
    number = int(text) if text and re.fullmatch(r"[+-]?[0-9]{1,63}", text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _in(key: str, values: tuple[str, ...]) -> Test:
    wanted = frozenset(values)
    return lambda labels: labels.get(key) in wanted


def _not_in(key: str, values: tuple[str, ...]) -> Test:
    unwanted = frozenset(values)
    return lambda labels: labels.get(key) not in unwanted  # an absent label passes


def _compared(key: str, values: tuple[str, ...], holds: Callable[[int, int], bool]) -> Test:
    bound = int(values[0])
    return lambda labels: (number := integer(labels.get(key))) is not None and holds(number, bound)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {"Gt": gt, "Lt": lt}
TESTS: dict[str, Callable[[str, tuple[str, ...]], Test]] = {
    "In": _in,
    "NotIn": _not_in,
    "Exists": lambda key, _: lambda labels: key in labels,
    "DoesNotExist": lambda key, _: lambda labels: key not in labels,
    "Gt": lambda key, values: _compared(key, values, gt),
    "Lt": lambda key, values: _compared(key, values, lt),
}


class LabelMatcher:
    """A compiled label selector; equal selectors share one while it is in use."""

    __slots__ = ("__weakref__", "matches", "requirements")

    def __init__(self, requirements: LabelKey | None) -> None:
        self.requirements = requirements  # the canonical key; None for an absent selector
        self.matches: Test = (lambda _: False) if requirements is None else _all_of(requirements)

    @property
    def empty(self) -> bool:
        """Return whether everything matches because there are no conditions."""
        return self.requirements == ()


def _all_of(requirements: LabelKey) -> Test:
    tests = [TESTS[operator](key, values) for key, operator, values in requirements]
    if len(tests) == 1:
        return tests[0]  # the most frequent case, and evaluated for every pod
    return lambda labels: all(test(labels) for test in tests)


NOTHING, EVERYTHING = LabelMatcher(None), LabelMatcher(())


class TermMatcher:
    """A compiled term of a node selector."""

    __slots__ = ("expressions", "fields")

    def __init__(self, key: TermKey) -> None:
        self.expressions = LabelMatcher(key[0])
        self.fields = key[1]

    def matches(self, labels: Labels, name: str) -> bool:
        """Return whether a node with these labels and this name meets all conditions."""
        return self.expressions.matches(labels) and all(
            # metadata.name is the only supported field; every other one reads as "".
            ((name if field == NAME_FIELD else "") == values[0]) == (operator == "In")
            for field, operator, values in self.fields
        )


class NodeMatcher:
    """A compiled node selector; `flawed` if it ignores an invalid term."""

    __slots__ = ("__weakref__", "flawed", "terms")

    def __init__(self, selector: NodeSelector) -> None:
        used = [term for term in selector.node_selector_terms if not term.empty]
        valid = [term.canonical() for term in used if not any(term_complaints(term))]
        self.terms = tuple(TermMatcher(key) for key in _ordered(valid))
        self.flawed = len(valid) < len(used)

    def matches(self, labels: Labels, name: str) -> bool:
        """Return whether any term matches the node; a selector without valid terms matches none."""
        return any(term.matches(labels, name) for term in self.terms)


class RequiredNodeAffinity:
    """A pod's requirements on its node: nodeSelector and required terms."""

    __slots__ = ("labels", "selector")

    def __init__(self, node_selector: Mapping[str, str] | None, required: NodeSelector | None) -> None:
        self.labels = compile_labels(node_selector)
        self.selector = None if required is None else compile_node_selector_leniently(required)

    def matches(self, labels: Labels, name: str) -> bool:
        """Return whether the node meets both."""
        return self.labels.matches(labels) and (self.selector is None or self.selector.matches(labels, name))


class Preferences:
    """Compiled preferred terms."""

    __slots__ = ("__weakref__", "terms")

    def __init__(self, key: PreferencesKey) -> None:
        self.terms = tuple((weight, TermMatcher(term)) for weight, term in key)

    def score(self, labels: Labels, name: str) -> int:
        """Return the sum of the weights of the terms that match the node."""
        return sum(weight for weight, term in self.terms if term.matches(labels, name))


# Weak, because every rollout creates selectors with a new hash.
_checked: WeakValueDictionary[LabelKey, LabelMatcher] = WeakValueDictionary()
_unchecked: WeakValueDictionary[LabelKey, LabelMatcher] = WeakValueDictionary()
_node_matchers: WeakValueDictionary[NodeKey, NodeMatcher] = WeakValueDictionary()
_preferences: WeakValueDictionary[PreferencesKey, Preferences] = WeakValueDictionary()


def _shared(known: WeakValueDictionary[Key, Compiled], key: Key, build: Callable[[], Compiled]) -> Compiled:
    found = known.get(key)
    if found is None:
        found = known[key] = build()
    return found


def compile_label_selector(selector: LabelSelector | None) -> LabelMatcher:
    """Return the matcher of a label selector, or raise InvalidSelector for its first invalid condition."""
    if selector is None:
        return NOTHING
    key = selector.canonical()
    if key not in _checked:
        _refuse_mistakes(selector)
    return _shared(_checked, key, lambda: LabelMatcher(key))


def _refuse_mistakes(selector: LabelSelector) -> None:
    for requirement in selector.requirements():
        if requirement.operator not in LABEL_OPERATORS:
            raise InvalidSelector([f"{quoted(requirement.operator)} is not a valid label selector operator"])
        if wrong := list(requirement_complaints(requirement)):
            raise InvalidSelector(wrong)


def compile_labels(labels: Mapping[str, str] | None) -> LabelMatcher:
    """Return the matcher of exact labels, as in nodeSelector and services: not validated, and empty matches all."""
    key = tuple(sorted((key, "In", (value,)) for key, value in (labels or {}).items()))
    return _shared(_unchecked, key, lambda: LabelMatcher(key))


def compile_node_selector_leniently(selector: NodeSelector) -> NodeMatcher:
    """Return the matcher of a pod's own selector; an invalid term matches nothing, without affecting the others."""
    return _shared(_node_matchers, selector.canonical(), lambda: NodeMatcher(selector))


def compile_node_selector(selector: NodeSelector, path: str = "") -> NodeMatcher:
    """Return the matcher of a node selector, or raise InvalidSelector with all errors."""
    matcher = compile_node_selector_leniently(selector)
    if matcher.flawed:
        where, terms = f"{path}." if path else "", enumerate(selector.node_selector_terms)
        raise InvalidSelector(
            wrong for i, term in terms for wrong in term_complaints(term, f"{where}nodeSelectorTerms[{i}].")
        )
    return matcher


def compile_preferences(terms: Sequence[PreferredSchedulingTerm], path: str = "") -> Preferences:
    """Return the scorer of preferred terms, or raise InvalidSelector with all errors."""
    key = preferences_key(terms)
    if key not in _preferences:
        active = ((index, term.preference) for index, term in enumerate(terms) if not term.idle)
        # The path has no ".preference", as in Kubernetes.
        if wrong := [text for index, term in active for text in term_complaints(term, f"{path}[{index}].")]:
            raise InvalidSelector(wrong)
    return _shared(_preferences, key, lambda: Preferences(key))
