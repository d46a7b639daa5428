"""What columns keep of things that are gone is bounded, and what they drop is right again when somebody asks."""

import numpy as np
import pytest

from pilotage.cache import label_columns, node_columns
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.node_matching import match_required
from pilotage.model.selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    RequiredNodeAffinity,
    integer,
)
from pilotage.testing import make_node, make_pod


def taint(value: str) -> dict[str, str]:
    return {"key": "candidate", "value": value, "effect": "PreferNoSchedule"}


def test_taints_that_no_node_has_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_columns, "SPARE_TAINT_SETS", 5)
    cache = ClusterCache()
    cache.put_node(make_node("still", taints=[taint("always")]))
    cache.put_node(make_node("none"))
    for time in range(100):
        cache.put_node(make_node("busy", taints=[taint(f"at-{time}")]))
        nodes = cache.nodes()
        assert len(nodes.taint_sets) <= 2 * len(nodes) + 5
        found = {node.name: nodes.taint_sets[nodes.taint_set_ids[place]] for place, node in enumerate(nodes)}
        values = {name: [each.value for each in taints] for name, taints in found.items()}
        assert values == {"still": ["always"], "none": [], "busy": [f"at-{time}"]}


def test_only_so_many_label_keys_have_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_columns, "MOST_BYTES", 0)
    monkeypatch.setattr(label_columns, "FEWEST_KEYS", 3)
    cache = ClusterCache()
    cache.put_node(make_node("a", labels={f"key-{n}": f"value-{n}" for n in range(10)}))
    nodes = cache.nodes()
    for n in (*range(10), *range(10)):
        assert nodes.label_values(f"key-{n}")[nodes.label_ids(f"key-{n}")[0]] == f"value-{n}"
        assert columns_of(cache) <= FIXED + 3
    cache.put_node(make_node("a", labels={"key-0": "other"}))
    assert cache.nodes().label_values("key-0")[cache.nodes().label_ids("key-0")[0]] == "other"


def test_the_label_that_was_not_asked_for_the_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_columns, "MOST_BYTES", 0)
    monkeypatch.setattr(label_columns, "FEWEST_KEYS", 2)
    cache = ClusterCache()
    cache.put_node(make_node("a", labels=dict.fromkeys(["often", "once", "new"], "x")))
    often = cache.nodes().label_ids("often")
    cache.nodes().label_ids("once")
    assert np.shares_memory(cache.nodes().label_ids("often"), often)
    cache.nodes().label_ids("new")
    assert np.shares_memory(cache.nodes().label_ids("often"), often)


def test_labels_that_no_node_has_take_no_memory() -> None:
    cache = ClusterCache()
    for n in range(3):
        cache.put_node(make_node(f"n{n}"))
    before = columns_of(cache)
    for n in range(2000):
        nodes = cache.nodes()
        assert nodes.label_ids(f"key-{n}").tolist() == [0, 0, 0]
        assert list(nodes.label_values(f"key-{n}")) == [""]
        assert nodes.label_id(f"key-{n}", "x") == 0
        assert not nodes.has_label(f"key-{n}")
    assert columns_of(cache) == before


def test_a_label_comes_and_goes_with_its_nodes() -> None:
    cache = ClusterCache()
    cache.put_node(make_node("a"))
    assert cache.nodes().label_ids("zone").tolist() == [0]
    cache.put_node(make_node("b", labels={"zone": "x"}))
    assert [cache.nodes().label_values("zone")[each] for each in cache.nodes().label_ids("zone")] == ["", "x"]
    cache.put_node(make_node("a", labels={"zone": "y"}))
    assert [cache.nodes().label_values("zone")[each] for each in cache.nodes().label_ids("zone")] == ["y", "x"]
    cache.remove_node("b")
    assert cache.nodes().has_label("zone")
    cache.put_node(make_node("a"))
    assert not cache.nodes().has_label("zone")
    assert cache.nodes().label_ids("zone").tolist() == [0]


def test_values_of_labels_are_read_as_numbers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(text: str) -> int | None:
        read.append(text)
        return integer(text)

    monkeypatch.setattr(label_columns, "integer", noted)
    cache = ClusterCache()
    for value in ("7", "x", "-3"):
        cache.put_node(make_node(f"n{value}", labels={"size": value}))
    for bound, expected in ((0, [True, False, False]), (6, [True, False, False]), (7, [False, False, False])):
        required = RequiredNodeAffinity(None, term("size", "Gt", str(bound)))
        assert match_required(required, cache.nodes()).tolist() == expected
    assert read == ["7", "x", "-3"]


def term(key: str, operator: str, value: str) -> NodeSelector:
    return NodeSelector((NodeSelectorTerm((NodeSelectorRequirement(key, operator, (value,)),)),))


def test_only_so_many_resources_have_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_columns, "MOST_BYTES", 0)
    monkeypatch.setattr(node_columns, "FEWEST_RESOURCES", 3)
    cache = ClusterCache()
    resources = [f"example.com/r{n}" for n in range(10)]
    cache.put_node(make_node("a", allocatable={name: 10 + n for n, name in enumerate(resources)}))
    cache.put_pod(make_pod("p", node="a", requests={name: n for n, name in enumerate(resources)}))
    nodes = cache.nodes()
    for n, name in (*enumerate(resources), *enumerate(resources)):
        assert np.array_equal(nodes.allocatable(name), [10 + n])
        assert np.array_equal(nodes.requested(name), [n])
        assert columns_of(cache) <= FIXED + 6


def test_resources_that_no_node_has_take_no_memory() -> None:
    cache = ClusterCache()
    cache.put_node(make_node("a", allocatable={"example.com/here": 1}))
    before = columns_of(cache)
    for n in range(2000):
        assert not cache.nodes().has_resource(f"example.com/r{n}")
        assert cache.nodes().allocatable(f"example.com/r{n}").tolist() == [0]
    assert columns_of(cache) == before


def test_a_resource_comes_and_goes_with_its_nodes() -> None:
    cache = ClusterCache()
    cache.put_node(make_node("a"))
    for amount in (5, 7):
        cache.put_node(make_node("a", allocatable={"example.com/gpu": amount}))
        assert cache.nodes().allocatable("example.com/gpu").tolist() == [amount]
    cache.put_node(make_node("a"))
    assert not cache.nodes().has_resource("example.com/gpu")
    assert cache.nodes().allocatable("example.com/gpu").tolist() == [0]


def columns_of(cache: ClusterCache) -> int:
    return len(cache.columns.columns)


EMPTY = ClusterCache()
FIXED = columns_of(EMPTY)  # those that every cluster has
