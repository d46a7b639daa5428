"""A placed pod that says absurdly much about others: nobody goes where it may shun them, and it costs others little."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.pods import TermKind
from pilotage.model.affinity import carried_terms, readable_terms_of
from pilotage.model.limits import MOST_POD_TERMS
from pilotage.model.pod import Pod
from pilotage.testing import make_node, make_pod

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
EVERYWHERE: dict[str, Any] = {"labelSelector": {}, "namespaceSelector": {}}
ANTI = TermKind.REQUIRED_ANTI_AFFINITY


def shunning(terms: Iterable[dict[str, Any]], **fields: Any) -> Pod:
    return make_pod("shy", affinity={"podAntiAffinity": {REQUIRED: list(terms)}}, **fields)


def topologies(number: int, **term: Any) -> list[dict[str, Any]]:
    return [{"topologyKey": f"key-{i}", **term} for i in range(number)]


def cluster(**labels: str) -> ClusterCache:
    cache = ClusterCache()
    cache.put_node(make_node("n", labels=labels))
    return cache


def about(cache: ClusterCache, **fields: Any) -> dict[str, list[int]]:
    found = cache.placed.terms_about(make_pod("other", **fields), ANTI)
    return {term.topology_key: term.counts.tolist() for term in found}


def test_only_topologies_that_its_node_is_in_count() -> None:
    cache = cluster(**{"key-7": "x", "other": "y"})
    cache.put_pod(shunning(topologies(10_000, **EVERYWHERE), node="n"))
    assert about(cache) == {"key-7": [1]}


def test_its_node_moves_to_other_topologies() -> None:
    cache = cluster()
    cache.put_pod(shunning(topologies(10_000, **EVERYWHERE), node="n"))
    assert about(cache) == {}
    cache.put_node(make_node("n", labels={"key-3": "x"}))
    assert about(cache) == {"key-3": [1]}
    cache.put_node(make_node("n", labels={"key-4": "x"}))
    assert about(cache) == {"key-4": [1]}


def test_all_that_any_of_its_terms_may_mean_is_shunned() -> None:
    selectors = [{"matchLabels": {"app": f"a{i}"}} for i in range(MOST_POD_TERMS + 1)]
    terms = [{"topologyKey": "host", "labelSelector": each, "namespaces": ["red", "blue"]} for each in selectors]
    cache = cluster(host="n")
    cache.put_pod(shunning(terms, node="n"))
    assert about(cache, namespace="red", labels={"app": "a1"}) == {"host": [1]}
    assert about(cache, namespace="blue", labels={"app": "none of these"}) == {"host": [1]}
    assert about(cache, namespace="green", labels={"app": "a1"}) == {}


def test_without_namespaces_its_own_is_meant() -> None:
    cache = cluster(host="n")
    terms = [{"topologyKey": "host", "labelSelector": {"matchLabels": {"app": str(i)}}} for i in range(1000)]
    cache.put_pod(shunning(terms, node="n", namespace="mine"))
    assert about(cache, namespace="mine") == {"host": [1]}
    assert about(cache, namespace="yours") == {}


def test_terms_that_mean_no_pod_mean_none_together() -> None:
    cache = cluster(host="n")
    cache.put_pod(shunning([{"topologyKey": "host"}] * 1000, node="n"))
    assert about(cache) == {}


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in TermKind if kind is not ANTI])
def test_what_it_prefers_and_wants_does_not_count(kind: TermKind) -> None:
    terms = topologies(1000, **EVERYWHERE)
    weighed = [{"weight": 1, "podAffinityTerm": term} for term in terms]
    affinity = {"podAffinity": {REQUIRED: terms, PREFERRED: weighed}, "podAntiAffinity": {PREFERRED: weighed}}
    cache = cluster(**{"key-1": "x"})
    cache.put_pod(make_pod("needy", affinity=affinity, node="n"))
    assert not cache.placed.terms_about(make_pod("other"), kind)


def test_the_most_topologies_of_one_pod() -> None:
    cache = cluster(**{f"key-{i}": "x" for i in range(1000)})
    cache.put_pod(shunning(topologies(1000, **EVERYWHERE), node="n"))
    assert len(about(cache)) == MOST_POD_TERMS


def test_nothing_is_left_of_it() -> None:
    cache = cluster(**{"key-1": "x"})
    pod = shunning(topologies(10_000, **EVERYWHERE), node="n")
    cache.put_pod(pod)
    cache.put_node(make_node("n", labels={"key-1": "x", "key-2": "x"}))
    cache.remove_pod(pod.uid)
    assert about(cache) == {}
    assert not any(cache.placed._carried)


def test_its_node_goes_and_comes_back() -> None:
    cache = cluster(**{"key-1": "x"})
    cache.put_pod(shunning(topologies(10_000, **EVERYWHERE), node="n"))
    cache.remove_node("n")
    assert about(cache) == {}
    cache.put_node(make_node("n", labels={"key-2": "x"}))
    assert about(cache) == {"key-2": [1]}


def test_what_it_takes_of_its_node_is_counted_in_full() -> None:
    cache = cluster()
    asked = {f"example.com/r{i}": 2 for i in range(5000)}
    ports = range(1, 3001)
    cache.put_pod(make_pod("greedy", node="n", cpu="3", memory="1Gi", requests=asked, host_ports=ports))
    node = cache.nodes()[0]
    assert node.requested["cpu"] == 3000
    assert node.requested["example.com/r4999"] == 2
    assert len(node.used_ports) == 3000
    assert cache.nodes().requested("example.com/r17").tolist() == [2]


def test_terms_that_few_nodes_have_take_no_column() -> None:
    cache = cluster(host="n")
    before = len(cache.columns.columns)
    for i in range(MOST_POD_TERMS):
        cache.put_pod(shunning([{"topologyKey": "host", "labelSelector": {"matchLabels": {"app": str(i)}}}], node="n"))
    assert len(cache.columns.columns) == before
    assert about(cache, labels={"app": "3"}) == {"host": [1]}


@given(st.lists(st.tuples(st.integers(0, 29), st.booleans()), max_size=120))
def test_few_nodes_and_many_are_counted_alike(moves: list[tuple[int, bool]]) -> None:
    cache = ClusterCache()
    for i in range(30):
        cache.put_node(make_node(f"n{i}"))
    counts: list[int] = [0] * 30
    there: dict[int, list[Pod]] = {}
    for place, comes in moves:
        if comes:
            pod = shunning([{"topologyKey": "host", "labelSelector": {}}], node=f"n{place}")
            there.setdefault(place, []).append(pod)
            cache.put_pod(pod)
            counts[place] += 1
        elif there.get(place):
            cache.remove_pod(there[place].pop().uid)
            counts[place] -= 1
        assert about(cache).get("host", [0] * 30) == counts


def test_a_pod_within_the_limits_brings_all_of_its_terms() -> None:
    pod = shunning(topologies(MOST_POD_TERMS, **EVERYWHERE))
    assert carried_terms(pod, {}) == readable_terms_of(pod)
