"""The arithmetic that scores share."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.scoring import (
    BrokenLine,
    by_maximum,
    by_maximum_reversed,
    by_range,
    keeps_equals,
    normalized_by_maximum,
    truncated_division,
)
from pilotage.model.pod import Pod
from pilotage.testing import FakeCluster, make_node, make_pod, score_all

NUMBERS = st.integers(-(10**12), 10**12)


@pytest.mark.parametrize(
    ("scores", "normal", "reversed_"),
    [
        pytest.param([0, 5, 10], [0, 50, 100], [100, 50, 0], id="the largest is 100"),
        pytest.param([3], [100], [0], id="alone, too"),
        pytest.param([1, 2, 3], [33, 66, 100], [67, 34, 0], id="rounded down, and only then reversed"),
        pytest.param([0, 0], [0, 0], [100, 100], id="nothing stays nothing, or is best"),
        pytest.param([-4, 0], [-4, 0], [100, 100], id="without a positive score nothing is scaled"),
        pytest.param([-1, 3], [-33, 100], [133, 0], id="negative ones leave the range, which is an error later"),
        pytest.param([], [], [], id="no nodes"),
    ],
)
def test_by_maximum(scores: list[int], normal: list[int], reversed_: list[int]) -> None:
    given_scores = np.array(scores, np.int64)
    assert normalized_by_maximum(given_scores).tolist() == normal
    assert normalized_by_maximum(given_scores, reverse=True).tolist() == reversed_


class Labelled(Score):
    """Prefers a higher number in the label `n`."""

    normalize = by_maximum

    def score(self, cycle: Cycle, pod: Pod, node: Any) -> int:
        return int(node.labels["n"])


class Cheap(Labelled):
    """Prefers a lower one."""

    normalize = by_maximum_reversed


class Steps(Labelled):
    """Normalises in a way of its own."""

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Any) -> Any:
        return scores


class Raw(Score):
    """Does not normalise."""

    def score(self, cycle: Cycle, pod: Pod, node: Any) -> int:
        return 0


def test_a_plugin_normalises_by_naming_how() -> None:
    cluster = FakeCluster([make_node(name, labels={"n": str(n)}) for name, n in (("a", 10), ("b", 5))])
    assert score_all(Labelled(), cluster, make_pod()) == {"a": 100, "b": 50}
    assert score_all(Cheap(), cluster, make_pod()) == {"a": 0, "b": 50}


@pytest.mark.parametrize(("plugin", "keeps"), [(Labelled(), True), (Cheap(), True), (Raw(), True), (Steps(), False)])
def test_who_keeps_equal_scores_equal(plugin: Score, keeps: bool) -> None:
    assert keeps_equals(plugin) is keeps


@given(NUMBERS, NUMBERS.filter(bool))
def test_division_is_towards_zero(dividend: int, divisor: int) -> None:
    exact = abs(dividend) // abs(divisor)
    expected = exact if (dividend < 0) == (divisor < 0) else -exact
    assert truncated_division(np.array([dividend]), divisor).tolist() == [expected]
    assert truncated_division(np.array([dividend]), np.array([divisor])).tolist() == [expected]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(-5, 0, id="flat before the first point"),
        pytest.param(0, 0, id="at the first"),
        pytest.param(50, 5, id="between"),
        pytest.param(59, 6, id="rounded down on the way up"),
        pytest.param(80, 10, id="at a point"),
        pytest.param(81, 10, id="rounded to the previous point on the way down"),
        pytest.param(100, 7, id="at the last"),
        pytest.param(120, 7, id="flat after the last point"),
    ],
)
def test_broken_line(x: int, y: int) -> None:
    line = BrokenLine([(0, 0), (40, 4), (80, 10), (100, 7)])
    assert line(x) == y
    if 0 <= x <= 100:
        assert line.at(np.array([x])).tolist() == [line(x)]


class ByRange(Score):
    """Scores a node by the number that it is labelled with."""

    normalize = by_range

    def score(self, cycle: Cycle, pod: Pod, node: Any) -> int:
        return int(node.labels["raw"])


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        pytest.param([-5, 0, 5], [0, 50, 100], id="from the lowest to the highest"),
        pytest.param([0, 1, 3], [0, 33, 100], id="rounded down"),
        pytest.param([7, 7], [0, 0], id="all equal"),
        pytest.param([-(2**63), 0, 2**63 - 1], [0, 50, 100], id="as far apart as can be"),
    ],
)
def test_by_range(raw: list[int], normal: list[int]) -> None:
    nodes = [make_node(f"n{i}", labels={"raw": str(number)}) for i, number in enumerate(raw)]
    found = score_all(ByRange(), FakeCluster(nodes), make_pod())
    assert found == {f"n{i}": number for i, number in enumerate(normal)}
