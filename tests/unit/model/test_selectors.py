import gc
from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model import selectors
from pilotage.model.selectors import (
    InvalidSelector,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    RequiredNodeAffinity,
    compile_label_selector,
    compile_labels,
    compile_node_selector,
    compile_node_selector_leniently,
    compile_preferences,
    preferences_key,
)

NODES = {"n1": {"zone": "a", "gen": "07"}, "n2": {"zone": "b", "gen": "x"}, "n3": {}}


def asks(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key, operator, values)


def term(*conditions: str) -> NodeSelectorTerm:
    """Return a term of conditions like "zone In a b" on labels, and "@metadata.name In n1" on fields."""
    split = [condition.split(" ") for condition in conditions]
    return NodeSelectorTerm(
        tuple(NodeSelectorRequirement(key, op, tuple(values)) for key, op, *values in split if key[:1] != "@"),
        tuple(NodeSelectorRequirement(key[1:], op, tuple(values)) for key, op, *values in split if key[:1] == "@"),
    )


def terms(*all_terms: NodeSelectorTerm) -> NodeSelector:
    return NodeSelector(all_terms)


def matched(selector: NodeSelector) -> list[str]:
    matcher = compile_node_selector_leniently(selector)
    return [name for name, labels in NODES.items() if matcher.matches(labels, name)]


# ------------------------------------------------------------------------------------------------------ label selectors


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param(None, {}, False, id="an absent selector matches nothing"),
        pytest.param(None, {"a": "1"}, False, id="whatever the labels"),
        pytest.param(LabelSelector(), {}, True, id="an empty selector matches everything"),
        pytest.param(LabelSelector({"a": "1"}), {"a": "1", "b": "2"}, True, id="an exact label"),
        pytest.param(LabelSelector({"a": "1"}), {"a": "2"}, False, id="another value"),
        pytest.param(LabelSelector({"a": ""}), {}, False, id="an empty value is not an absent label"),
        pytest.param(LabelSelector({"a": ""}), {"a": ""}, True, id="but a legal one"),
        pytest.param(LabelSelector({"a": "1", "b": "2"}), {"a": "1"}, False, id="exact labels are joined by and"),
        pytest.param(
            LabelSelector({"a": "1"}, (asks("b", "Exists"),)), {"a": "1"}, False, id="so are labels and expressions"
        ),
        pytest.param(LabelSelector({}, (asks("a", "In", "1", "2"),)), {"a": "2"}, True, id="In: one of them"),
        pytest.param(LabelSelector({}, (asks("a", "In", "1", ""),)), {}, False, id="In: an absent label is none"),
        pytest.param(LabelSelector({}, (asks("a", "NotIn", "1"),)), {"a": "2"}, True, id="NotIn: another value"),
        pytest.param(LabelSelector({}, (asks("a", "NotIn", "1"),)), {"a": "1"}, False, id="NotIn: that value"),
        pytest.param(LabelSelector({}, (asks("a", "NotIn", "1"),)), {}, True, id="NotIn: an absent label passes"),
        pytest.param(LabelSelector({}, (asks("a", "Exists"),)), {"a": ""}, True, id="Exists: also an empty value"),
        pytest.param(LabelSelector({}, (asks("a", "Exists"),)), {}, False, id="Exists: absent"),
        pytest.param(LabelSelector({}, (asks("a", "DoesNotExist"),)), {}, True, id="DoesNotExist: absent"),
        pytest.param(LabelSelector({}, (asks("a", "DoesNotExist"),)), {"a": ""}, False, id="DoesNotExist: present"),
    ],
)
def test_label_selector(selector: LabelSelector | None, labels: dict[str, str], expected: bool) -> None:
    assert compile_label_selector(selector).matches(labels) is expected


@pytest.mark.parametrize(
    ("selector", "empty"),
    [
        pytest.param(None, False, id="an absent selector is not empty"),
        pytest.param(LabelSelector(), True, id="an empty one is"),
        pytest.param(LabelSelector({"a": "1"}), False, id="one that asks is not"),
    ],
)
def test_empty(selector: LabelSelector | None, empty: bool) -> None:
    assert compile_label_selector(selector).empty is empty


NAME = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
NAME_SHOWN = (
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NO_VALUES = "Invalid value: null: for 'in', 'notin' operators, values set can't be empty"


# The texts are those of apimachinery v0.37.1.
@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        pytest.param(asks("a", "In"), f"values: {NO_VALUES}", id="In without values"),
        pytest.param(asks("a", "NotIn"), f"values: {NO_VALUES}", id="NotIn without values"),
        pytest.param(
            asks("a", "Exists", "x", "y"),
            'values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist',
            id="Exists with values",
        ),
        pytest.param(asks("a", "Gt", "1"), '"Gt" is not a valid label selector operator', id="Gt is for nodes"),
        pytest.param(asks("a b", "in", "1"), '"in" is not a valid label selector operator', id="the operator is first"),
        pytest.param(
            asks("a", "Exists", "<"),
            '[values: Invalid value: ["\\u003c"]: values set must be empty for exists and does not exist, '
            f'values[0][a]: Invalid value: "<": {VALUE}]',
            id="a list is written as JSON, a string is quoted",
        ),
        pytest.param(
            asks("a", "In", "ok", "-x"), f'values[1][a]: Invalid value: "-x": {VALUE}', id="a value that is no label"
        ),
        pytest.param(
            asks("a", "In", "x" * 64),
            f'values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
            id="a value that is too long",
        ),
        pytest.param(
            asks("", "In"),
            f'[key: Invalid value: "": name part must be non-empty; name part {NAME} (e.g. {NAME_SHOWN}), '
            f"values: {NO_VALUES}]",
            id="all mistakes of one condition are told",
        ),
        pytest.param(asks("/a", "Exists"), 'key: Invalid value: "/a": prefix part must be non-empty', id="no prefix"),
        pytest.param(
            asks("a/b/c", "Exists"),
            f'key: Invalid value: "a/b/c": a valid label key {NAME} (e.g. {NAME_SHOWN}) '
            "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            id="two slashes",
        ),
        pytest.param(
            asks("X_/c", "Exists"),
            'key: Invalid value: "X_/c": prefix part a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'example.com', regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            id="a prefix that is no domain",
        ),
    ],
)
def test_an_invalid_label_selector_is_refused(requirement: LabelSelectorRequirement, message: str) -> None:
    with pytest.raises(InvalidSelector) as refusal:
        compile_label_selector(LabelSelector({}, (asks("fine", "Exists"), requirement, asks("also", "wrong"))))
    assert str(refusal.value) == message


def test_an_exact_label_is_checked_in_a_label_selector_only() -> None:
    labels = {"a b": "-x"}
    lenient = compile_labels(labels)
    with pytest.raises(InvalidSelector):
        compile_label_selector(LabelSelector(labels))
    assert lenient.matches(labels)


@pytest.mark.parametrize(
    ("wanted", "labels", "expected"),
    [
        pytest.param(None, {}, True, id="no labels wanted: everything, unlike an absent selector"),
        pytest.param({}, {"a": "1"}, True, id="an empty map: everything"),
        pytest.param({"a": "1"}, {"a": "1", "b": "2"}, True, id="a part of the labels"),
        pytest.param({"a": "1", "b": "2"}, {"a": "1"}, False, id="more than the labels"),
    ],
)
def test_exact_labels(wanted: dict[str, str] | None, labels: dict[str, str], expected: bool) -> None:
    assert compile_labels(wanted).matches(labels) is expected


# ------------------------------------------------------------------------------------------------------- node selectors


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(terms(term("zone NotIn a")), ["n2", "n3"], id="NotIn takes nodes without the label"),
        pytest.param(terms(term("gen Gt 6")), ["n1"], id="07 is more than 6"),
        pytest.param(terms(term("gen Lt 8")), ["n1"], id="what is no number, or absent, is not less"),
        pytest.param(terms(term("gen DoesNotExist")), ["n3"], id="DoesNotExist takes nodes without the label"),
        pytest.param(terms(), [], id="no terms match nothing"),
        pytest.param(terms(term()), [], id="an empty term matches nothing"),
        pytest.param(terms(term(), term("zone In a")), ["n1"], id="beside an empty term the others count"),
        pytest.param(terms(term("@metadata.name In n1 n2")), [], id="two names in one In never match"),
        pytest.param(terms(term("@metadata.name In n1", "@metadata.name In n2")), [], id="two names at once"),
        pytest.param(terms(term("@metadata.name In n1"), term("@metadata.name In n2")), ["n1", "n2"], id="either"),
        pytest.param(terms(term("@metadata.name In n1"), term("zone In b")), ["n1", "n2"], id="name or label"),
        pytest.param(terms(term("@metadata.name In n1", "zone In b")), [], id="name and label"),
        pytest.param(terms(term("@metadata.name NotIn n1")), ["n2", "n3"], id="any other name"),
        pytest.param(terms(term("@spec.x In v")), [], id="an unknown field is empty"),
        pytest.param(terms(term("@spec.x NotIn v")), ["n1", "n2", "n3"], id="so that it is not v"),
        pytest.param(terms(term("zone In a", "gen Exists")), ["n1"], id="conditions are joined by and"),
        pytest.param(terms(term("zone In a"), term("zone In b")), ["n1", "n2"], id="terms are joined by or"),
        pytest.param(terms(term("zone In -x"), term("zone In b")), ["n2"], id="an invalid term spoils no other"),
        pytest.param(terms(term("zone Like a"), term("zone In b")), ["n2"], id="nor does an unknown operator"),
        pytest.param(terms(term("gen Gt -5")), [], id="a sign makes the number no label value"),
        pytest.param(terms(term("gen Gt 5 6")), [], id="Gt takes one value"),
        pytest.param(terms(term("gen Gt x")), [], id="Gt takes a number"),
        pytest.param(terms(term("gen Lt 9223372036854775807")), ["n1"], id="numbers have 64 bits"),
        pytest.param(terms(term("gen Lt 9223372036854775808")), [], id="no more"),
    ],
)
def test_node_selector(selector: NodeSelector, expected: list[str]) -> None:
    assert matched(selector) == expected


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        pytest.param(terms(), None, id="no terms restrict nothing"),
        pytest.param(terms(term("@metadata.name In n1 n2")), {"n1", "n2"}, id="read although it never matches"),
        pytest.param(terms(term("@metadata.name In n1", "@metadata.name In n2")), set(), id="a conflict"),
        pytest.param(
            terms(term("@metadata.name In n1"), term("@metadata.name In n2")), {"n1", "n2"}, id="a name in each term"
        ),
        pytest.param(terms(term("@metadata.name In n1"), term("zone In b")), None, id="a term without a name"),
        pytest.param(terms(term("@metadata.name NotIn n1")), None, id="NotIn names nobody"),
        pytest.param(terms(term("@metadata.name In n1"), term()), None, id="an empty term names nobody"),
    ],
)
def test_names(selector: NodeSelector, names: set[str] | None) -> None:
    assert selector.names() == names


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param(
            terms(term("a Foo x"), term(), term("@metadata.name In a b", "@metadata.name Exists")),
            '[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Foo": supported values: '
            '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
            'nodeSelectorTerms[2].matchFields[0].values: Invalid value: ["a","b"]: must have one element, '
            'nodeSelectorTerms[2].matchFields[1].operator: Unsupported value: "Exists": '
            'supported values: "In", "NotIn"]',
            id="all mistakes of all terms, with their places",
        ),
        pytest.param(
            terms(term("a Lt")),
            "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: "
            "for 'Gt', 'Lt' operators, exactly one value is required",
            id="a single mistake stands without brackets",
        ),
        pytest.param(
            terms(term("a Gt x")),
            'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="a bound that is no number",
        ),
    ],
)
def test_where_mistakes_matter_they_are_told(selector: NodeSelector, message: str) -> None:
    assert compile_node_selector_leniently(selector).flawed
    with pytest.raises(InvalidSelector) as refusal:
        compile_node_selector(selector)
    assert str(refusal.value) == message


def test_a_mistake_is_told_with_the_place_of_its_selector() -> None:
    with pytest.raises(InvalidSelector, match=r"^addedAffinity\.required\.nodeSelectorTerms\[0\]\.matchExpressions"):
        compile_node_selector(terms(term("a In")), "addedAffinity.required")


@pytest.mark.parametrize(
    ("zone", "expected"),
    [pytest.param("a", True, id="the zone it asks for"), pytest.param("b", False, id="another zone")],
)
def test_a_selector_without_mistakes(zone: str, expected: bool) -> None:
    assert compile_node_selector(terms(term("zone In a"))).matches({"zone": zone}, "n") is expected


@pytest.mark.parametrize(
    ("node_selector", "required", "expected"),
    [
        pytest.param(None, None, ["n1", "n2", "n3"], id="no demands"),
        pytest.param({}, None, ["n1", "n2", "n3"], id="an empty nodeSelector demands nothing"),
        pytest.param({"zone": "a"}, None, ["n1"], id="nodeSelector alone"),
        pytest.param(None, terms(term("zone Exists")), ["n1", "n2"], id="terms alone"),
        pytest.param({"zone": "b"}, terms(term("zone Exists")), ["n2"], id="both must hold"),
        pytest.param({}, terms(), [], id="terms that are there but empty match nothing"),
    ],
)
def test_required_node_affinity(
    node_selector: dict[str, str] | None, required: NodeSelector | None, expected: list[str]
) -> None:
    affinity = RequiredNodeAffinity(node_selector, required)
    assert [name for name, labels in NODES.items() if affinity.matches(labels, name)] == expected


# ---------------------------------------------------------------------------------------------------------- preferences


def prefers(weight: int, *conditions: str) -> PreferredSchedulingTerm:
    return PreferredSchedulingTerm(weight, term(*conditions))


@pytest.mark.parametrize(
    ("preferred", "labels", "score"),
    [
        pytest.param((2, 4, 5), {"foo": "bar"}, 2, id="the weight of the one term that matches"),
        pytest.param((2, 4, 5), {"foo": "bar", "key": "value", "az": "az1"}, 11, id="the weights of all three"),
        pytest.param((2, 4, 5), {"key": "value"}, 4, id="a term needs all of its conditions"),
        pytest.param((0, 4, 5), {"foo": "bar"}, 0, id="a weight of zero adds nothing"),
    ],
)
def test_score(preferred: tuple[int, int, int], labels: dict[str, str], score: int) -> None:
    foo, key, az = "foo In bar", "key In value", "az In az1"
    terms = [prefers(preferred[0], foo), prefers(preferred[1], key), prefers(preferred[2], foo, key, az)]
    assert compile_preferences(terms).score(labels, "n") == score


@pytest.mark.parametrize(
    ("preferred", "score"),
    [
        pytest.param([], 0, id="no terms"),
        pytest.param([prefers(7)], 0, id="an empty term, unlike an empty label selector"),
        pytest.param([prefers(0, "zone In")], 0, id="mistakes of a term without weight are overlooked"),
        pytest.param([prefers(3, "zone Exists"), prefers(3, "zone Exists")], 6, id="a repeated term counts twice"),
        pytest.param([prefers(3, "@metadata.name In n1")], 3, id="a name"),
    ],
)
def test_score_of_n1(preferred: list[PreferredSchedulingTerm], score: int) -> None:
    assert compile_preferences(preferred).score(NODES["n1"], "n1") == score


@pytest.mark.parametrize(
    ("labels", "score"),
    [
        pytest.param({"foo": "bar"}, 2, id="the pod's own"),
        pytest.param({"key": "value"}, 3, id="the added one"),
        pytest.param({"foo": "bar", "key": "value"}, 5, id="both"),
    ],
)
def test_two_lists_of_preferences_add_up(labels: dict[str, str], score: int) -> None:
    own, added = compile_preferences([prefers(2, "foo In bar")]), compile_preferences([prefers(3, "key In value")])
    assert own.score(labels, "n") + added.score(labels, "n") == score


def test_an_invalid_preference_is_refused() -> None:
    with pytest.raises(InvalidSelector) as refusal:
        compile_preferences([prefers(1, "zone Exists"), prefers(1, "zone In")])
    assert str(refusal.value) == f"[1].matchExpressions[0].values: {NO_VALUES}"


# ------------------------------------------------------------------------------------------------------- canonical keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(LabelSelector({"a": "1", "b": "2"}), LabelSelector({"b": "2", "a": "1"}), id="order of labels"),
        pytest.param(
            LabelSelector({"a": "1"}), LabelSelector({}, (asks("a", "In", "1"),)), id="an exact label is an In"
        ),
        pytest.param(
            LabelSelector({}, (asks("a", "In", "2", "1", "1"),)),
            LabelSelector({}, (asks("a", "In", "1", "2"),)),
            id="order and repetition of values",
        ),
        pytest.param(
            LabelSelector({}, (asks("a", "Exists"), asks("b", "Exists"))),
            LabelSelector({}, (asks("b", "Exists"), asks("a", "Exists"), asks("b", "Exists"))),
            id="order and repetition of conditions",
        ),
    ],
)
def test_equal_label_selectors_share_one_matcher(one: LabelSelector, other: LabelSelector) -> None:
    first, second = compile_label_selector(one), compile_label_selector(other)
    assert first is second


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(
            terms(term("a In 1", "b Exists"), term("c Exists")),
            terms(term("c Exists"), term(), term("b Exists", "a In 1")),
            True,
            id="order, and terms that match nothing, do not matter",
        ),
        pytest.param(terms(term("a In 1")), terms(term("@a In 1")), False, id="labels and fields"),
        pytest.param(
            terms(term("@metadata.name In n")), terms(term("@metadata.name In n n")), False, id="the second is invalid"
        ),
        pytest.param(terms(term("a Gt 1")), terms(term("a Gt 1 1")), False, id="so is this"),
        pytest.param(terms(term("a Exists")), terms(term("a Exists 1")), False, id="and this"),
    ],
)
def test_key_of_node_selectors(one: NodeSelector, other: NodeSelector, same: bool) -> None:
    assert (one.canonical() == other.canonical()) is same
    first, second = compile_node_selector_leniently(one), compile_node_selector_leniently(other)
    assert (first is second) is same


def test_key_of_preferences_knows_no_order() -> None:
    preferred = [prefers(1, "a Exists"), prefers(2, "b In 1 2"), prefers(2, "a Exists")]
    assert {preferences_key(order) for order in permutations(preferred)} == {preferences_key(preferred)}
    assert preferences_key(preferred) != preferences_key(preferred * 2)


def test_a_matcher_that_nobody_holds_is_forgotten() -> None:
    gc.disable()  # it must go by itself: the scheduler freezes the collector
    try:
        key = LabelSelector({"pod-template-hash": "only-here"}).canonical()
        matcher = compile_label_selector(LabelSelector({"pod-template-hash": "only-here"}))
        assert selectors._checked.get(key) is matcher
        del matcher
        assert key not in selectors._checked
    finally:
        gc.enable()


# ------------------------------------------------------------------------------------------------------------ generated

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["", "x", "1", "02", "3"])
LABELS = st.dictionaries(KEYS, VALUES)
CONDITIONS = st.one_of(
    st.builds(asks, KEYS, st.sampled_from(["In", "NotIn"]), VALUES, VALUES),
    st.builds(asks, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
BOUNDS = st.builds(NodeSelectorRequirement, KEYS, st.sampled_from(["Gt", "Lt"]), st.sampled_from([("1",), ("02",)]))


def holds(condition: LabelSelectorRequirement, labels: dict[str, str]) -> bool:
    """Decide one condition the long way."""
    key, values = condition.key, condition.values
    number = int(labels[key]) if labels.get(key, "").isdigit() else None
    return {
        "In": key in labels and labels[key] in values,
        "NotIn": key not in labels or labels[key] not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
        "Gt": number is not None and condition.operator == "Gt" and number > int(values[0]),
        "Lt": number is not None and condition.operator == "Lt" and number < int(values[0]),
    }[condition.operator]


@given(LABELS, st.lists(CONDITIONS, max_size=3), LABELS)
def test_label_selectors_are_all_their_conditions(
    exact: dict[str, str], conditions: list[LabelSelectorRequirement], labels: dict[str, str]
) -> None:
    matcher = compile_label_selector(LabelSelector(exact, tuple(conditions)))
    expected = exact.items() <= labels.items() and all(holds(condition, labels) for condition in conditions)
    assert matcher.matches(labels) is expected


NODE_CONDITIONS = BOUNDS | CONDITIONS.map(lambda one: NodeSelectorRequirement(one.key, one.operator, one.values))
TERMS = st.lists(NODE_CONDITIONS, max_size=3).map(lambda conditions: NodeSelectorTerm(tuple(conditions)))


@given(st.lists(TERMS, max_size=3), LABELS)
def test_node_selectors_are_any_of_their_terms(all_terms: list[NodeSelectorTerm], labels: dict[str, str]) -> None:
    expected = any(
        bool(one.match_expressions) and all(holds(condition, labels) for condition in one.match_expressions)
        for one in all_terms
    )
    assert compile_node_selector(NodeSelector(tuple(all_terms))).matches(labels, "n") is expected


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_no_text_in_one_term_troubles_another(key: str, operator: str, values: list[str]) -> None:
    for known in (operator, *selectors.NODE_OPERATORS):
        condition = NodeSelectorRequirement(key, known, tuple(values))
        assert matched(terms(NodeSelectorTerm((condition,)), term("zone In a")))[:1] == ["n1"]


def test_decodes_what_the_api_sends() -> None:
    raw = (
        b'{"matchLabels":{"app":"web"},"matchExpressions":'
        b'[{"key":"tier","operator":"In","values":["a"]},{"key":"x","operator":"Exists"}]}'
    )
    expected = LabelSelector({"app": "web"}, (asks("tier", "In", "a"), asks("x", "Exists")))
    assert msgspec.json.decode(raw, type=LabelSelector) == expected
    raw = (
        b'[{"weight":5,"preference":{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}],'
        b'"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}}]'
    )
    assert msgspec.json.decode(raw, type=list[PreferredSchedulingTerm]) == [
        prefers(5, "zone In a", "@metadata.name In n1")
    ]
    raw = b'{"nodeSelectorTerms":[{"matchExpressions":[{"key":"gen","operator":"Gt","values":["6"]}]},{}]}'
    assert msgspec.json.decode(raw, type=NodeSelector) == terms(term("gen Gt 6"), term())
