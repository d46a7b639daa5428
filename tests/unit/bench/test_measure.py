"""What is calculated from what was seen."""

import os

import pytest

from bench.live.measure import (
    Spent,
    average,
    cpu_seconds,
    overall,
    peak_memory,
    percentile,
    samples,
    stop_time,
    until_whole,
)


@pytest.mark.parametrize(
    ("bound", "stop", "expected"),
    [
        pytest.param([], 5, [], id="nothing was bound"),
        pytest.param([0.1, 0.2, 0.3], 1, [], id="the first second only sets the mark"),
        pytest.param([0.5, 1.2, 1.4, 1.6, 2.5], 3, [3.0, 1.0], id="then each second is a sample"),
        pytest.param([2.5, 3.1, 3.2], 4, [2.0], id="seconds before the first pod are none"),
        pytest.param([0.5, 3.1, 3.2, 3.3], 4, [1.0, 1.0, 1.0], id="idle seconds share what comes after them"),
        pytest.param([0.5, 1.5, 1.6], 1.9, [], id="a second that was not over is none"),
        pytest.param([1.6, 0.5, 1.5], 2, [2.0], id="in any order"),
    ],
)
def test_samples(bound: list[float], stop: float, expected: list[float]) -> None:
    assert samples(bound, 0, stop) == pytest.approx(expected)
    assert samples([at + 100 for at in bound], 100, stop + 100) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("last", "created", "expected"),
    [
        pytest.param(4.2, 3.0, 5.0, id="at the look after the last pod"),
        pytest.param(5.0, 3.0, 5.0, id="at the look that just sees it"),
        pytest.param(2.0, 3.0, 3.0, id="at the first look if all were bound while they were created"),
    ],
)
def test_sampling_stops(last: float, created: float, expected: float) -> None:
    assert stop_time(last, created) == expected


def test_overall_is_from_the_first_to_the_last() -> None:
    assert overall([10.0, 14.0, 11.0]) == 0.5
    assert overall([10.0]) is None
    assert overall([]) is None


@pytest.mark.parametrize(("percent", "expected"), [(50, 2.0), (99, 4.0), (25, 1.0), (0, 1.0)])
def test_percentiles_are_values_that_occurred(percent: int, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == expected


def test_nothing_has_no_average_and_no_percentile() -> None:
    assert (average([]), percentile([], 50)) == (None, None)


def test_what_was_spent_since_a_look() -> None:
    assert Spent({"a": 5.0, "new": 1.0}).since(Spent({"a": 2.0, "gone": 9.0})) == Spent({"a": 3.0, "new": 1.0})


def test_a_process_is_looked_at() -> None:
    before = cpu_seconds(os.getpid())
    assert before > 0
    assert cpu_seconds(os.getpid()) >= before
    assert peak_memory(os.getpid()) > 1 << 20


@pytest.mark.parametrize(
    ("created", "bound", "expected"),
    [
        pytest.param({"a": 1, "b": 3}, {"a": 3.5, "b": 4}, 1.0, id="from the last created to the last bound"),
        pytest.param({"a": 1, "b": 3}, {"a": 2, "b": 2.9}, 0.0, id="an answer that was read late"),
        pytest.param({"a": 1, "b": 3}, {"a": 4}, None, id="a gang of which a pod waits"),
    ],
)
def test_until_a_gang_is_whole(created: dict[str, float], bound: dict[str, float], expected: float | None) -> None:
    assert until_whole([["a", "b"]], created, bound) == expected


def test_of_several_gangs_the_median_counts() -> None:
    created = dict.fromkeys("abc", 0.0)
    assert until_whole(["a", "b", "c"], created, {"a": 1, "b": 2, "c": 9}) == 2.0
