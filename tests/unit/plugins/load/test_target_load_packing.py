"""Nodes are filled up to a share of their cores that is really in use, and pods spread beyond it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.loads import NOW, Figures, connected, load, node_metrics
from pilotage.config.faults import Stage
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST
from pilotage.plugins.load._shared.load_aware import NO_FIGURES
from pilotage.plugins.load.target_load_packing import TargetLoadPacking
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, raw_scores, score_all

USE: dict[str, Any] = {"limits": {"cpu": "400m"}}
BARE: dict[str, Any] = {"spec": {"containers": []}}
ONE = make_node("n1", cpu=1)


def packing(figures: Figures, **arguments: Any) -> TargetLoadPacking:
    return connected(TargetLoadPacking, figures, **arguments)


def at(share: float) -> Figures:
    return Figures(n1=load(cpu=(share,)))


@pytest.mark.parametrize(
    ("share", "pod", "score"),
    [
        pytest.param(0, make_pod(**BARE), 40, id="an idle node scores the target"),
        pytest.param(50, make_pod(**BARE), 33, id="above the target a node drops"),
        pytest.param(30, make_pod(**BARE, overhead={"cpu": "1000m"}), 0, id="what does not fit scores nothing"),
        pytest.param(40, make_pod(**BARE), 100, id="the target just met is best"),
        pytest.param(20, make_pod(**BARE), 70, id="below the target a node rises"),
        pytest.param(100, make_pod(**BARE), 0, id="a node in full use"),
        pytest.param(-40, make_pod(**BARE), 40, id="less than nothing counts as nothing"),
        pytest.param(1e6, make_pod(**BARE), 0, id="an absurd share counts as full"),
        pytest.param(20, make_pod(cpu="100m", limits={"cpu": "200m"}), 100, id="a limit is what a container will use"),
        pytest.param(10, make_pod(cpu="200m"), 100, id="without one, half as much again as the request"),
        pytest.param(0, make_pod(cpu="1"), 0, id="which may be too much"),
        pytest.param(0, make_pod(), 0, id="without either, a core"),
        pytest.param(20, make_pod(cpu="0", overhead={"cpu": "200m"}), 100, id="overhead comes on top"),
        pytest.param(20, make_pod(cpu="0", init=[{"cpu": "4"}]), 70, id="init containers are over by then"),
    ],
)
def test_score(share: float, pod: Pod, score: int) -> None:
    assert raw_scores(packing(at(share)), FakeCluster([ONE]), pod) == {"n1": score}


@pytest.mark.parametrize(
    ("arguments", "pod", "score"),
    [
        pytest.param({"targetUtilization": 20}, make_pod(**BARE), 100, id="another target"),
        pytest.param({"targetUtilization": 0}, make_pod(**BARE), 70, id="no target is the default"),
        pytest.param({"targetUtilization": -5}, make_pod(**BARE), 70, id="nor is a negative one"),
        pytest.param({"targetUtilization": 100}, make_pod(**BARE), 100, id="a full node as the target"),
        pytest.param({"defaultRequests": {"cpu": "200m"}}, make_pod(), 100, id="another default"),
        pytest.param({"defaultRequests": {}}, make_pod(), 70, id="an empty default is nothing"),
        pytest.param({"defaultRequestsMultiplier": "2"}, make_pod(cpu="100m"), 100, id="another multiplier"),
    ],
)
def test_arguments(arguments: dict[str, Any], pod: Pod, score: int) -> None:
    assert raw_scores(packing(at(20), **arguments), FakeCluster([ONE]), pod) == {"n1": score}


def test_shares_are_of_the_capacity_not_of_what_is_left_for_pods() -> None:
    node = make_node("n1", cpu=2)
    node.allocatable["cpu"] = 1000
    assert raw_scores(packing(at(20)), FakeCluster([node]), make_pod(limits={"cpu": "400m"})) == {"n1": 100}


def test_a_node_without_cores_counts_as_idle() -> None:
    assert raw_scores(packing(at(20)), FakeCluster([make_node("n1", cpu=0)]), make_pod()) == {"n1": 40}


class TestWithoutFigures:
    NODES = FakeCluster([make_node(f"n{i}", cpu=1) for i in (1, 2, 3)])

    def test_a_node_gets_the_mean_of_the_others(self) -> None:
        plugin = packing(Figures(n1=load(cpu=(40,)), n2=load(cpu=(20,))))
        assert raw_scores(plugin, self.NODES, make_pod(**BARE)) == {"n1": 100, "n2": 70, "n3": NO_FIGURES}
        assert score_all(plugin, self.NODES, make_pod(**BARE)) == {"n1": 100, "n2": 70, "n3": 85}

    def test_the_mean_is_that_of_the_nodes_that_are_left(self) -> None:
        plugin = packing(Figures(n1=load(cpu=(40,)), n2=load(cpu=(20,))))
        assert score_all(plugin, self.NODES, make_pod(**BARE), feasible=["n2", "n3"]) == {"n2": 70, "n3": 70}

    @pytest.mark.parametrize(
        "figures",
        [
            pytest.param(Figures(), id="nobody has measured anything"),
            pytest.param(Figures(n1=load(memory=(50,))), id="or only memory"),
            pytest.param(Figures(n1=load(cpu=(40,), until=NOW - 301)), id="or too long ago"),
            pytest.param(Figures(other=load(cpu=(40,))), id="or nodes that are not there"),
        ],
    )
    def test_no_node_is_preferred_if(self, figures: Figures) -> None:
        assert score_all(packing(figures), self.NODES, make_pod(**BARE)) == {"n1": 0, "n2": 0, "n3": 0}

    def test_figures_grow_old_one_by_one_and_are_asked_anew(self) -> None:
        figures = Figures(n1=load(cpu=(40,)), n2=load(cpu=(20,), until=NOW - 200))
        plugin, cycle = packing(figures), self.NODES.cycle(make_pod(**BARE))
        first = plugin.epoch(cycle)
        assert plugin.epoch(cycle) == first
        figures.now += 101
        assert plugin.epoch(cycle) != first
        assert score_all(plugin, self.NODES, make_pod(**BARE)) == {"n1": 100, "n2": 100, "n3": 100}
        figures.now += 200
        assert score_all(plugin, self.NODES, make_pod(**BARE)) == {"n1": 0, "n2": 0, "n3": 0}
        figures.loads = {"n3": load(cpu=(20,), until=figures.now)}
        assert score_all(plugin, self.NODES, make_pod(**BARE)) == {"n1": 70, "n2": 70, "n3": 70}

    def test_how_old_figures_may_be_is_an_argument(self) -> None:
        plugin = packing(Figures(n1=load(cpu=(40,), until=NOW - 301)), staleAfterSeconds=400)
        assert score_all(plugin, self.NODES, make_pod(**BARE), feasible=["n1"]) == {"n1": 100}


def scheduled_at(moment: str) -> dict[str, Any]:
    return {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}]}


class TestPodsThatFiguresDoNotKnowYet:
    """The figures end now, that is on 1970-01-12 at 13:46:40, with a share of 0."""

    def score(self, plugin: TargetLoadPacking, cluster: FakeCluster) -> int:
        found = raw_scores(plugin, cluster, make_pod(**BARE))
        assert isinstance(found, dict)
        return found["n1"]

    def test_a_pod_counts_from_the_moment_that_it_has_its_place(self) -> None:
        cluster = FakeCluster([ONE])
        plugin = packing(at(0))
        scheduler = FakeScheduler(plugin, cluster=cluster)
        assert self.score(plugin, cluster) == 40
        assert isinstance(scheduler.schedule(make_pod("a", **USE)), Placed)
        assert self.score(plugin, cluster) == 100

    def test_and_not_any_more_when_it_is_gone(self) -> None:
        cluster, plugin = FakeCluster([ONE]), packing(at(0))
        FakeScheduler(plugin, cluster=cluster)
        assert self.score(plugin, cluster) == 40
        pod = make_pod("a", node="n1", **USE)
        cluster.add_pod(pod)
        assert self.score(plugin, cluster) == 100
        cluster.remove_pod(pod)
        assert self.score(plugin, cluster) == 40

    def test_until_it_was_there_for_a_minute_when_the_measurement_ended(self) -> None:
        cluster, figures = FakeCluster([ONE]), at(0)
        plugin = packing(figures)
        FakeScheduler(plugin, cluster=cluster)
        assert self.score(plugin, cluster) == 40
        cluster.add_pod(make_pod("a", node="n1", **USE))
        for later, score in ((59, 100), (61, 40)):
            figures.now = NOW + later
            figures.loads = {"n1": load(cpu=(0,), until=NOW + later)}
            assert self.score(plugin, cluster) == score

    def test_pods_that_were_there_at_the_start_are_not_new(self) -> None:
        cluster, plugin = FakeCluster([ONE], [make_pod("a", node="n1", **USE)]), packing(at(0))
        FakeScheduler(plugin, cluster=cluster)
        assert self.score(plugin, cluster) == 40

    @pytest.mark.parametrize(
        ("status", "score"),
        [
            pytest.param(scheduled_at("1970-01-12T13:46:10Z"), 100, id="half a minute ago"),
            pytest.param(scheduled_at("1970-01-12T13:45:00Z"), 40, id="longer ago"),
            pytest.param(scheduled_at("1999-01-01T00:00:00Z"), 100, id="in the future, by a wrong clock"),
            pytest.param(scheduled_at("yesterday"), 40, id="at a time that cannot be read"),
            pytest.param({"startTime": "1970-01-12T13:46:10Z"}, 100, id="half a minute ago, as its node tells"),
        ],
    )
    def test_a_pod_at_the_start_counts_if_its_status_says_that_it_came(self, status: Any, score: int) -> None:
        cluster = FakeCluster([ONE], [make_pod("a", node="n1", status=status, **USE)])
        plugin = packing(at(0))
        FakeScheduler(plugin, cluster=cluster)
        assert self.score(plugin, cluster) == score

    def test_a_pod_that_only_changes_is_no_newer_for_it(self) -> None:
        cluster, figures = FakeCluster([ONE]), at(0)
        plugin = packing(figures)
        FakeScheduler(plugin, cluster=cluster)
        assert self.score(plugin, cluster) == 40
        cluster.add_pod(make_pod("a", uid="a", node="n1", **USE))
        figures.now = NOW + 61
        cluster.add_pod(make_pod("a", uid="a", node="n1", labels={"new": "label"}, **USE))
        figures.loads = {"n1": load(cpu=(0,), until=figures.now)}
        assert self.score(plugin, cluster) == 40

    def test_only_nodes_that_changed_are_asked_again(self) -> None:
        cluster = FakeCluster([make_node(f"n{i}", cpu=1) for i in (1, 2)])
        figures = Figures(n1=load(cpu=(0,)), n2=load(cpu=(1,)))
        scheduler = FakeScheduler(packing(figures, defaultRequests={"cpu": "300m"}), cluster=cluster)
        placed = [scheduler.schedule(make_pod(f"p{i}")) for i in range(3)]
        # The first fills n2 to 31, the second would overfill it.
        assert [each.pod.node_name for each in placed if isinstance(each, Placed)] == ["n2", "n1", "n1"]


@pytest.mark.parametrize(
    ("arguments", "stage", "text"),
    [
        pytest.param(
            {"targetUtilization": 101},
            Stage.VALIDATION,
            "args.targetUtilization: Invalid value: 101: no node can use more than 100 percent",
            id="a target that no node can reach",
        ),
        pytest.param(
            {"defaultRequestsMultiplier": "much"},
            Stage.PROFILES,
            'unable to parse DefaultRequestsMultiplier: parsing "much": invalid syntax',
            id="a multiplier that is no number",
        ),
        pytest.param(
            {"defaultRequestsMultiplier": "nan"},
            Stage.PROFILES,
            'unable to parse DefaultRequestsMultiplier: parsing "nan": invalid syntax',
            id="nor is this one",
        ),
        pytest.param(
            {"defaultRequests": {"cpu": "lots"}},
            Stage.VALIDATION,
            "args.defaultRequests.cpu: Invalid value: \"lots\": 'lots' is not a quantity: "
            "write it like 2, 0.5, 500m, 1e3 or 4Gi",
            id="a default that is no quantity",
        ),
    ],
)
def test_arguments_that_are_refused(arguments: dict[str, Any], stage: Stage, text: str) -> None:
    (fault,) = TargetLoadPacking.of(arguments).faults(("args",))
    assert (fault.stage, fault.text) == (stage, text)


def test_two_profiles_have_their_own_arguments() -> None:
    one, other = packing(at(20)), packing(at(20), targetUtilization=20)
    assert raw_scores(one, FakeCluster([ONE]), make_pod(**BARE)) == {"n1": 70}
    assert raw_scores(other, FakeCluster([ONE]), make_pod(**BARE)) == {"n1": 100}


def test_without_a_collector_the_objects_of_the_metrics_api_tell() -> None:
    cluster = FakeCluster([ONE], objects=[node_metrics("n1", cpu="200m"), node_metrics("gone", cpu="1")])
    assert raw_scores(TargetLoadPacking(), cluster, make_pod(**BARE)) == {"n1": 70}


CORES = st.integers(0, 4000) | st.sampled_from([LARGEST, LARGEST // 2, 2**53 + 1])


@given(
    st.lists(st.tuples(st.floats(-50, 250), CORES), min_size=1, max_size=8),
    st.integers(1, 100),
    CORES,
)
def test_both_forms_agree_and_stay_within_0_and_100(nodes: list[tuple[float, int]], target: int, limit: int) -> None:
    figures = Figures(**{f"n{i}": load(cpu=(share,)) for i, (share, _) in enumerate(nodes) if i % 3 < 2})
    cluster = FakeCluster([make_node(f"n{i}", cpu=f"{cores}m") for i, (_, cores) in enumerate(nodes)])
    found = score_all(packing(figures, targetUtilization=target), cluster, make_pod(limits={"cpu": f"{limit}m"}))
    assert isinstance(found, dict)
    assert all(0 <= score <= 100 for score in found.values())
