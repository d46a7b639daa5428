"""What columns keep of things that are gone is bounded, and what they drop is right again when somebody asks."""

import numpy as np
import pytest

from pilotage.cache import label_columns, node_columns
from pilotage.cache.cluster_cache import ClusterCache
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
    monkeypatch.setattr(label_columns, "MOST_KEYS", 3)
    cache = ClusterCache()
    cache.put_node(make_node("a", labels={f"key-{n}": f"value-{n}" for n in range(10)}))
    nodes = cache.nodes()
    for n in (*range(10), *range(10)):
        assert nodes.label_values(f"key-{n}")[nodes.label_ids(f"key-{n}")[0]] == f"value-{n}"
    cache.put_node(make_node("a", labels={"key-0": "other"}))
    assert cache.nodes().label_values("key-0")[cache.nodes().label_ids("key-0")[0]] == "other"


def test_only_so_many_resources_have_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_columns, "MOST_RESOURCES", 3)
    cache = ClusterCache()
    resources = [f"example.com/r{n}" for n in range(10)]
    cache.put_node(make_node("a", allocatable={name: 10 + n for n, name in enumerate(resources)}))
    cache.put_pod(make_pod("p", node="a", requests={name: n for n, name in enumerate(resources)}))
    nodes = cache.nodes()
    for n, name in (*enumerate(resources), *enumerate(resources)):
        assert np.array_equal(nodes.allocatable(name), [10 + n])
        assert np.array_equal(nodes.requested(name), [n])
