"""Layouts of domains: shared by pods with the same demands, and never more than so many."""

import pytest

from pilotage.framework.api.spreading import Spread
from pilotage.model.pod import Pod
from pilotage.model.selectors import NOTHING
from pilotage.plugins.topology.pod_topology_spread import domain_layout
from pilotage.plugins.topology.pod_topology_spread.domain_layout import Layout, Layouts
from pilotage.testing import FakeCluster, make_node, make_pod

TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Exists"}
BY_ZONE = Spread("zone", 1, NOTHING)


def layout(layouts: Layouts, cluster: FakeCluster, pod: Pod, spread: Spread = BY_ZONE) -> Layout:
    """The layout for one constraint of a pod."""
    return layouts.of(cluster.nodes, pod.shape, [spread], complete=True)


def cluster() -> FakeCluster:
    """Two zones, one of them with a taint."""
    return FakeCluster([make_node("a", labels={"zone": "a"}), make_node("b", labels={"zone": "b"}, taints=[TAINT])])


def test_pods_that_demand_the_same_of_nodes_share_a_layout() -> None:
    layouts, nodes = Layouts(), cluster()
    plain = layout(layouts, nodes, make_pod())
    assert layout(layouts, nodes, make_pod(cpu=1)) is plain
    assert layout(layouts, nodes, make_pod(tolerations=[TOLERATION])) is plain  # taints are ignored
    assert layout(layouts, nodes, make_pod(node_selector={"zone": "a"})) is not plain
    careful = BY_ZONE._replace(honors_taints=True)
    kept_away = layout(layouts, nodes, make_pod(), careful)
    assert layout(layouts, nodes, make_pod(tolerations=[TOLERATION]), careful) is not kept_away
    assert (len(kept_away.domains[0].present), len(plain.domains[0].present)) == (1, 2)


def test_a_layout_lasts_until_a_node_changes() -> None:
    layouts, nodes = Layouts(), cluster()
    before = layout(layouts, nodes, make_pod())
    nodes.add_pod(make_pod(node="a"))
    assert layout(layouts, nodes, make_pod()) is before
    nodes.cache.put_node(make_node("b", labels={"zone": "a"}))
    assert len(layout(layouts, nodes, make_pod()).domains[0].present) == 1


def test_the_layout_that_was_not_asked_for_the_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts, nodes = Layouts(), cluster()
    pods = [make_pod(), *(make_pod(node_selector={"zone": str(number)}) for number in range(3))]
    found = [layout(layouts, nodes, pod) for pod in pods[:3]]
    monkeypatch.setattr(domain_layout, "MOST_BYTES", sum(each.nbytes for each in found))
    assert layout(layouts, nodes, pods[0]) is found[0]
    layout(layouts, nodes, pods[3])
    assert layout(layouts, nodes, pods[0]) is found[0]
    assert layout(layouts, nodes, pods[1]) is not found[1]


def test_layouts_are_bounded_by_their_size_and_not_only_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_layout, "MOST_BYTES", 1000)
    layouts, nodes = Layouts(), cluster()
    for number in range(1, 30):
        spreads = [Spread(f"key-{each}", 1, NOTHING) for each in range(number)]
        last = layouts.of(nodes.nodes, make_pod().shape, spreads, complete=True)
        assert sum(each.nbytes for each in layouts._known.values()) <= max(1000, last.nbytes)
