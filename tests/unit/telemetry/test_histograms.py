"""Histograms count every value once, in the right place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.telemetry.histograms import Histogram, exponential

VALUES = st.lists(st.floats(0, 10) | st.sampled_from([1.0, 2.0, 4.0]))


@given(VALUES)
def test_a_bucket_holds_all_that_is_not_above_its_boundary(values: list[float]) -> None:
    found = Histogram(exponential(1, 2, 3))
    for value in values:
        found.observe(value)
    assert found.cumulative() == [sum(value <= bound for value in values) for bound in (1, 2, 4)] + [len(values)]
    assert found.total == pytest.approx(sum(values))


@given(VALUES, VALUES)
def test_merged_histograms_hold_what_each_of_them_held(some: list[float], others: list[float]) -> None:
    one, other, both = (Histogram((1.0, 2.0)) for _ in range(3))
    for value in some:
        one.observe(value)
        both.observe(value)
    for value in others:
        other.observe(value)
        both.observe(value)
    assert Histogram.merged([one, other]).cumulative() == both.cumulative()


def test_one_that_begins_again_is_still_the_same_for_its_holder() -> None:
    found = Histogram((1.0,))
    found.observe(5)
    found.reset()
    found.observe(0.5)
    assert (found.cumulative(), found.total) == ([1, 1], 0.5)
