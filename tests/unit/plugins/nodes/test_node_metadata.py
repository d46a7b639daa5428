import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.config.faults import InvalidConfiguration, Stage
from pilotage.config.load import load
from pilotage.framework.api.plugin import STATIC
from pilotage.model.node import Node
from pilotage.model.quantity import SMALLEST
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.nodes import node_metadata as subject
from pilotage.plugins.nodes.node_metadata import NodeMetadata
from pilotage.testing import FakeCluster, make_node, make_pod, raw_scores, score_all

KEY = "example.com/value"
AT = ("profiles", 0, "pluginConfig", 1, "args")
NUMBERS = {"metadataKey": KEY, "metadataSource": "Label", "metadataType": "Number", "scoringStrategy": "Highest"}
TIMES = NUMBERS | {"metadataSource": "Annotation", "metadataType": "Timestamp", "scoringStrategy": "Newest"}


def preferring(strategy: str, **more: Any) -> NodeMetadata:
    given = NUMBERS if strategy in ("Highest", "Lowest") else TIMES
    return NodeMetadata.of(given | {"scoringStrategy": strategy} | more)


def node(name: str, value: str | None) -> Node:
    """Return a node with the value both as a label and as an annotation."""
    value_of = {} if value is None else {KEY: value}
    return make_node(name, labels=value_of, annotations=value_of)


def cluster(*values: str | None) -> FakeCluster:
    return FakeCluster([node(f"n{i}", value) for i, value in enumerate(values, start=1)])


def scores(plugin: NodeMetadata, values: Sequence[str | None]) -> list[int]:
    found = score_all(plugin, cluster(*values), make_pod())
    assert isinstance(found, dict)
    return list(found.values())


# -------------------------------------------------------------------------------------------------------------- score


@pytest.mark.parametrize(
    ("strategy", "values", "expected"),
    [
        pytest.param("Highest", ["10", "100", "50"], [1, 100, 45], id="the highest number is best"),
        pytest.param("Lowest", ["100", "10", "50"], [1, 100, 56], id="the lowest number is best"),
        pytest.param("Highest", ["50", None, None], [1, 0, 0], id="one of three is labelled"),
        pytest.param("Highest", [None, None, None], [0, 0, 0], id="none is labelled"),
        pytest.param("Highest", ["50", "50", "50"], [1, 1, 1], id="all are equal"),
        pytest.param("Highest", ["not-a-number", "5", "7"], [0, 1, 100], id="a value that is no number"),
        pytest.param("Highest", ["", "5"], [0, 1], id="a value that is empty"),
        pytest.param("Highest", ["NaN", "Inf", "1e999", "5"], [0, 0, 0, 1], id="numbers that are none"),
        pytest.param("Lowest", ["0.25", "0.9", "0.5"], [100, 1, 61], id="costs of an hour below 1 differ"),
        pytest.param("Highest", ["0.1", "0.4", "1.0"], [1, 34, 100], id="a third of the way, with binary fractions"),
        pytest.param("Highest", ["-1", "0", "1"], [1, 50, 100], id="negative numbers"),
        pytest.param("Highest", ["1e3", "0x1p10", "1_000"], [1, 100, 1], id="all the ways in which Go writes numbers"),
        pytest.param("Highest", ["-1.7e308", "0", "1.7e308"], [1, 50, 100], id="numbers as far apart as can be"),
        pytest.param(
            "Newest",
            ["2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-02T00:00:00Z"],
            [1, 100, 50],
            id="the newest time is best",
        ),
        pytest.param(
            "Oldest",
            ["2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-02T00:00:00Z"],
            [100, 1, 50],
            id="the oldest time is best",
        ),
        pytest.param("Newest", ["2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z"], [1, 1], id="zones are the same"),
        pytest.param(
            "Newest", ["2026-01-01T00:00:00.1Z", "2026-01-01T00:00:00.9Z"], [1, 100], id="times within a second differ"
        ),
        pytest.param("Newest", ["2999-01-01T00:00:00Z", "1999-01-01T00:00:00Z"], [100, 1], id="a time in the future"),
        pytest.param(
            "Oldest",
            ["yesterday", "1767225600", None, "2026-01-01T00:00:00Z"],
            [0, 0, 0, 1],
            id="values that are no time",
        ),
    ],
)
def test_scores(strategy: str, values: list[str | None], expected: list[int]) -> None:
    assert scores(preferring(strategy), values) == expected


@pytest.mark.parametrize(
    ("strategy", "value", "raw"),
    [
        pytest.param("Highest", "0.2501", 250, id="a number in thousandths"),
        pytest.param("Lowest", "0.9", -900, id="negative where low ones are best"),
        pytest.param("Highest", "1e300", 2**63 - 1024, id="the largest that there is"),
        pytest.param("Lowest", "1e300", -(2**63) + 1024, id="the lowest that there is"),
        pytest.param("Newest", "1970-01-01T00:01:00Z", 60_000, id="milliseconds since 1970"),
        pytest.param("Oldest", "1970-01-01T00:01:00Z", -60_000, id="negative where old ones are best"),
        pytest.param("Highest", "x", SMALLEST, id="no number"),
        pytest.param("Highest", None, SMALLEST, id="no value"),
    ],
)
def test_raw_scores(strategy: str, value: str | None, raw: int) -> None:
    assert raw_scores(preferring(strategy), cluster(value), make_pod()) == {"n1": raw}


@pytest.mark.parametrize(
    ("plugin", "values", "expected"),
    [
        pytest.param(preferring("Highest", defaultValue="20"), ["10", None, "30"], [1, 50, 100], id="between others"),
        pytest.param(preferring("Lowest", defaultValue="0"), ["10", None, "30"], [67, 100, 1], id="above all others"),
        pytest.param(preferring("Highest", defaultValue="9"), ["x", None], [0, 1], id="not for a value that is wrong"),
        pytest.param(preferring("Highest", defaultValue="9"), ["", None], [0, 1], id="not for one that is empty"),
        pytest.param(preferring("Highest", defaultValue="9"), [None, None], [1, 1], id="where nobody has a value"),
        pytest.param(
            preferring("Newest", timestampFormat="2006-01-02", defaultValue="2026-01-02"),
            ["2026-01-01", None, "2026-01-03"],
            [1, 50, 100],
            id="a time",
        ),
    ],
)
def test_a_default_counts_for_nodes_without_the_key(
    plugin: NodeMetadata, values: list[str | None], expected: list[int]
) -> None:
    assert scores(plugin, values) == expected


def test_times_may_be_written_so_that_a_label_can_hold_them() -> None:
    plugin = preferring("Newest", metadataSource="Label", timestampFormat="2006-01-02_15-04-05")
    assert scores(plugin, ["2026-01-01_12-00-00", "2026-01-01_11-59-59", "2026-01-01T12:00:00Z"]) == [100, 1, 0]


@pytest.mark.parametrize(("source", "best"), [("Label", "a"), ("Annotation", "b")])
def test_labels_and_annotations_are_not_the_same(source: str, best: str) -> None:
    nodes = [
        make_node("a", labels={KEY: "2"}, annotations={KEY: "1"}),
        make_node("b", labels={KEY: "1"}, annotations={KEY: "2"}),
    ]
    found = score_all(preferring("Highest", metadataSource=source), FakeCluster(nodes), make_pod())
    assert found == {"a": 1, "b": 1} | {best: 100}


def test_only_the_nodes_that_are_left_are_compared() -> None:
    assert score_all(preferring("Highest"), cluster("1", "5", "9"), make_pod(), ["n1", "n2"]) == {"n1": 1, "n2": 100}


def test_one_plugin_sees_what_changes() -> None:
    plugin, found = preferring("Highest"), cluster("1", "5")
    assert score_all(plugin, found, make_pod()) == {"n1": 1, "n2": 100}
    found.cache.put_node(node("n1", "9"))
    assert score_all(plugin, found, make_pod()) == {"n1": 100, "n2": 1}
    found.cache.put_node(node("n3", "10"))
    assert score_all(plugin, found, make_pod()) == {"n1": 80, "n2": 1, "n3": 100}
    found.cache.remove_node("n1")
    assert score_all(plugin, found, make_pod()) == {"n3": 100, "n2": 1}
    assert score_all(plugin, cluster("7"), make_pod()) == {"n1": 1}, "another cluster"


def test_neither_the_clock_nor_pods_play_a_part() -> None:
    assert NodeMetadata.depends_on is STATIC
    assert NodeMetadata.same_for_shape


def test_a_value_that_is_wrong_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    plugin, found = preferring("Highest"), cluster("high", "5")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            score_all(plugin, found, make_pod())
    told = "node n1: label example.com/value='high' is not a number, the node gets the lowest score"
    assert [record.getMessage() for record in caplog.records] == [told]


def test_what_was_told_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_WARNINGS", 3)
    plugin = preferring("Highest")
    score_all(plugin, cluster(*["x"] * 10), make_pod())
    assert len(plugin._warned) <= 3


# ---------------------------------------------------------------------------------------------------------- arguments


def test_defaults() -> None:
    found = NodeMetadata.read_arguments(NUMBERS, AT)
    assert (found.value, found.faults) == (
        NUMBERS | {"timestampFormat": "2006-01-02T15:04:05Z07:00", "defaultValue": ""},
        (),
    )
    assert NodeMetadata.read_arguments(TIMES | {"timestampFormat": ""}, AT).value["timestampFormat"]


ONE_OF_FOUR = 'scoringStrategy must be one of "Highest", "Lowest", "Newest", or "Oldest"'
TIMES_ONLY = 'scoringStrategy "Newest" and "Oldest" are only valid for metadataType "Timestamp"'
NUMBERS_ONLY = 'scoringStrategy "Highest" and "Lowest" are only valid for metadataType "Number"'


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(NUMBERS | {"metadataKey": ""}, ["metadataKey cannot be empty"], id="no key"),
        pytest.param(
            NUMBERS | {"metadataSource": "Taint"},
            ['metadataSource must be either "Label" or "Annotation"'],
            id="another source",
        ),
        pytest.param(
            NUMBERS | {"metadataType": "Text"},
            ['metadataType must be either "Number" or "Timestamp"'],
            id="a third type",
        ),
        pytest.param(NUMBERS | {"scoringStrategy": "Best"}, [ONE_OF_FOUR], id="another strategy"),
        pytest.param(NUMBERS | {"scoringStrategy": "highest"}, [ONE_OF_FOUR], id="a strategy in small letters"),
        pytest.param(NUMBERS | {"scoringStrategy": "Newest"}, [TIMES_ONLY], id="the newest number"),
        pytest.param(NUMBERS | {"scoringStrategy": "Oldest"}, [TIMES_ONLY], id="the oldest number"),
        pytest.param(TIMES | {"scoringStrategy": "Highest"}, [NUMBERS_ONLY], id="the highest time"),
        pytest.param(TIMES | {"scoringStrategy": "Lowest"}, [NUMBERS_ONLY], id="the lowest time"),
        pytest.param(
            {},
            [
                "metadataKey cannot be empty",
                'metadataSource must be either "Label" or "Annotation"',
                'metadataType must be either "Number" or "Timestamp"',
                ONE_OF_FOUR,
            ],
            id="nothing is given",
        ),
        pytest.param(
            TIMES | {"timestampFormat": "YYYY-MM-DD"},
            [
                'timestampFormat "YYYY-MM-DD" is not a Go time layout: it has no year; write 2 January 2006 '
                "15:04:05 in the format of the times"
            ],
            id="a layout that is none",
        ),
        pytest.param(NUMBERS | {"timestampFormat": "YYYY"}, [], id="a layout that is none, where there are no times"),
        pytest.param(NUMBERS | {"defaultValue": "dear"}, ['defaultValue "dear" is not a number'], id="a word"),
        pytest.param(
            TIMES | {"timestampFormat": "2006-01-02", "defaultValue": "1 May"},
            ['defaultValue "1 May" is not a time in the layout "2006-01-02"'],
            id="a default that is no time of the layout",
        ),
        pytest.param(NUMBERS | {"defaultValue": "0.5"}, [], id="a default that is right"),
    ],
)
def test_faults(given: dict[str, Any], told: list[str]) -> None:
    faults = NodeMetadata.read_arguments(given, AT).faults
    assert [fault.text for fault in faults] == [f"invalid NodeMetadataArgs: {text}" for text in told]
    assert {fault.stage for fault in faults} <= {Stage.PROFILES}


@pytest.mark.parametrize(
    ("source", "key", "right"),
    [
        ("Label", "no such/key", False),
        ("Label", "Example.com/x", False),
        ("Annotation", "Example.com/x", True),
        ("Annotation", "a/b/c", False),
    ],
)
def test_a_key_that_no_node_can_have_is_refused(source: str, key: str, right: bool) -> None:
    faults = NodeMetadata.read_arguments(NUMBERS | {"metadataSource": source, "metadataKey": key}, AT).faults
    assert [fault.text.split(": ")[1:3] for fault in faults] == ([] if right else [["metadataKey", "Invalid value"]])


def test_a_number_as_default_wants_quotes() -> None:
    (fault,) = NodeMetadata.read_arguments(NUMBERS | {"defaultValue": 10}, AT).faults
    assert (fault.stage, fault.text) == (Stage.DECODING, "defaultValue: must be a string, not the number 10")


def test_a_wrong_argument_ends_the_start() -> None:
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: cheap-first
  plugins: {score: {enabled: [{name: NodeMetadata}]}}
"""
    with pytest.raises(InvalidConfiguration) as caught:
        load(text, built_in())
    assert caught.value.upstream == (
        "initializing profiles: creating profile for scheduler name cheap-first: "
        'initializing plugin "NodeMetadata": invalid NodeMetadataArgs: metadataKey cannot be empty'
    )


# --------------------------------------------------------------------------------------------------- both forms agree


@given(
    st.lists(st.sampled_from([None, "", "x", "0", "-3", "7.5", "1e300", "-1e300", "1e-300", "2026"]), min_size=1),
    st.sampled_from(["Highest", "Lowest"]),
    st.sampled_from(["", "5"]),
)
def test_both_forms_agree(values: list[str | None], strategy: str, default: str) -> None:
    found = scores(preferring(strategy, defaultValue=default), values)
    assert all(0 <= score <= 100 for score in found)


@given(st.lists(st.integers(-(10**8), 10**8), min_size=2, max_size=8))
def test_whole_numbers_are_scored_as_the_original_scores_them(numbers: list[int]) -> None:
    lowest, span = min(numbers), max(numbers) - min(numbers)
    expected = [(number - lowest) * 99 // span + 1 if span else 1 for number in numbers]
    assert scores(preferring("Highest"), [str(number) for number in numbers]) == expected
