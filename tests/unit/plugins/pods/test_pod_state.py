import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import CLUSTER
from pilotage.plugins.pods.pod_state import PodState
from pilotage.testing import FakeCluster, make_node, make_pod, raw_scores, score_all

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}

Counts = tuple[int, int]  # of pods that are being deleted, and of those for which the node is nominated


def cluster(*counts: Counts) -> FakeCluster:
    """Return nodes n1, n2 and so on, each with a pod that stays too."""
    names = [f"n{i}" for i in range(1, len(counts) + 1)]
    found = FakeCluster([make_node(name) for name in names], [make_pod(f"stays-{name}", node=name) for name in names])
    for name, (leaving, nominated) in zip(names, counts, strict=True):
        for i in range(leaving):
            found.add_pod(make_pod(f"leaves-{name}-{i}", node=name, metadata=LEAVING))
        found.nominations[name] = [make_pod(f"comes-{name}-{i}") for i in range(nominated)]
    return found


def numbered(*scores: int) -> dict[str, int]:
    return {f"n{i}": score for i, score in enumerate(scores, start=1)}


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        pytest.param([(6, 0), (3, 0), (0, 0)], (100, 50, 0), id="the more pods leave, the better"),
        pytest.param([(0, 2), (0, 1), (0, 0)], (0, 50, 100), id="the more are nominated the node, the worse"),
        pytest.param([(5, 0), (3, 1), (2, 1), (0, 1)], (100, 50, 33, 0), id="both together"),
        pytest.param([(2, 1), (1, 0)], (0, 0), id="all equal"),
        pytest.param([(0, 0), (0, 0)], (0, 0), id="nobody leaves and nobody comes"),
        pytest.param([(3, 0)], (0,), id="one node alone"),
    ],
)
def test_scores(counts: list[Counts], scores: tuple[int, ...]) -> None:
    assert score_all(PodState(), cluster(*counts), make_pod()) == numbered(*scores)


def test_raw_scores_are_differences() -> None:
    assert raw_scores(PodState(), cluster((5, 0), (1, 3)), make_pod()) == numbered(5, -2)


def test_only_the_nodes_that_are_left_are_compared() -> None:
    assert score_all(PodState(), cluster((9, 0), (4, 0), (2, 0)), make_pod(), ["n2", "n3"]) == {"n2": 100, "n3": 0}


def test_a_nomination_of_a_node_that_is_gone_is_no_matter() -> None:
    found = cluster((1, 0), (0, 0))
    found.nominations = {"gone": [make_pod("comes")]}
    cache, pod = found.cache, make_pod()
    cycle = Cycle(
        pod, found.nodes, cache.placed, cache.objects, nominated=found.nominated, nominated_nodes=lambda: ["gone"]
    )
    assert PodState().score_nodes(cycle, pod, cycle.nodes).tolist() == [1, 0]


def test_one_plugin_sees_what_changes() -> None:
    plugin, found = PodState(), cluster((0, 0), (0, 0))
    assert raw_scores(plugin, found, make_pod()) == numbered(0, 0)
    leaving = make_pod("p", node="n2", metadata=LEAVING)
    found.add_pod(leaving)
    assert raw_scores(plugin, found, make_pod()) == numbered(0, 1)
    found.nominations["n1"] = [make_pod("comes")]
    assert raw_scores(plugin, found, make_pod()) == numbered(-1, 1)
    found.remove_pod(leaving)
    found.cache.put_node(make_node("n3"))
    assert raw_scores(plugin, found, make_pod()) == numbered(-1, 0, 0)
    found.cache.remove_node("n1")
    assert raw_scores(plugin, found, make_pod()) == {"n3": 0, "n2": 0}


def test_nominations_change_without_the_node() -> None:
    assert PodState.depends_on is CLUSTER


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6))
def test_both_forms_agree(counts: list[Counts]) -> None:
    raw, scores = (ask(PodState(), cluster(*counts), make_pod()) for ask in (raw_scores, score_all))
    assert raw == numbered(*(leaving - nominated for leaving, nominated in counts))
    assert isinstance(raw, dict)
    lowest, span = min(raw.values()), max(raw.values()) - min(raw.values())
    assert scores == {name: (score - lowest) * 100 // span if span else 0 for name, score in raw.items()}
