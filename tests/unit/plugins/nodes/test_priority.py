import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.config.faults import Stage
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.plugin import STATIC
from pilotage.framework.api.verdicts import Rejection
from pilotage.plugins.nodes import priority as subject
from pilotage.plugins.nodes.priority import HIGHEST, Priority
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, filter_all, make_node, make_pod, raw_scores, score_all

LABEL = "priority.lixueduan.com"
OTHER = "example.com/rank"
AT = ("profiles", 0, "pluginConfig", 1, "args")
NODE_CHANGED = Event(Resource.NODE, Action.UPDATE_NODE_LABEL)


def labels(value: str | None, key: str = LABEL) -> dict[str, str]:
    return {} if value is None else {key: value}


def cluster(*values: str | None) -> FakeCluster:
    """Return the nodes n1, n2 and so on with these values of the label."""
    return FakeCluster([make_node(f"n{i}", labels=labels(value)) for i, value in enumerate(values, start=1)])


def unlabelled(node: str, key: str = LABEL) -> Rejection:
    return Rejection(f"Node:Node: {node} does not have label {key}")


# ------------------------------------------------------------------------------------------------------------- filter


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        pytest.param("10", True, id="a labelled node fits"),
        pytest.param("abc", True, id="the value plays no part"),
        pytest.param("", True, id="nor does one that is empty"),
        pytest.param(None, False, id="an unlabelled node does not"),
    ],
)
def test_filter(value: str | None, fits: bool) -> None:
    assert filter_all(Priority(), cluster(value, "1"), make_pod()) == {
        "n1": None if fits else unlabelled("n1"),
        "n2": None,
    }


def test_each_node_has_a_reason_of_its_own() -> None:
    verdicts = filter_all(Priority(), cluster(None, "1", None), make_pod())
    assert verdicts == {"n1": unlabelled("n1"), "n2": None, "n3": unlabelled("n3")}


def test_another_label_may_count() -> None:
    nodes = [make_node("a", labels=labels("5")), make_node("b", labels=labels("7", OTHER))]
    plugin = Priority.of({"labelKey": OTHER})
    assert filter_all(plugin, FakeCluster(nodes), make_pod()) == {"a": unlabelled("a", OTHER), "b": None}
    assert raw_scores(plugin, FakeCluster(nodes), make_pod(), ["b"]) == {"b": 7}


def test_the_message_of_the_original() -> None:
    nodes = FakeCluster([make_node("scheduler-1"), make_node("scheduler-2")])
    outcome = FakeScheduler(Priority(), DefaultPreemption(), cluster=nodes).schedule(make_pod())
    assert isinstance(outcome, Unplaced)
    assert outcome.message == (
        "0/2 nodes are available: 1 Node:Node: scheduler-1 does not have label priority.lixueduan.com, "
        "1 Node:Node: scheduler-2 does not have label priority.lixueduan.com. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )


def test_nobody_is_evicted_from_a_node_without_the_label() -> None:
    nodes = FakeCluster([make_node("n1")], [make_pod("small", node="n1", priority=0)])
    outcome = FakeScheduler(Priority(), DefaultPreemption(), cluster=nodes).schedule(make_pod(priority=5))
    assert isinstance(outcome, Unplaced)
    assert (outcome.nominate, outcome.victims) == ("", ())


# -------------------------------------------------------------------------------------------------------------- score


@pytest.mark.parametrize(
    ("values", "scores"),
    [
        pytest.param(("10", "20"), (50, 100), id="half of the highest"),
        pytest.param(("7", "3"), (100, 42), id="rounded down"),
        pytest.param(("0", "0"), (0, 0), id="all zero"),
        pytest.param(("5", "5"), (100, 100), id="all equal"),
        pytest.param(("abc", "20"), (0, 100), id="an invalid value counts as 0"),
        pytest.param(("abc", "1.5"), (0, 0), id="nothing but invalid values"),
        pytest.param((None, "20"), (0, 100), id="a profile that does not filter"),
        pytest.param((str(HIGHEST), "1"), (100, 0), id="the highest that there is"),
    ],
)
def test_scores(values: tuple[str | None, ...], scores: tuple[int, ...]) -> None:
    expected = {f"n{i}": score for i, score in enumerate(scores, start=1)}
    assert score_all(Priority(), cluster(*values), make_pod()) == expected


@pytest.mark.parametrize(
    ("value", "priority"),
    [
        ("0", 0),
        ("007", 7),
        ("+5", 5),
        ("0" * 62 + "9", 9),
        (str(HIGHEST), HIGHEST),
        (str(HIGHEST + 1), 0),
        ("9" * 63, 0),
        ("", 0),
        ("-5", 0),
        ("1.5", 0),
        ("1_0", 0),
        ("0x10", 0),
        ("1e3", 0),
        (" 1", 0),
        ("1\n", 0),
        ("٣", 0),
    ],
)
def test_numbers_are_read_as_go_reads_them(value: str, priority: int) -> None:
    assert raw_scores(Priority(), cluster(value), make_pod()) == {"n1": priority}


@pytest.mark.parametrize(
    ("values", "chosen"),
    [
        pytest.param(("10", "20"), "n2", id="the higher value"),
        pytest.param(("30", "20"), "n1", id="the other way round"),
        pytest.param(("10", None), "n1", id="the only one that is left"),
        pytest.param(("abc", None), "n1", id="the only one that is left, with an invalid value"),
        pytest.param(("abc", "1"), "n2", id="any number above an invalid value"),
    ],
)
def test_who_is_chosen(values: tuple[str | None, ...], chosen: str) -> None:
    outcome = FakeScheduler(Priority(), cluster=cluster(*values)).schedule(make_pod())
    assert isinstance(outcome, Placed)
    assert outcome.node == chosen


# ------------------------------------------------------------------------------------------------------------ warnings


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_an_invalid_value_is_told_once_for_each_node_not_for_each_pod(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = FakeScheduler(Priority(), cluster=cluster("abc", "10", "", "abc"))
    for i in range(5):
        scheduler.schedule(make_pod(f"p{i}", cpu=f"{i}m"))
    counts_as = f"is not a whole number from 0 to {HIGHEST}, it counts as 0"
    assert warnings(caplog) == [
        f"node n1: label {LABEL}='abc' {counts_as}",
        f"node n3: label {LABEL}='' {counts_as}",
        f"node n4: label {LABEL}='abc' {counts_as}",
    ]


def test_another_invalid_value_is_told_anew(caplog: pytest.LogCaptureFixture) -> None:
    plugin, nodes = Priority(), cluster("abc", "10")
    for value in ("abc", "10", "abc", "x", "x"):
        nodes.cache.put_node(make_node("n1", labels=labels(value)))
        score_all(plugin, nodes, make_pod())
    assert [text.split()[3] for text in warnings(caplog)] == [f"{LABEL}='abc'", f"{LABEL}='x'"]


def test_valid_values_and_nodes_without_the_label_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    score_all(Priority(), cluster("10", None, "0"), make_pod())
    assert warnings(caplog) == []


def test_what_is_told_stays_small(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_WARNINGS", 2)
    plugin = Priority()
    score_all(plugin, cluster(*["x" * 100_000] * 9), make_pod())
    assert len(plugin._warned) <= 2
    assert max(map(len, warnings(caplog))) < 300


# --------------------------------------------------------------------------------------------------------------- rest


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(None, {LABEL: "1"}, True, id="a new node with the label"),
        pytest.param(None, {}, False, id="a new node without it"),
        pytest.param({}, {LABEL: ""}, True, id="a node got it"),
        pytest.param({LABEL: "1"}, {LABEL: "2"}, False, id="another value"),
        pytest.param({LABEL: "1"}, {}, False, id="a node lost it"),
        pytest.param({}, {OTHER: "1"}, False, id="another label"),
    ],
)
def test_a_changed_node_helps(before: dict[str, str] | None, after: dict[str, str], helps: bool) -> None:
    old = None if before is None else make_node(labels=before)
    assert Priority().got_the_label(make_pod(), NODE_CHANGED, old, make_node(labels=after)) is helps


@pytest.mark.parametrize(
    ("action", "waited_for"),
    [
        (Action.ADD, True),
        (Action.UPDATE_NODE_LABEL, True),
        (Action.UPDATE_NODE_TAINT, False),
        (Action.UPDATE_NODE_ALLOCATABLE, False),
    ],
)
def test_what_is_waited_for(action: Action, waited_for: bool) -> None:
    assert any(retry.matches(Event(Resource.NODE, action)) for retry in Priority.retry_on) is waited_for


def test_what_the_answer_depends_on() -> None:
    assert (Priority.depends_on, Priority.same_for_shape) == (STATIC, True)


def test_defaults() -> None:
    read = Priority.read_arguments({}, AT)
    assert (read.value, read.faults) == ({"labelKey": LABEL}, ())


@pytest.mark.parametrize(
    ("given", "stage", "told"),
    [
        pytest.param(
            {"labelKey": ""},
            Stage.VALIDATION,
            'profiles[0].pluginConfig[1].args.labelKey: Invalid value: "": name part must be non-empty',
            id="empty",
        ),
        pytest.param(
            {"labelKey": "a b"},
            Stage.VALIDATION,
            'profiles[0].pluginConfig[1].args.labelKey: Invalid value: "a b": name part must consist of',
            id="no label",
        ),
        pytest.param({"labelKey": 5}, Stage.DECODING, "labelKey: must be a string", id="a number"),
        pytest.param({"label": "a"}, Stage.STRICTNESS, 'unknown field "label"', id="another field"),
    ],
)
def test_faults(given: dict[str, object], stage: Stage, told: str) -> None:
    fault = Priority.read_arguments(given, AT).faults[0]
    assert fault.stage is stage
    assert fault.text.startswith(told)


VALUES = st.none() | st.sampled_from(["0", "1", "20", "007", "abc", "", "1.5", str(HIGHEST), "9" * 30]) | st.text()


@given(st.lists(VALUES, min_size=1, max_size=8))
def test_both_forms_agree(values: list[str | None]) -> None:
    nodes = cluster(*values)
    filter_all(Priority(), nodes, make_pod())
    scores = score_all(Priority(), nodes, make_pod())
    assert isinstance(scores, dict)
    assert all(0 <= score <= 100 for score in scores.values())
