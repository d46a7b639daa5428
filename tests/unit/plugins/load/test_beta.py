"""The incomplete beta function, against closed forms of it."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.plugins.load.low_risk_over_commitment.beta import NARROW, incomplete_beta, incomplete_beta_of

shares = st.floats(0.001, 0.999)


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [
        pytest.param(1, 1, 0.3, 0.3, id="all shares are as likely"),
        pytest.param(2, 2, 0.5, 0.5, id="at the middle of a symmetric one"),
        pytest.param(2, 3, 0.25, 0.26171875, id="a polynomial"),
        pytest.param(0.5, 0.5, 0.25, 1 / 3, id="the arcsine law"),
        pytest.param(3, 1, 0.5, 0.125, id="a power"),
        pytest.param(5, 2, 0, 0, id="nothing is below 0"),
        pytest.param(5, 2, 1, 1, id="everything is below 1"),
        pytest.param(5, 2, -0.5, 0, id="nor below what is below 0"),
        pytest.param(5, 2, 1.5, 1, id="and below what is above 1"),
        pytest.param(0.001, 0.001, 0.5, 0.5, id="almost only the ends"),
        pytest.param(4e4, 4e4, 0.5, 0.5, id="a narrow one at its middle"),
        pytest.param(4e4, 4e4, 0.49, 0, id="below it"),
        pytest.param(4e4, 4e4, 0.51, 1, id="above it"),
        pytest.param(1e15, 1e15, 0.5, 0.5, id="one that is a line"),
        pytest.param(1e15, 3e15, 0.25 + 1e-6, 1, id="just above a line"),
    ],
)
def test_known_values(a: float, b: float, x: float, expected: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-12, abs=1e-8)


@given(st.integers(1, 60), st.integers(1, 60), shares)
def test_whole_numbers_are_a_sum_of_binomials(a: int, b: int, x: float) -> None:
    n = a + b - 1
    expected = sum(comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1))
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-9, abs=1e-12)


parameters = st.floats(0.01, 1e6)


@given(parameters, parameters, shares)
def test_the_two_sides_are_everything(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) + incomplete_beta(b, a, 1 - x) == pytest.approx(1, abs=1e-6)


@given(parameters, parameters, shares, shares)
def test_a_larger_share_is_as_likely_or_more(a: float, b: float, one: float, other: float) -> None:
    assert incomplete_beta(a, b, min(one, other)) <= incomplete_beta(a, b, max(one, other)) + 1e-9


@given(st.floats(0.05, 0.95), st.floats(0.9, 0.999), st.floats(-3, 3))
def test_the_approximation_begins_where_it_is_good_enough(mean: float, part: float, away: float) -> None:
    x = mean + away * (mean * (1 - mean) / NARROW) ** 0.5
    exact = incomplete_beta(mean * NARROW * part, (1 - mean) * NARROW * part, x)
    near = incomplete_beta(mean * NARROW * 1.001, (1 - mean) * NARROW * 1.001, x)
    assert near == pytest.approx(exact, abs=0.05)


@given(st.lists(st.tuples(parameters, parameters, st.floats(-0.5, 1.5)), max_size=20))
def test_many_at_once_are_the_same(given_: list[tuple[float, float, float]]) -> None:
    a, b, x = np.array(given_, np.float64).reshape(-1, 3).T
    expected = [incomplete_beta(*each) for each in given_]
    assert incomplete_beta_of(a, b, x).tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)
