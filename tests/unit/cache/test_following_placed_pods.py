"""Plugins that keep count of placed pods by themselves are told of all of them, once each."""

import logging

import pytest

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.plugin import FollowsPods, Score
from pilotage.model.pod import Pod
from pilotage.testing import FakeCluster, make_node, make_pod


class Counting(FollowsPods, Score):
    """Knows who is where."""

    def __post_init__(self) -> None:
        self._seen: dict[str, str] = {}

    def pod_placed(self, pod: Pod) -> None:
        assert pod.uid not in self._seen
        self._seen[pod.uid] = pod.node_name

    def pod_left(self, pod: Pod) -> None:
        del self._seen[pod.uid]


class Failing(Counting):
    """Cannot be told anything."""

    def pod_placed(self, pod: Pod) -> None:
        raise ValueError("no")


def test_pods_that_come_change_and_go_are_told() -> None:
    first, second = make_pod("first", node="n1"), make_pod("second", uid="two")
    cluster = FakeCluster([make_node("n1")], [first])
    plugin = Counting()
    cluster.cache.follow(plugin)
    assert plugin._seen == {first.uid: "n1"}

    cluster.cache.assume(second.on("n1"))
    assert plugin._seen == {first.uid: "n1", "two": "n1"}
    cluster.cache.put_pod(second.on("n1"))  # the same, bound
    cluster.cache.put_pod(make_pod("second", uid="two", node="gone", labels={"a": "b"}))
    assert plugin._seen["two"] == "gone"
    cluster.cache.remove_node("n1")
    assert first.uid in plugin._seen
    cluster.cache.remove_pod(first.uid)
    assert plugin._seen == {"two": "gone"}

    cluster.cache.unfollow(plugin)
    cluster.cache.remove_pod("two")
    assert plugin._seen == {"two": "gone"}


def test_one_that_fails_keeps_nobody_from_the_truth(caplog: pytest.LogCaptureFixture) -> None:
    cluster, plugin = FakeCluster([make_node("n1")]), Counting()
    cluster.cache.follow(Failing())
    cluster.cache.follow(plugin)
    with caplog.at_level(logging.ERROR):
        cluster.add_pod(make_pod("a", uid="a", node="n1"))
    assert plugin._seen == {"a": "n1"}
    assert cluster.nodes.pod_count.tolist() == [1]
    assert "Failing.pod_placed failed on pod default/a" in caplog.text


def test_in_a_copy_new_plugins_are_told_step_by_step() -> None:
    cache = ClusterCache(tells_later=True)
    for number in range(3):
        cache.put_pod(make_pod(f"p{number}", uid=f"p{number}", node="n1"))
    plugin, ended = Counting(), Counting()
    cache.follow(plugin)
    cache.follow(ended)
    cache.unfollow(ended)
    steps = cache.catch_up()
    told = [len(plugin._seen) for _ in steps]
    assert told == [1, 2, 3]
    assert not ended._seen
    assert [*cache.catch_up()] == [], "all know everything"
    cache.remove_pod("p0")
    assert len(plugin._seen) == 2, "and are told of everything from then on"


def test_a_change_that_is_taken_back_is_not_told() -> None:
    cluster, plugin = FakeCluster([make_node("n1")]), Counting()
    cluster.cache.follow(plugin)
    cluster.cache.unheard(cluster.cache.put_pod, make_pod("a", uid="a", node="n1"))
    assert cluster.nodes.pod_count.tolist() == [1]
    assert not plugin._seen
    cluster.cache.unheard(cluster.cache.remove_pod, "a")
    assert cluster.nodes.pod_count.tolist() == [0]
    cluster.add_pod(make_pod("b", uid="b", node="n1"))
    assert plugin._seen == {"b": "n1"}
