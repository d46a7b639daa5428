"""Queries about placed pods are kept up only while somebody asks them."""

import pytest

from pilotage.cache import placed_pods
from pilotage.framework.api.pods import PodQuery
from pilotage.testing import FakeCluster, make_node, make_pod


def test_a_query_that_was_not_asked_for_long_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(placed_pods, "monotonic", lambda: now)
    cluster = FakeCluster([make_node("n1")], [make_pod("a", node="n1")])
    placed = cluster.cache.placed
    queries = [PodQuery(((frozenset({f"n{number}", "default"}), ()),)) for number in range(5)]
    assert [placed.counts(query).tolist() for query in queries] == [[1]] * 5
    now += placed_pods.LONGEST_UNASKED
    placed.counts(queries[0])  # still of use
    now += 1
    assert placed.counts(PodQuery(((None, ()),))).tolist() == [1]
    assert len(placed._queries) == 2
    cluster.add_pod(make_pod("b", node="n1"))
    assert placed.counts(queries[0]).tolist() == placed.counts(queries[1]).tolist() == [2]
