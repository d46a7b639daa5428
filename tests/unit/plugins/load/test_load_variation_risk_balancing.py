"""Nodes that are busy, or whose use goes up and down, are kept free."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.loads import Figures, connected, load
from pilotage.model.node_load import NodeLoad, ResourceLoad
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST
from pilotage.plugins.load._shared.load_aware import NO_FIGURES
from pilotage.plugins.load._shared.rounding import rounded
from pilotage.plugins.load.load_variation_risk_balancing import LoadVariationRiskBalancing
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, raw_scores, score_all

NODE = make_node("n1", cpu=1, memory="1Gi")


def balancing(figures: Figures, **arguments: Any) -> LoadVariationRiskBalancing:
    return connected(LoadVariationRiskBalancing, figures, **arguments)


def factors(margin: float, sensitivity: float) -> LoadVariationRiskBalancing:
    """Return the plugin with any factors, also with those that its arguments never have."""
    update = {"safe_variance_margin": margin, "safe_variance_sensitivity": sensitivity}
    return LoadVariationRiskBalancing.of(LoadVariationRiskBalancing().args.model_copy(update=update))


@pytest.mark.parametrize(
    ("average", "deviation", "margin", "sensitivity", "score"),
    [
        pytest.param(40, 36, 1, 1, 57, id="mean and deviation count alike"),
        pytest.param(40, 36, 1, 0, 75, id="without any sensitivity no deviation counts"),
        pytest.param(40, 36, -1, 1, 75, id="a negative margin is none"),
        pytest.param(-40, 36, 1, 2, 65, id="less than nothing in use is nothing"),
        pytest.param(200, 36, 1, 2, 20, id="more than everything in use is everything"),
        pytest.param(40, -36, 1, 2, 75, id="a negative deviation is none"),
        pytest.param(40, 120, 1, 2, 25, id="a deviation of more than everything is everything"),
        pytest.param(40, 100, 1, 0, 25, id="a whole deviation counts without any sensitivity"),
    ],
)
def test_the_formula(average: float, deviation: float, margin: float, sensitivity: float, score: int) -> None:
    safety = factors(margin, sensitivity).safety(ResourceLoad(average, deviation), requested=10, capacity=100)
    assert rounded(safety) == score


def test_a_resource_that_the_node_does_not_have() -> None:
    assert LoadVariationRiskBalancing().safety(ResourceLoad(40, 36), requested=10, capacity=0) == 0


@pytest.mark.parametrize(
    ("figures", "pod", "score"),
    [
        pytest.param(load(cpu=(50,)), make_pod(), 75, id="half in use"),
        pytest.param(load(cpu=(100,)), make_pod(), 50, id="all in use, but steadily"),
        pytest.param(load(cpu=(30, 16)), make_pod(cpu="200m"), 67, id="what the pod asks for comes on top"),
        pytest.param(
            load(cpu=(40, 16), memory=(50, 10)),
            make_pod(cpu="100m", memory="512Mi"),
            45,
            id="memory decides, of which there is less",
        ),
        pytest.param(load(memory=(50,)), make_pod(cpu="4"), 75, id="only memory was measured"),
    ],
)
def test_score(figures: NodeLoad, pod: Pod, score: int) -> None:
    assert raw_scores(balancing(Figures(n1=figures)), FakeCluster([NODE]), pod) == {"n1": score}


@pytest.mark.parametrize(
    ("arguments", "score"),
    [
        pytest.param({"safeVarianceMargin": 2}, 34, id="a margin"),
        pytest.param({"safeVarianceMargin": 0}, 70, id="no margin"),
        pytest.param({"safeVarianceMargin": -3}, 52, id="a negative margin is the default"),
        pytest.param({"safeVarianceSensitivity": 2}, 40, id="more sensitivity"),
        pytest.param({"safeVarianceSensitivity": 0.5}, 64, id="less sensitivity"),
        pytest.param({"safeVarianceSensitivity": -1}, 52, id="a negative sensitivity is the default"),
    ],
)
def test_arguments(arguments: dict[str, Any], score: int) -> None:
    plugin = balancing(Figures(n1=load(cpu=(60, 36))), **arguments)
    assert raw_scores(plugin, FakeCluster([NODE]), make_pod()) == {"n1": score}


def test_a_node_without_figures_gets_the_mean_of_the_others() -> None:
    cluster = FakeCluster([make_node(f"n{i}", cpu=1) for i in (1, 2, 3)])
    plugin = balancing(Figures(n1=load(cpu=(0,)), n2=load(cpu=(100,))))
    assert raw_scores(plugin, cluster, make_pod()) == {"n1": 100, "n2": 50, "n3": NO_FIGURES}
    assert score_all(plugin, cluster, make_pod()) == {"n1": 100, "n2": 50, "n3": 75}


def test_the_calmest_node_is_taken_until_the_figures_change() -> None:
    cluster = FakeCluster([make_node(f"n{i}", cpu=4) for i in (1, 2)])
    figures = Figures(n1=load(cpu=(50, 30)), n2=load(cpu=(50, 5)))
    scheduler = FakeScheduler(balancing(figures), cluster=cluster)
    nodes = []
    for name in ("a", "b"):
        outcome = scheduler.schedule(make_pod(name, cpu="100m"))
        assert isinstance(outcome, Placed)
        nodes.append(outcome.pod.node_name)
        figures.loads = {"n1": load(cpu=(10,)), "n2": load(cpu=(50, 5))}
    assert nodes == ["n2", "n1"]


CORES = st.integers(0, 4000) | st.sampled_from([LARGEST, LARGEST // 2, 2**53 + 1])


@given(
    st.lists(st.tuples(st.floats(-50, 250), st.floats(-50, 250), CORES), min_size=1, max_size=8),
    st.sampled_from([0, 0.3, 1, 2, 7.5]),
    st.sampled_from([0, 0.3, 1, 2, 7.5]),
)
def test_both_forms_agree_and_stay_within_0_and_100(
    nodes: list[tuple[float, float, int]], margin: float, sensitivity: float
) -> None:
    figures = Figures(
        **{
            f"n{i}": load(cpu=(average, deviation), memory=(deviation, average) if i % 2 else None)
            for i, (average, deviation, _) in enumerate(nodes)
            if i % 3 < 2
        }
    )
    cluster = FakeCluster([make_node(f"n{i}", cpu=f"{cores}m") for i, (_, _, cores) in enumerate(nodes)])
    plugin = balancing(figures, safeVarianceMargin=margin, safeVarianceSensitivity=sensitivity)
    found = score_all(plugin, cluster, make_pod(cpu="300m", memory="3Gi"))
    assert isinstance(found, dict)
    assert all(0 <= score <= 100 for score in found.values())
