"""Layouts of domains: shared by pods with the same demands, and never more than so many."""

from pilotage.framework.topology import domain_layout
from pilotage.framework.topology.domain_layout import Layout, Layouts
from pilotage.framework.topology.spreading import Spread
from pilotage.model.pod import Pod
from pilotage.model.selectors import NOTHING
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


def test_the_oldest_layout_makes_room_for_a_new_one() -> None:
    layouts, nodes = Layouts(), cluster()
    oldest = layout(layouts, nodes, make_pod())
    others = [make_pod(node_selector={"zone": str(number)}) for number in range(domain_layout.MOST_LAYOUTS)]
    first, *_ = [layout(layouts, nodes, pod) for pod in others]
    assert layout(layouts, nodes, others[0]) is first
    assert layout(layouts, nodes, make_pod()) is not oldest
