"""Among which nodes a pod is drawn while schedulers race."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.scheduling.sharing.near_best import MOST_NEAR, near_best


@pytest.mark.parametrize(
    ("totals", "percent", "found"),
    [
        pytest.param([100, 99, 95, 94], 5, [0, 1, 2], id="those within five percent"),
        pytest.param([100, 99, 95, 94], 1, [0, 1], id="those within one percent"),
        pytest.param([200, 191, 189], 5, [0, 1], id="a part of the best score"),
        pytest.param([27, 27, 22, 21], 5, [0, 1, 2], id="five points where the best is low"),
        pytest.param([0, 0, 0], 5, [0, 1, 2], id="all if none is preferred"),
        pytest.param([100, 1], 100, [0, 1], id="all if that is wanted"),
        pytest.param([-100, -104, -106], 5, [0, 1], id="extenders that take points away"),
        pytest.param([100, *[98] * 40, 0], 5, None, id="one and some of many that are equal"),
        pytest.param([100] * 30 + [99] * 30, 5, list(range(30)), id="the best are more than enough"),
    ],
)
def test_among_which_nodes_is_drawn(totals: list[int], percent: int, found: list[int] | None) -> None:
    drawn = near_best(np.array(totals, np.int64), percent, Random(0)).tolist()
    if found is not None:
        assert sorted(drawn) == found
    else:
        assert 0 in drawn
        assert len(set(drawn)) == len(drawn) == MOST_NEAR


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=60), st.integers(1, 100), st.integers())
def test_the_best_is_among_them_and_none_is_too_far(totals: list[int], percent: int, seed: int) -> None:
    drawn = near_best(np.array(totals, np.int64), percent, Random(seed)).tolist()
    best = max(totals)
    best_ones = totals.count(best)
    assert len(set(drawn)) == len(drawn) <= max(MOST_NEAR, best_ones)
    assert any(totals[place] == best for place in drawn)
    assert all(totals[place] >= best - max(abs(best), 100) * percent // 100 for place in drawn)
    worst = min(totals[place] for place in drawn)
    better = [place for place, total in enumerate(totals) if total > worst]
    assert set(better) <= set(drawn)
    again = near_best(np.array(totals, np.int64), percent, Random(seed)).tolist()
    assert again == drawn
