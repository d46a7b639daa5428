"""Nodes whose pods may want more than there is are kept free."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.loads import Figures, connected, load
from pilotage.framework.api.verdicts import SKIP
from pilotage.model.node_load import ResourceLoad
from pilotage.model.quantity import LARGEST
from pilotage.plugins.load._shared.load_aware import NO_FIGURES
from pilotage.plugins.load.low_risk_over_commitment import LowRiskOverCommitment
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, raw_scores, score_all

POD = make_pod(cpu="1", memory="1Gi", limits={"cpu": "2", "memory": "2Gi"})


def careful(figures: Figures, **arguments: Any) -> LowRiskOverCommitment:
    return connected(LowRiskOverCommitment, figures, **arguments)


@pytest.mark.parametrize(
    ("resource", "load", "requested", "limit", "requested_before", "limit_before", "risk"),
    [
        pytest.param("cpu", 80, 2000, 3000, 1000, 2000, 0.5, id="limits fit, but more is used than was asked for"),
        pytest.param("memory", 25, 2048, 6144, 0, 0, 0.25, id="limits do not fit, and nobody is there yet"),
        pytest.param("cpu", 80, 4000, 5000, 3000, 4000, 1.0, id="neither limits nor use fit"),
        pytest.param("memory", 25, 1024, 7168, 512, 6144, 0.75, id="limits by half, and use in full"),
    ],
)
def test_the_formula(
    resource: str,
    load: float,
    requested: float,
    limit: float,
    requested_before: float,
    limit_before: float,
    risk: float,
) -> None:
    capacity = {"cpu": 4000, "memory": 4096}[resource]
    pod = requested - requested_before, limit - limit_before
    found = LowRiskOverCommitment().risk(
        resource, ResourceLoad(load), capacity, before=(requested_before, limit_before), pod=pod
    )
    assert found == pytest.approx(risk)


def risk(average: float, deviation: float, requested: float, limit: float, **arguments: Any) -> float:
    """Return the risk by measured use alone, of pods on a node of 1000."""
    plugin = LowRiskOverCommitment.of({"riskLimitWeights": {"cpu": 0}, **arguments})
    return plugin.risk("cpu", ResourceLoad(average, deviation), 1000, before=(requested, limit), pod=(0, 0))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # A mean of 1/2 and a variance of 1/20, smoothed over one measurement, are Beta(2, 2): 3x^2 - 2x^3.
        pytest.param(risk(50, 22.360679774997898, 500, 2000, smoothingWindowSize=1), 0.5, id="half of the time"),
        pytest.param(risk(50, 22.360679774997898, 250, 2000, smoothingWindowSize=1), 0.84375, id="most of the time"),
        pytest.param(
            risk(50, 22.360679774997898, 500, 750, smoothingWindowSize=1), 1 - 0.5 / 0.84375, id="cut by limits"
        ),
        pytest.param(risk(50, 10, 500, 2000), 0.5, id="the same whatever the deviation, at the mean"),
        pytest.param(risk(50, 10, 300, 2000), 0.784, id="smoothed over five measurements"),
        pytest.param(risk(0, 0, 0, 0), 0, id="nothing is used"),
        pytest.param(risk(0, 40, 100, 2000), 0, id="nothing is used, however unsteadily"),
        pytest.param(risk(50, 0, 500, 2000), 0, id="just what was asked for, steadily"),
        pytest.param(risk(50.1, 0, 500, 2000), 1, id="more than what was asked for, steadily"),
        pytest.param(risk(100, 30, 999, 2000), 1, id="everything is used"),
        pytest.param(risk(50, 500, 500, 2000), 0.5, id="a deviation that no share can have is cut"),
        pytest.param(risk(50, 1e-7, 500, 2000), 0.5, id="a tiny deviation"),
        pytest.param(risk(50, 1e-300, 400, 2000), 1, id="one that is none"),
        pytest.param(risk(80, 0, 0, 0), 0, id="nobody is there who could use anything"),
    ],
)
def test_risk_by_use(found: float, expected: float) -> None:
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param({"cpu": 1, "memory": 1}, 0.5, id="only limits count"),
        pytest.param({"cpu": 0, "memory": 0}, 1, id="only use counts"),
        pytest.param({}, 0.75, id="without weights both count alike"),
        pytest.param({"cpu": 1.5}, 0.75, id="a weight above 1 is the default"),
        pytest.param({"cpu": -0.5}, 0.75, id="as is one below 0"),
    ],
)
def test_weights(weights: dict[str, float], expected: float) -> None:
    plugin = LowRiskOverCommitment.of({"riskLimitWeights": weights})
    assert plugin.risk("cpu", ResourceLoad(80), 1000, before=(500, 1000), pod=(0, 500)) == expected


def test_a_window_that_is_none_is_the_default() -> None:
    assert LowRiskOverCommitment.of({"smoothingWindowSize": 0}).smoothing_window_size == 5


def test_a_node_without_a_resource_is_no_error() -> None:
    plugin = LowRiskOverCommitment()
    assert plugin.risk("cpu", ResourceLoad(50), 0, before=(0, 0), pod=(0, 0)) == 0
    assert plugin.risk("cpu", ResourceLoad(50), 0, before=(100, 100), pod=(100, 100)) == 0.5


class TestScore:
    NODES = FakeCluster([make_node(f"n{i}", cpu=4, memory="8Gi") for i in (1, 2, 3)])
    FIGURES = Figures(n1=load(cpu=(10,)), n2=load(cpu=(10,)))

    def test_a_pod_that_asks_for_nothing_prefers_no_node(self) -> None:
        assert raw_scores(careful(self.FIGURES), self.NODES, make_pod()) == SKIP

    def test_and_gets_nothing_if_it_is_asked_about_all_the_same(self) -> None:
        plugin, cycle = careful(self.FIGURES), self.NODES.cycle(make_pod())
        assert plugin.score_nodes(cycle, make_pod(), self.NODES.nodes).tolist() == [0, 0, NO_FIGURES]
        assert [plugin.score(cycle, make_pod(), node) for node in self.NODES.nodes] == [0, 0, NO_FIGURES]

    def test_nothing_is_preferred_while_nothing_is_measured(self) -> None:
        assert raw_scores(careful(Figures()), self.NODES, POD) == SKIP

    def test_a_node_without_figures_gets_the_mean_of_the_others(self) -> None:
        busy = make_pod("busy", node="n1", cpu="1", limits={"cpu": "5"})
        cluster = FakeCluster([make_node(f"n{i}", cpu=4, memory="8Gi") for i in (1, 2, 3)], [busy])
        plugin = careful(self.FIGURES)
        # 3 of the 5 cores beyond the requests are not there.
        assert raw_scores(plugin, cluster, POD) == {"n1": 70, "n2": 100, "n3": NO_FIGURES}
        assert score_all(plugin, cluster, POD) == {"n1": 70, "n2": 100, "n3": 85}

    def test_limits_count_at_least_as_much_as_requests(self) -> None:
        pods = [make_pod("a", node="n1", cpu="3", limits={"cpu": "1"})]
        cluster = FakeCluster([make_node("n1", cpu=4, memory="8Gi")], pods)
        # 5 cores may be wanted where there are 4, and 4 of the 5 were nominated.
        assert raw_scores(careful(self.FIGURES), cluster, POD) == {"n1": 50}

    def test_pods_that_come_and_go_are_counted(self) -> None:
        cluster = FakeCluster([make_node(f"n{i}", cpu=4, memory="8Gi") for i in (1, 2)])
        plugin = careful(self.FIGURES)
        assert raw_scores(plugin, cluster, POD) == {"n1": 100, "n2": 100}
        busy = make_pod("busy", node="n2", cpu="1", limits={"cpu": "5"})
        cluster.add_pod(busy)
        assert raw_scores(plugin, cluster, POD) == {"n1": 100, "n2": 70}
        cluster.remove_pod(busy)
        assert raw_scores(plugin, cluster, POD) == {"n1": 100, "n2": 100}

    def test_new_figures_are_looked_at(self) -> None:
        figures = Figures(n1=load(cpu=(10,)))
        cluster = FakeCluster([make_node("n1", cpu=4, memory="8Gi")], [make_pod("a", node="n1", cpu="1")])
        plugin = careful(figures)
        assert raw_scores(plugin, cluster, POD) == {"n1": 100}
        figures.loads = {"n1": load(cpu=(90,))}
        assert raw_scores(plugin, cluster, POD) == {"n1": 50}

    def test_the_node_with_less_risk_is_taken(self) -> None:
        risky = make_pod("risky", node="n1", cpu="500m", limits={"cpu": "4"})
        cluster = FakeCluster([make_node(f"n{i}", cpu=4, memory="8Gi") for i in (1, 2)], [risky])
        outcome = FakeScheduler(careful(self.FIGURES), cluster=cluster).schedule(POD)
        assert isinstance(outcome, Placed)
        assert outcome.pod.node_name == "n2"


amounts = st.integers(0, 4000) | st.sampled_from([LARGEST, LARGEST // 2, 2**53 + 1])


@given(
    st.lists(st.tuples(st.floats(-10, 150), st.floats(0, 60), amounts, amounts, amounts), min_size=1, max_size=8),
    st.integers(1, 10),
)
def test_both_forms_agree_and_stay_within_0_and_100(
    nodes: list[tuple[float, float, int, int, int]], window: int
) -> None:
    numbered = list(enumerate(nodes))
    figures = Figures(**{f"n{i}": load(cpu=each[:2], memory=each[1::-1]) for i, each in numbered if i % 3 < 2})
    cluster = FakeCluster(
        [make_node(f"n{i}", cpu=f"{cores}m", memory="4Gi") for i, (_, _, cores, _, _) in numbered],
        [
            make_pod(f"p{i}", node=f"n{i}", cpu=f"{asked}m", memory="1Gi", limits={"cpu": f"{limit}m"})
            for i, (_, _, _, asked, limit) in numbered
        ],
    )
    found = score_all(careful(figures, smoothingWindowSize=window), cluster, POD)
    assert isinstance(found, dict)
    assert all(0 <= score <= 100 for score in found.values())
