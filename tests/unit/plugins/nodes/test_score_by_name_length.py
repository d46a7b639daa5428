import pytest

from pilotage.plugins.nodes.score_by_name_length import ScoreByNameLength
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, score_all


@pytest.mark.parametrize(
    ("name", "score"),
    [("k8s-master01", 2), ("k8s-node01", 2), ("k8s-node02", 3), ("node1", 1), ("node2", 2), ("a", 7), ("aa", 4)],
)
def test_scores(name: str, score: int) -> None:
    assert score_all(ScoreByNameLength(), FakeCluster([make_node(name)]), make_pod()) == {name: score}


def test_scores_are_not_normalised() -> None:
    cluster = FakeCluster([make_node("node1"), make_node("node2")])
    assert score_all(ScoreByNameLength(), cluster, make_pod()) == {"node1": 1, "node2": 2}


def test_the_pod_of_the_original_demonstration() -> None:
    cluster = FakeCluster([make_node("k8s-master01"), make_node("k8s-node01"), make_node("k8s-node02")])
    outcome = FakeScheduler(ScoreByNameLength(), cluster=cluster).schedule(make_pod())
    assert isinstance(outcome, Placed)
    assert outcome.node == "k8s-node02"
