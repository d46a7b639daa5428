"""How well requests fit zones: both forms say the same, whatever zones claim to have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.quantity import HUGE, LARGEST
from pilotage.plugins.topology.node_resource_topology_match.zone_scoring import Allocated, Balanced, Strategy

AMOUNTS = st.integers(0, 20) | st.sampled_from([HUGE, HUGE + 1, LARGEST // 100 + 1, LARGEST // 3, LARGEST - 1, LARGEST])
WISHES = st.lists(st.tuples(AMOUNTS.filter(bool), st.integers(1, 1_000_000), AMOUNTS, AMOUNTS), min_size=1, max_size=6)
STRATEGIES = [Allocated(most=False), Allocated(most=True), Balanced()]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["LeastAllocated", "MostAllocated", "BalancedAllocation"])
@given(WISHES)
def test_both_forms_agree(strategy: Strategy, wishes: list[tuple[int, int, int, int]]) -> None:
    wanted, weights, first, second = ([*column] for column in zip(*wishes, strict=True))
    one_by_one = [strategy.of(wanted, weights, have) for have in (first, second)]
    at_once = strategy.of_all(wanted, weights, [np.array([pair], np.int64) for pair in zip(first, second, strict=True)])
    assert at_once.tolist() == [one_by_one]
    assert all(0 <= score <= 100 for score in one_by_one)
