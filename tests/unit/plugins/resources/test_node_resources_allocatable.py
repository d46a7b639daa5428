from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.config.faults import InvalidConfiguration, Stage
from pilotage.config.load import load
from pilotage.framework.api.plugin import STATIC
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.resources.node_resources_allocatable import NodeResourcesAllocatable
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, raw_scores, score_all

GPU = "example.com/gpu"
AT = ("profiles", 0, "pluginConfig", 1, "args")
LARGEST = 2**63 - 1

Size = dict[str, Any]


def preferring(mode: str, *resources: tuple[str, int]) -> NodeResourcesAllocatable:
    given = {"mode": mode, "resources": [{"name": name, "weight": weight} for name, weight in resources]}
    plugin = NodeResourcesAllocatable.of(given)
    assert plugin.faults(()) == []
    return plugin


def size(cpu: str | int, memory: str | int, **more: Any) -> Size:
    return {"cpu": cpu, "memory": memory, "allocatable": more}


def cluster(*sizes: Size) -> FakeCluster:
    """Return the nodes n1, n2 and so on of these sizes."""
    return FakeCluster([make_node(f"n{i}", **each) for i, each in enumerate(sizes, start=1)])


def numbered(*scores: int) -> dict[str, int]:
    return {f"n{i}": score for i, score in enumerate(scores, start=1)}


EQUAL = cluster(size("4000m", 10000), size("4000m", 10000))
BY_CPU = cluster(size("4000m", 10000), size("6000m", 10000))
THREE = cluster(size("1000m", "1000Mi"), size("2000m", "2000Mi"), size("3000m", "3000Mi"))
CROSSED = cluster(size("1000m", 2000), size("1005m", 1000))


@pytest.mark.parametrize(
    ("plugin", "nodes", "scores"),
    [
        pytest.param(preferring("Least"), EQUAL, (0, 0), id="equal nodes are all worst"),
        pytest.param(preferring("Most"), EQUAL, (0, 0), id="also where large ones are best"),
        pytest.param(preferring("Least"), BY_CPU, (100, 0), id="fewer cores"),
        pytest.param(preferring("Most"), BY_CPU, (0, 100), id="more cores"),
        pytest.param(preferring("Least"), THREE, (100, 50, 0), id="three sizes, the smallest is best"),
        pytest.param(preferring("Most"), THREE, (0, 50, 100), id="three sizes, the largest is best"),
        pytest.param(preferring("Least", ("cpu", 2**30), ("memory", 1)), CROSSED, (100, 0), id="cpu decides"),
        pytest.param(preferring("Least", ("memory", 1)), CROSSED, (0, 100), id="only what is named counts"),
        pytest.param(
            preferring("Most"), cluster(size(1, "10.1Mi"), size(1, "10.9Mi")), (0, 0), id="less than a mebibyte"
        ),
        pytest.param(
            preferring("Least"), cluster(size(1, "10.1Mi"), size(1, "11.2Mi")), (100, 0), id="more than a mebibyte"
        ),
        pytest.param(
            preferring("Most", (GPU, 1)),
            cluster(size(1, 1, **{GPU: 4}), size(1, 1, **{GPU: 3}), size(64, "1Ti")),
            (100, 75, 0),
            id="extended resources, which a node may lack",
        ),
        pytest.param(
            preferring("Most", ("ephemeral-storage", 1)),
            cluster(size(1, 1, **{"ephemeral-storage": "2Gi"}), size(1, 1)),
            (100, 0),
            id="ephemeral storage",
        ),
        pytest.param(preferring("Most", ("pods", 5), ("nothing", 1)), BY_CPU, (0, 0), id="what nobody accounts for"),
        pytest.param(preferring("Least"), cluster(size(1, 1)), (0,), id="one node alone"),
        pytest.param(preferring("Most"), cluster(size(0, 0), size(1, 0), size(3, 0)), (0, 33, 100), id="rounded down"),
    ],
)
def test_scores(plugin: NodeResourcesAllocatable, nodes: FakeCluster, scores: tuple[int, ...]) -> None:
    assert score_all(plugin, nodes, make_pod()) == numbered(*scores)


@pytest.mark.parametrize(
    ("plugin", "raw"),
    [
        pytest.param(preferring("Most", ("cpu", 1), ("memory", 2)), 1666, id="the weighted mean"),
        pytest.param(preferring("Least", ("cpu", 1), ("memory", 2)), -1666, id="rounded towards zero"),
        pytest.param(preferring("Most", ("cpu", 9), ("cpu", 1), ("memory", 2)), 1666, id="the last weight counts"),
        pytest.param(preferring("Most", ("cpu", 1), ("strange", 9)), 100, id="what is unknown counts in the divisor"),
    ],
)
def test_raw_scores(plugin: NodeResourcesAllocatable, raw: int) -> None:
    assert raw_scores(plugin, cluster(size(1, 2000)), make_pod()) == {"n1": raw}


def test_what_runs_on_a_node_and_what_the_pod_wants_play_no_part() -> None:
    nodes = [make_node("n1", cpu=4), make_node("n2", cpu=6)]
    busy = FakeCluster(nodes, [make_pod("p", cpu=3, node="n1")])
    assert score_all(preferring("Least"), busy, make_pod(cpu=2)) == numbered(100, 0)
    assert NodeResourcesAllocatable.depends_on is STATIC
    assert NodeResourcesAllocatable.same_for_shape


def test_only_the_nodes_that_are_left_are_compared() -> None:
    assert score_all(preferring("Least"), THREE, make_pod(), ["n2", "n3"]) == {"n2": 100, "n3": 0}


@pytest.mark.parametrize(("mode", "chosen"), [("Least", "n1"), ("Most", "n3")])
def test_who_is_chosen(mode: str, chosen: str) -> None:
    outcome = FakeScheduler(preferring(mode), cluster=THREE).schedule(make_pod())
    assert isinstance(outcome, Placed)
    assert outcome.node == chosen


@pytest.mark.parametrize("mode", ["Least", "Most"])
def test_numbers_may_be_as_large_as_they_like(mode: str) -> None:
    plugin = preferring(mode, ("memory", LARGEST), (GPU, LARGEST))
    nodes = cluster(*(size(0, amount, **{GPU: amount}) for amount in (0, LARGEST // 2, LARGEST)))
    assert score_all(plugin, nodes, make_pod()) == (numbered(100, 50, 0) if mode == "Least" else numbered(0, 49, 100))


# ---------------------------------------------------------------------------------------------------------- arguments

DEFAULTS = {"mode": "Least", "resources": [{"name": "cpu", "weight": 1048576}, {"name": "memory", "weight": 1}]}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param({}, DEFAULTS, id="nothing"),
        pytest.param({"mode": "", "resources": []}, DEFAULTS, id="empty ones"),
        pytest.param({"mode": None, "resources": None}, DEFAULTS, id="null"),
        pytest.param({"mode": "Most"}, DEFAULTS | {"mode": "Most"}, id="a mode alone"),
        pytest.param(
            {"resources": [{"name": GPU, "weight": 3}]},
            DEFAULTS | {"resources": [{"name": GPU, "weight": 3}]},
            id="resources alone",
        ),
    ],
)
def test_defaults(given: dict[str, Any], read: dict[str, Any]) -> None:
    found = NodeResourcesAllocatable.read_arguments(given, AT)
    assert (found.value, found.faults) == (read, ())


NO_WEIGHT = "resources[0].weight: Invalid value: 0: resource weight of cpu should be a positive value, got :0"
NEGATIVE = "resources[1].weight: Invalid value: -1: resource weight of memory should be a positive value, got :-1"
WRONG_MODE = 'mode: Invalid value: "Least1": invalid support ModeType'


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"resources": [{"name": "cpu", "weight": 0}]}, NO_WEIGHT, id="no weight"),
        pytest.param({"resources": [{"name": "cpu"}]}, NO_WEIGHT, id="a weight that is not given"),
        pytest.param(
            {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": -1}]},
            NEGATIVE,
            id="a negative weight",
        ),
        pytest.param({"mode": "Least1"}, WRONG_MODE, id="another mode"),
        pytest.param(
            {"mode": "Least1", "resources": [{"name": "cpu"}, {"name": "memory", "weight": -1}]},
            f"[{NO_WEIGHT}, {NEGATIVE}, {WRONG_MODE}]",
            id="everything at once",
        ),
    ],
)
def test_faults(given: dict[str, Any], told: str) -> None:
    (fault,) = NodeResourcesAllocatable.read_arguments(given, AT).faults
    assert (fault.stage, fault.text) == (Stage.PROFILES, told)


@pytest.mark.parametrize(
    ("given", "stage"),
    [
        pytest.param({"priority": "Least"}, Stage.STRICTNESS, id="the name that its README has"),
        pytest.param({"mode": 1}, Stage.DECODING, id="a mode that is no text"),
        pytest.param({"resources": [{"name": "cpu", "weight": "1"}]}, Stage.DECODING, id="a weight that is no number"),
    ],
)
def test_what_cannot_be_read_is_refused(given: dict[str, Any], stage: Stage) -> None:
    (fault,) = NodeResourcesAllocatable.read_arguments(given, AT).faults
    assert fault.stage is stage


def test_a_wrong_argument_ends_the_start() -> None:
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: small-first
  plugins: {score: {enabled: [{name: NodeResourcesAllocatable}]}}
  pluginConfig: [{name: NodeResourcesAllocatable, args: {mode: Least1}}]
"""
    with pytest.raises(InvalidConfiguration) as caught:
        load(text, built_in())
    assert caught.value.upstream == (
        "initializing profiles: creating profile for scheduler name small-first: "
        f'initializing plugin "NodeResourcesAllocatable": {WRONG_MODE}'
    )


# --------------------------------------------------------------------------------------------------- both forms agree

AMOUNTS = st.sampled_from([0, 1, 2, 3, 999, 4000, 2**20, 2**44, 2**53 + 1, LARGEST // 100 + 1, LARGEST])
SIZES = st.builds(lambda cpu, memory, gpu: size(f"{cpu}m", memory, **{GPU: gpu}), AMOUNTS, AMOUNTS, AMOUNTS)
RESOURCES = st.lists(
    st.tuples(
        st.sampled_from(["cpu", "memory", GPU, "ephemeral-storage", "strange"]),
        st.sampled_from([1, 2, 7, 2**20, 2**30, LARGEST]),
    ),
    max_size=4,
)


@given(st.lists(SIZES, min_size=1, max_size=6), st.sampled_from(["Least", "Most"]), RESOURCES)
def test_both_forms_agree(sizes: list[Size], mode: str, resources: list[tuple[str, int]]) -> None:
    plugin, nodes = preferring(mode, *resources), cluster(*sizes)
    raw, scores = raw_scores(plugin, nodes, make_pod()), score_all(plugin, nodes, make_pod())
    assert isinstance(raw, dict)
    assert isinstance(scores, dict)
    lowest, span = min(raw.values()), max(raw.values()) - min(raw.values())
    assert scores == {name: (score - lowest) * 100 // span if span else 0 for name, score in raw.items()}
