"""Flags about metrics."""

import pytest

from pilotage.telemetry.metric_options import InvalidOption, allowed_labels, disabled_metrics


def test_disabled_metrics_are_a_list_with_commas() -> None:
    assert disabled_metrics("a, b,,") == {"a", "b"}


def test_allowed_labels_are_told_by_metric_and_label() -> None:
    texts = ["metric_a,profile='x, y'", "metric_a,result=scheduled", "metric_b,profile=z"]
    assert allowed_labels(texts) == {
        "metric_a": {"profile": {"x", "y"}, "result": {"scheduled"}},
        "metric_b": {"profile": {"z"}},
    }


@pytest.mark.parametrize("text", ["metric", "metric=a", ",label=a", "metric,=a"])
def test_what_allows_nothing_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidOption, match="write metric,label='value,value'"):
        allowed_labels([text])
