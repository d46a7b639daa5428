"""Selectors over many nodes must say what they say about each node alone."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.node_matching import (
    match_labels,
    match_node_selector,
    match_required,
    required_of,
    score_preferences,
)
from pilotage.framework.api.nodes import Bools, Nodes
from pilotage.model.selectors import (
    NOTHING,
    LabelMatcher,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    RequiredNodeAffinity,
    compile_label_selector,
    compile_labels,
    compile_node_selector_leniently,
    compile_preferences,
)
from pilotage.testing import FakeCluster, Manifest, make_node, make_pod

Part = Callable[[Nodes], Nodes]

LABELS: Mapping[str, dict[str, str]] = {
    "n1": {"zone": "a", "gen": "07"},
    "n2": {"zone": "b", "gen": "x"},
    "n3": {},
    "n4": {"zone": "", "gen": "9"},
}


def nodes() -> Nodes:
    return FakeCluster(nodes=[make_node(name, labels=labels) for name, labels in LABELS.items()]).nodes


def names(of: Nodes, marked: Bools) -> str:
    assert marked.dtype == bool
    return " ".join(node.name for node, mark in zip(of, marked.tolist(), strict=True) if mark)


def one(key: str, operator: str, *values: str) -> NodeSelector:
    return NodeSelector((NodeSelectorTerm((NodeSelectorRequirement(key, operator, values),)),))


def field(key: str, operator: str, *values: str) -> NodeSelector:
    return NodeSelector((NodeSelectorTerm((), (NodeSelectorRequirement(key, operator, values),)),))


@pytest.mark.parametrize(
    ("selector", "matching"),
    [
        pytest.param(one("zone", "In", "a"), "n1", id="one value"),
        pytest.param(one("zone", "In", "a", "b", "never"), "n1 n2", id="one of several values"),
        pytest.param(one("zone", "In", "never"), "", id="a value that no node has"),
        pytest.param(one("zone", "In", ""), "n4", id="the empty value is a value"),
        pytest.param(one("zone", "NotIn", "a"), "n2 n3 n4", id="a node without the label passes NotIn"),
        pytest.param(one("zone", "NotIn", "never"), "n1 n2 n3 n4", id="not a value that no node has"),
        pytest.param(one("gen", "Gt", "6"), "n1 n4", id="leading zeros are fine, words are not"),
        pytest.param(one("gen", "Lt", "8"), "n1", id="neither words nor a missing label are less"),
        pytest.param(one("gen", "Exists"), "n1 n2 n4", id="exists"),
        pytest.param(one("gen", "DoesNotExist"), "n3", id="a node without the label"),
        pytest.param(one("rack", "DoesNotExist"), "n1 n2 n3 n4", id="a label that no node has"),
        pytest.param(one("rack", "Gt", "1"), "", id="a comparison with a label that no node has"),
        pytest.param(field("metadata.name", "In", "n2"), "n2", id="a node by its name"),
        pytest.param(field("metadata.name", "NotIn", "n2"), "n1 n3 n4", id="all nodes but one"),
        pytest.param(field("metadata.name", "In", "gone"), "", id="a name that no node has"),
        pytest.param(field("metadata.uid", "In", "u"), "", id="an unknown field reads as nothing"),
        pytest.param(field("metadata.uid", "NotIn", "u"), "n1 n2 n3 n4", id="and nothing is not u"),
        pytest.param(field("metadata.name", "In", "n1", "n2"), "", id="two names make the term invalid"),
        pytest.param(NodeSelector(), "", id="no term matches nothing"),
        pytest.param(NodeSelector((NodeSelectorTerm(),)), "", id="an empty term matches nothing"),
    ],
)
def test_a_node_selector(selector: NodeSelector, matching: str) -> None:
    everywhere = nodes()
    assert names(everywhere, match_node_selector(compile_node_selector_leniently(selector), everywhere)) == matching


def test_terms_are_alternatives_and_their_conditions_are_not() -> None:
    both = NodeSelectorTerm(
        (NodeSelectorRequirement("gen", "Exists"),), (NodeSelectorRequirement("metadata.name", "NotIn", ("n1",)),)
    )
    selector = NodeSelector((*one("zone", "In", "a").node_selector_terms, both))
    everywhere = nodes()
    assert names(everywhere, match_node_selector(compile_node_selector_leniently(selector), everywhere)) == "n1 n2 n4"


@pytest.mark.parametrize(
    ("matcher", "matching"),
    [
        pytest.param(NOTHING, "", id="an absent selector matches nothing"),
        pytest.param(compile_label_selector(LabelSelector()), "n1 n2 n3 n4", id="an empty one matches everything"),
        pytest.param(compile_labels({"zone": "a", "gen": "07"}), "n1", id="all labels must be there"),
        pytest.param(compile_labels({"zone": "a", "gen": "7"}), "", id="as they are written"),
    ],
)
def test_a_label_selector(matcher: LabelMatcher, matching: str) -> None:
    everywhere = nodes()
    assert names(everywhere, match_labels(matcher, everywhere)) == matching


def test_node_selector_and_affinity_are_both_required() -> None:
    everywhere = nodes()
    required = RequiredNodeAffinity({"zone": "a"}, one("gen", "Exists"))
    assert names(everywhere, match_required(required, everywhere)) == "n1"
    assert names(everywhere, match_required(RequiredNodeAffinity(None, None), everywhere)) == "n1 n2 n3 n4"
    assert names(everywhere, match_required(RequiredNodeAffinity({}, one("gen", "Exists")), everywhere)) == "n1 n2 n4"


def test_pods_of_one_shape_share_what_they_require() -> None:
    affinity: Manifest = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    one_pod, other = (make_pod(name, node_selector={"a": "b"}, affinity=affinity) for name in ("p", "q"))
    assert required_of(one_pod) is required_of(other)
    assert required_of(one_pod).selector is not None
    assert required_of(make_pod()).selector is None


# ------------------------------------------------------------------------------------- the same answers as one by one

KEYS, VALUES = st.sampled_from(["a", "b", "c"]), st.sampled_from(["", "0", "1", "07", "x"])
NAMES = st.sampled_from(["n0", "n1", "n2", "n9"])
LABEL_SETS = st.dictionaries(KEYS, VALUES, max_size=3)
REQUIREMENTS = st.builds(
    NodeSelectorRequirement,
    KEYS,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(VALUES, max_size=3).map(tuple),
)
FIELDS = st.builds(
    NodeSelectorRequirement,
    st.sampled_from(["metadata.name", "metadata.uid"]),
    st.sampled_from(["In", "NotIn"]),
    st.lists(NAMES | st.just(""), min_size=1, max_size=2).map(tuple),
)
TERMS = st.builds(
    NodeSelectorTerm, st.lists(REQUIREMENTS, max_size=3).map(tuple), st.lists(FIELDS, max_size=2).map(tuple)
)
SELECTORS = st.none() | st.builds(NodeSelector, st.lists(TERMS, max_size=3).map(tuple))


@st.composite
def some_nodes(draw: st.DrawFn) -> Nodes:
    labels = draw(st.lists(LABEL_SETS, min_size=1, max_size=6))
    everywhere = FakeCluster(nodes=[make_node(f"n{i}", labels=each) for i, each in enumerate(labels)]).nodes
    return everywhere if draw(st.booleans()) else everywhere.take(everywhere.slots[draw(st.integers(0, 3)) :: 2])


@given(some_nodes(), st.none() | LABEL_SETS, SELECTORS)
def test_required_affinity_as_one_by_one(
    some: Nodes, node_selector: dict[str, str] | None, selector: NodeSelector | None
) -> None:
    required = RequiredNodeAffinity(node_selector, selector)
    expected = [required.matches(node.labels, node.name) for node in some]
    assert match_required(required, some).tolist() == expected


@given(some_nodes(), st.lists(st.tuples(st.integers(0, 100), TERMS), max_size=4))
def test_preferences_as_one_by_one(some: Nodes, weighed: list[tuple[int, NodeSelectorTerm]]) -> None:
    valid = [(weight, term) for weight, term in weighed if not compile_node_selector_leniently(_alone(term)).flawed]
    preferences = compile_preferences([PreferredSchedulingTerm(weight, term) for weight, term in valid])
    scores = score_preferences(preferences, some)
    assert scores.dtype == "int64"
    assert scores.tolist() == [preferences.score(node.labels, node.name) for node in some]


@given(some_nodes(), st.dictionaries(KEYS, VALUES, max_size=2), st.lists(KEYS, max_size=2))
def test_labels_as_one_by_one(some: Nodes, exact: dict[str, str], present: list[str]) -> None:
    expressions = tuple(LabelSelectorRequirement(key, "Exists") for key in present)
    matcher = compile_label_selector(LabelSelector(exact, expressions))
    assert match_labels(matcher, some).tolist() == [matcher.matches(node.labels) for node in some]


def _alone(term: NodeSelectorTerm) -> NodeSelector:
    return NodeSelector((term,))
