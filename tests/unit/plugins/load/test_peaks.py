"""Pods go where they add the least electrical power."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.loads import Figures, connected, load
from pilotage.config.faults import InvalidConfiguration
from pilotage.config.kinds import without_kind
from pilotage.config.load import load as load_configuration
from pilotage.model.quantity import LARGEST
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.load.peaks import WORST, Peaks
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, raw_scores, score_all

MODEL = {"k0": 471.7412504314313, "k1": -91.50493019588365, "k2": -0.07186049052516228}
FLAT = {"k0": 100, "k1": 1, "k2": 0.01}
NODE = make_node("n1", cpu=1)


def peaks(figures: Figures, **arguments: Any) -> Peaks:
    return connected(Peaks, figures, **arguments)


def raw(share: float, model: dict[str, float] | None = None, cpu: str = "1000m") -> int:
    plugin = peaks(Figures(n1=load(cpu=(share,))), nodePowerModel={"n1": MODEL if model is None else model})
    found = raw_scores(plugin, FakeCluster([NODE]), make_pod(cpu=cpu))
    assert isinstance(found, dict)
    return found["n1"]


def test_an_idle_node_is_asked_for_all_of_its_cores() -> None:
    assert raw(0) == 91435654157549680 // 1000 * 1000
    assert raw(0) == math.trunc(MODEL["k1"] * (math.exp(100 * MODEL["k2"]) - 1) * 1e12) * 1000


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(raw(100), WORST, id="too little is left"),
        pytest.param(raw(50, {"k1": 1, "k2": 0}, cpu="500m"), 0, id="just enough is left"),
        pytest.param(raw(0, {"k0": 9}), 0, id="a model whose power never changes"),
        pytest.param(raw(0, {"k1": 1, "k2": 1e6}), WORST, id="a model beyond all numbers"),
        pytest.param(raw(0, {"k1": 1e100, "k2": 0.1}), 9 * 10**18, id="more power than a number holds"),
        pytest.param(raw(0, {"k1": -1e100, "k2": 0.1}), -9 * 10**18, id="or less"),
    ],
)
def test_raw_score(found: int, expected: int) -> None:
    assert found == expected


def test_without_a_measurement_of_cores_a_node_is_worst() -> None:
    plugin = peaks(Figures(n1=load(memory=(10,))), nodePowerModel={"n1": MODEL})
    assert raw_scores(plugin, FakeCluster([NODE]), make_pod(cpu="1")) == {"n1": WORST}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([0, 100], [100, 0], id="the least power is best"),
        pytest.param([0, 0], [0, 0], id="no node adds any"),
        pytest.param([100, 100], [100, 100], id="all add the same"),
        pytest.param([10, 20, 13], [100, 0, 70], id="what lies between"),
        pytest.param([-5, 5, 1], [100, 0, 40], id="negative power"),
        pytest.param([10, WORST], [100, 0], id="a node that is worst, beside one that is known"),
        pytest.param([0, WORST, 0], [100, 0, 100], id="also where the others add nothing"),
        pytest.param([10, 20, WORST], [100, 0, 0], id="and where they differ"),
        pytest.param([WORST, WORST], [0, 0], id="nothing is known of any node"),
        pytest.param([-9 * 10**18, 9 * 10**18, WORST], [100, 0, 0], id="numbers at the end of what there is"),
    ],
)
def test_normalize(scores: list[int], expected: list[int]) -> None:
    cluster = FakeCluster([make_node(f"n{i}") for i in range(len(scores))])
    pod = make_pod()
    found = Peaks().normalize(cluster.cycle(pod), pod, cluster.nodes, np.array(scores, np.int64))
    assert found.tolist() == expected


class TestModels:
    NODES = FakeCluster(
        [
            make_node(f"n{i}", cpu=1, labels={"example.com/machine": kind})
            for i, kind in enumerate(("big", "old", ""), 1)
        ]
    )
    FIGURES = Figures(**{f"n{i}": load(cpu=(20,)) for i in (1, 2, 3)})

    def known(self, **arguments: Any) -> set[str]:
        found = raw_scores(peaks(self.FIGURES, **arguments), self.NODES, make_pod(cpu="100m"))
        assert isinstance(found, dict)
        return {name for name, score in found.items() if score != WORST}

    def test_by_name(self) -> None:
        assert self.known(nodePowerModel={"n1": MODEL, "gone": MODEL}) == {"n1"}

    def test_by_the_value_of_a_label(self) -> None:
        label = "example.com/machine"
        assert self.known(nodePowerModel={"big": MODEL, "n3": FLAT}, nodePowerModelLabel=label) == {"n1", "n3"}

    def test_a_name_wins_over_a_label(self) -> None:
        models = {"big": MODEL, "n1": {"k1": 0}}
        plugin = peaks(self.FIGURES, nodePowerModel=models, nodePowerModelLabel="example.com/machine")
        assert raw_scores(plugin, self.NODES, make_pod(cpu="100m"), feasible=["n1"]) == {"n1": 0}

    def test_a_node_without_one_is_not_best(self) -> None:
        plugin = peaks(self.FIGURES, nodePowerModel={"n1": MODEL})
        assert score_all(plugin, self.NODES, make_pod(cpu="100m")) == {"n1": 100, "n2": 0, "n3": 0}

    def test_nor_is_one_that_would_be_too_full(self) -> None:
        figures = Figures(n1=load(cpu=(95,)), n2=load(cpu=(50,)))
        plugin = peaks(figures, nodePowerModel={"n1": FLAT, "n2": FLAT})
        scheduler = FakeScheduler(plugin, cluster=FakeCluster([make_node(f"n{i}", cpu=1) for i in (1, 2, 3)]))
        outcome = scheduler.schedule(make_pod(cpu="100m"))
        assert isinstance(outcome, Placed)
        assert outcome.pod.node_name == "n2"


HEAD = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Peaks}]}}
  pluginConfig:
  - name: Peaks
    args: """


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param("{WatcherAddress: 'http://w:2020', NodePowerModel: {n1: {k0: 1, k1: 2, k2: 3}}}", id="upstream's"),
        pytest.param(
            "{watcherAddress: 'http://w:2020', nodePowerModel: {n1: {k0: 1, k1: 2, k2: 3}}}", id="everybody's"
        ),
    ],
)
def test_both_spellings_of_arguments(arguments: str) -> None:
    (entry,) = [
        each
        for each in load_configuration(HEAD + arguments, built_in()).config.profiles[0].plugin_config
        if each.name == "Peaks"
    ]
    plugin = Peaks.of(without_kind(entry.args or {}))
    assert plugin.watcher_address == "http://w:2020"
    assert plugin.node_power_model["n1"].k2 == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param("{watcherAddress: 'http://a', WatcherAddress: 'http://b'}", "unknown field", id="both at once"),
        pytest.param("{nodePowerModel: {n1: {k0: one}}}", "must be a number", id="a factor that is no number"),
        pytest.param("{nodePowerModel: {n1: {k3: 1}}}", "unknown field", id="a factor that there is not"),
        pytest.param("{nodePowerModelLabel: 'no label'}", "nodePowerModelLabel: Invalid value", id="a bad label"),
        pytest.param("{watcherAddress: 'w:2020'}", "must be a URL that begins with http://", id="no URL"),
    ],
)
def test_arguments_that_are_refused(arguments: str, told: str) -> None:
    with pytest.raises(InvalidConfiguration, match=told):
        load_configuration(HEAD + arguments, built_in())


def test_a_factor_must_be_finite() -> None:
    (fault,) = Peaks.read_arguments({"nodePowerModel": {"n1": {"k0": float("inf")}}}, ()).faults
    assert fault.text.startswith("nodePowerModel.n1.k0: must be a number")


@given(
    st.lists(st.tuples(st.floats(-10, 110), st.floats(-200, 200), st.floats(-1, 1)), min_size=1, max_size=40),
    st.integers(0, 500) | st.sampled_from([LARGEST, LARGEST // 2, 2**53 + 1]),
)
def test_both_forms_agree_and_scores_stay_within_0_and_100(nodes: list[tuple[float, float, float]], cpu: int) -> None:
    figures = Figures(**{f"n{i}": load(cpu=(share,)) for i, (share, _, _) in enumerate(nodes) if i % 5})
    models = {f"n{i}": {"k1": k1, "k2": k2} for i, (_, k1, k2) in enumerate(nodes) if i % 7}
    cluster = FakeCluster([make_node(f"n{i}", cpu=1) for i in range(len(nodes))])
    found = score_all(peaks(figures, nodePowerModel=models), cluster, make_pod(cpu=f"{cpu}m"))
    assert isinstance(found, dict)
    assert all(0 <= score <= 100 for score in found.values())
