"""The text format: Prometheus' own parser reads back what was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from pilotage.telemetry.exposition import escaped, header, histogram, labels_text, number, sample
from pilotage.telemetry.histograms import Histogram


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(1, "1", id="a whole number"),
        pytest.param(1.0, "1", id="a whole number that is a float"),
        pytest.param(0.1, "0.1", id="a fraction"),
        pytest.param(1e-05, "1e-05", id="a tiny one"),
        pytest.param(float("inf"), "+Inf", id="more than any"),
        pytest.param(float("-inf"), "-Inf", id="less than any"),
        pytest.param(float("nan"), "NaN", id="no number"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("plain", "plain", id="a plain value stays"),
        pytest.param('a"b', r"a\"b", id="a quote cannot end the value"),
        pytest.param("a\nb 1", r"a\nb 1", id="a new line cannot begin another sample"),
        pytest.param("a\\", r"a\\", id="a backslash cannot hide the quote"),
    ],
)
def test_label_values(value: str, text: str) -> None:
    assert escaped(value) == text


@given(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False))
def test_any_label_and_any_number_come_back(value: str, amount: float) -> None:
    text = header("some_gauge", "gauge", "help") + sample("some_gauge", labels_text(["a", "b"], [value, "x"]), amount)
    [family] = text_string_to_metric_families(text)
    [found] = family.samples
    assert (found.labels, found.value) == ({"a": value, "b": "x"}, amount)


def test_a_histogram_has_cumulative_buckets_a_sum_and_a_count() -> None:
    found = Histogram((0.5, 1.0))
    for value in (0.25, 1, 3):
        found.observe(value)
    assert histogram("h", 'a="b"', found) == (
        'h_bucket{a="b",le="0.5"} 1\n'
        'h_bucket{a="b",le="1"} 2\n'
        'h_bucket{a="b",le="+Inf"} 3\n'
        'h_sum{a="b"} 4.25\n'
        'h_count{a="b"} 3\n'
    )
    assert histogram("h", "", found).startswith('h_bucket{le="0.5"} 1\n')
