"""One node that claims, or one pod that asks for, more than 64 bits can reckon with changes nothing for the others."""

import pytest

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.resource_scoring import Demands, Strategy
from pilotage.framework.runtime.preemption.lower_priority import LowerPriorityUsage
from pilotage.model.quantity import HUGE, LARGEST
from pilotage.plugins.gangs.coscheduling.gang_room import FreeRoom, Wish
from pilotage.plugins.gangs.coscheduling.resource_gap import resource_gap
from pilotage.plugins.nodes.image_locality import ImageLocality
from pilotage.plugins.resources.node_resources_allocatable import NodeResourcesAllocatable
from pilotage.plugins.resources.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, score_all

ORDINARY = [make_node("small", cpu=2, memory="4Gi"), make_node("large", cpu=8, memory="16Gi")]
SIZES = ("100P", "9223372036854775807", "72057594037928m", "92233720368547759m", "9223372036854775807m")
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
SHAPE = {"requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}}


def fit(strategy: str) -> NodeResourcesFit:
    shape = SHAPE if strategy == STRATEGIES[2] else {}
    resources = [{"name": "cpu", "weight": 100}, {"name": "memory", "weight": 100}]
    return NodeResourcesFit.of({"scoringStrategy": {"type": strategy, "resources": resources, **shape}})


def scores(plugin: Score, cluster: FakeCluster) -> dict[str, int]:
    found = score_all(plugin, cluster, make_pod(cpu="1", memory="1Gi"))
    assert isinstance(found, dict)
    assert all(0 <= score <= 100 for score in found.values())
    return {node: score for node, score in found.items() if node != "huge"}


@pytest.mark.parametrize("cpu", SIZES)
@pytest.mark.parametrize(
    "plugin",
    [*map(fit, STRATEGIES), NodeResourcesBalancedAllocation()],
    ids=[*STRATEGIES, "NodeResourcesBalancedAllocation"],
)
def test_all_pods_are_placed_and_the_other_nodes_score_as_before(plugin: Score, cpu: str) -> None:
    huge = make_node("huge", cpu=cpu, memory="8Ei", allocatable={"ephemeral-storage": "8E"})
    cluster = FakeCluster([*ORDINARY, huge])
    assert scores(plugin, cluster) == scores(plugin, FakeCluster(ORDINARY))
    outcome = FakeScheduler(plugin, cluster=cluster).schedule(make_pod(cpu="1", memory="1Gi"))
    assert isinstance(outcome, Placed)


def test_a_node_is_huge_for_as_long_as_its_amounts_are() -> None:
    cluster = FakeCluster([make_node("n1", cpu="100P"), make_node("n2"), make_node("n3", memory=HUGE)])
    assert places(cluster) == [0]
    guest = make_pod("guest", memory="8Ei", node="n2")
    cluster.add_pod(guest)
    assert places(cluster) == [0, 1]
    cluster.cache.remove_node("n1")  # the last one takes its place
    assert places(cluster) == [1]
    cluster.remove_pod(guest)
    assert places(cluster) is None
    cluster.cache.put_node(make_node("n2", memory=HUGE + 1))
    assert places(cluster) == [1]
    cluster.cache.put_node(make_node("n2", memory=HUGE))
    assert places(cluster) is None


def places(cluster: FakeCluster) -> list[int] | None:
    found = cluster.nodes.huge_places()
    return None if found is None else found.tolist()


def test_only_huge_nodes_are_asked_about_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    strategy = type(NodeResourcesFit()._strategy)
    plain = strategy.score

    def noted(self: Strategy, demands: Demands, node: NodeInfo) -> int:
        asked.append(node.name)
        return plain(self, demands, node)

    monkeypatch.setattr(strategy, "score", noted)
    cluster = FakeCluster([make_node(f"n{i}") for i in range(100)] + [make_node("huge", cpu="100P")])
    pod = make_pod(cpu="1")
    NodeResourcesFit().score_nodes(cluster.cycle(pod), pod, cluster.nodes)
    assert asked == ["huge"]


def test_an_image_of_any_size_is_worth_no_more_than_enough() -> None:
    held = [("app:latest", LARGEST), ("tool:latest", -LARGEST)]
    cluster = FakeCluster([make_node("liar", images=held), *ORDINARY])
    pod = make_pod(
        spec={"containers": [{"name": f"c{i}", "image": image} for i, image in enumerate(("app", "app", "tool"))]}
    )
    assert score_all(ImageLocality(), cluster, pod) == {"liar": 100, "small": 0, "large": 0}


def test_room_for_gangs_adds_up() -> None:
    nodes = FakeCluster([make_node(f"n{i}", memory="8Ei", pods=LARGEST) for i in range(2)]).nodes
    room = FreeRoom(lambda: nodes)
    alike, differing = [make_pod("a", memory="1")] * 2, [make_pod("a", memory="8Ei"), make_pod("b", memory="4Ei")]
    assert room.could_fit(Wish.of(alike, 2))
    assert room.could_fit(Wish.of(differing, 2))
    assert resource_gap(nodes, {"memory": "8Ei"}, 1, ()) == ""


def test_less_important_pods_may_use_any_amount() -> None:
    pods = [make_pod(f"p{i}", priority=0, memory="8Ei", node="n1") for i in range(3)]
    cluster = FakeCluster([make_node("n1")], pods)
    assert LowerPriorityUsage().below(1, cluster.nodes).used("memory").tolist() == [LARGEST]  # type: ignore[union-attr]


def test_a_plugin_that_prefers_small_nodes_does_so_exactly() -> None:
    plugin = NodeResourcesAllocatable()
    assert scores(plugin, FakeCluster(ORDINARY)) == {"small": 100, "large": 0}
    assert scores(plugin, FakeCluster([*ORDINARY, make_node("huge", cpu="100P", memory="8Ei")])) == {
        "small": 100,
        "large": 99,
    }
