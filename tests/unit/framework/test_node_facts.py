from pilotage.framework.api.node_facts import NodeColumn, NodeFacts
from pilotage.framework.api.nodes import NodeInfo
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.objects import make_node, make_pod


class Counting:
    """Counts pods, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, node: NodeInfo) -> int:
        self.asked.append(node.name)
        return len(node.pods)

    def since(self) -> list[str]:
        asked, self.asked = self.asked, []
        return asked


def cluster_of(names: str) -> FakeCluster:
    return FakeCluster([make_node(name) for name in names])


def test_only_nodes_that_changed_are_asked_again() -> None:
    cluster, column, count = cluster_of("abc"), NodeColumn(), Counting()
    assert column.read(cluster.nodes, count).tolist() == [0, 0, 0]
    assert count.since() == ["a", "b", "c"]
    cluster.add_pod(make_pod(node="b"))
    assert column.read(cluster.nodes, count).tolist() == [0, 1, 0]
    assert count.since() == ["b"]
    assert column.read(cluster.nodes, count).tolist() == [0, 1, 0]
    assert count.since() == []


def test_nodes_come_and_go() -> None:
    cluster, column, count = cluster_of("abc"), NodeColumn(), Counting()
    cluster.add_pod(make_pod(node="c"))
    column.read(cluster.nodes, count)
    cluster.cache.remove_node("a")
    assert column.read(cluster.nodes, count).tolist() == [1, 0]
    cluster.cache.put_node(make_node("d"))
    cluster.add_pod(make_pod("on-d", node="d"))
    cluster.add_pod(make_pod("too", node="d"))
    assert column.read(cluster.nodes, count).tolist() == [1, 0, 2]


def test_another_stamp_or_cluster_asks_all() -> None:
    cluster, column, count = cluster_of("ab"), NodeColumn(), Counting()
    column.read(cluster.nodes, count, 1)
    count.since()
    column.read(cluster.nodes, count, 2)
    assert count.since() == ["a", "b"]
    column.read(cluster_of("xy").nodes, count, 2)
    assert count.since() == ["x", "y"]


def test_facts_are_derived_when_asked_for_and_kept_until_a_change() -> None:
    cluster, facts, count = cluster_of("ab"), NodeFacts[int](), Counting()
    for expected in (["a"], []):
        facts.catch_up(cluster.nodes)
        assert facts.of(cluster.nodes[0], count) == 0
        assert count.since() == expected
    cluster.add_pod(make_pod(node="a"))
    facts.catch_up(cluster.nodes)
    assert facts.of(cluster.nodes[0], count) == 1
    facts.catch_up(cluster.nodes, "another stamp")
    count.since()
    facts.of(cluster.nodes[0], count)
    assert count.since() == ["a"]
