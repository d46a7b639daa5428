"""Which workload is played at which size, and how much of it."""

import pytest

from bench.live.operations import Count, CreateNamespaces, CreateNodes, CreatePods, CreatePodSets
from bench.live.sizes import choose, with_measured
from bench.live.workload_files import Workload
from localcluster.errors import Problem


def _workload(name: str, nodes: int, first: int, measured: int, **more: object) -> Workload:
    steps = (
        CreateNodes(Count(1, fixed=True)),
        CreateNodes(Count(nodes)),
        CreatePods(Count(first)),
        CreatePods(Count(measured), measured=True),
    )
    case = str(more.pop("case", "Case"))
    return Workload(case, name, steps, **more)  # type: ignore[arg-type]


SMALL = _workload("small", 5, 5, 10)
PLAIN = _workload("plain", 5000, 1000, 1000)
FLOOR = _workload("floor", 5000, 1000, 10_000, threshold=680)
HUGE = _workload("huge", 5000, 5000, 50_000, threshold=790)
GATED = _workload("gated", 5000, 1000, 5_000, threshold=790, gates={"SchedulerAsyncAPICalls": True})
AS_SHIPPED = _workload("as shipped", 5000, 1000, 9_000, threshold=1, gates={"SchedulerAsyncAPICalls": False})


@pytest.mark.parametrize(
    ("workloads", "name", "nodes", "expected"),
    [
        pytest.param([SMALL, PLAIN, FLOOR], "Case", 5000, "floor", id="one with a floor comes first"),
        pytest.param([HUGE, FLOOR], "Case", 5000, "floor", id="of these the one that is over sooner"),
        pytest.param([GATED, FLOOR], "Case", 5000, "floor", id="the scheduler as it is shipped"),
        pytest.param([GATED, AS_SHIPPED], "Case", 5000, "as shipped", id="also where the workload says so"),
        pytest.param([SMALL, FLOOR, PLAIN], "Case/plain", 5000, "plain", id="one that is named"),
        pytest.param([SMALL, FLOOR], "Case", 1000, "floor", id="the largest is the model of a size that is not there"),
        pytest.param([SMALL, FLOOR], "Case", 5, "small", id="a size that is there is taken as it is"),
    ],
)
def test_choice(workloads: list[Workload], name: str, nodes: int, expected: str) -> None:
    chosen = choose(workloads, name, nodes, 1.0)
    assert (chosen.workload.name, chosen.nodes) == (expected, nodes)
    assert chosen.derived == (nodes == 1000)


def test_another_size_changes_every_number_that_upstream_gives_as_one() -> None:
    steps = (
        CreateNodes(Count(1, fixed=True)),
        CreateNodes(Count(6000)),
        CreateNamespaces("fixed", Count(2, fixed=True)),
        CreateNamespaces("ns", Count(100)),
        CreatePodSets("ns", Count(100), CreatePods(Count(40))),
        CreatePods(Count(2000), measured=True),
    )
    sized = choose([Workload("Case", "w", steps)], "Case", 1000, 1.0)
    assert [step.count.number for step in sized.workload.operations if hasattr(step, "count")] == [
        1,
        1000,
        2,
        16,
        16,
        333,
    ]
    assert sized.workload.operations[4].pods.count.number == 40  # type: ignore[union-attr]


def test_a_scale_changes_pods_only() -> None:
    sized = choose([FLOOR], "Case", 5000, 0.2)
    assert [step.count.number for step in sized.workload.operations if hasattr(step, "count")] == [1, 5000, 200, 2000]
    assert sized.measured == 2000


@pytest.mark.parametrize("nodes", [15_000, 65_000])
def test_a_large_cluster_can_have_few_pods_and_of_all_pods_the_same_share(nodes: int) -> None:
    sized = choose([FLOOR], "Case", nodes, 1.0, 3000)
    assert [step.count.number for step in sized.workload.operations if hasattr(step, "count")] == [1, nodes, 300, 3000]
    assert sized.measured == 3000


@pytest.mark.parametrize("pods", [0, 10_001])
def test_pods_that_the_size_does_not_have_cannot_be_measured(pods: int) -> None:
    with pytest.raises(Problem, match="1 to 10,000 pods"):
        choose([FLOOR], "Case", 5000, 1.0, pods)


def test_a_scale_leaves_the_pods_that_others_must_evict() -> None:
    filled = _workload("w", 1000, 4000, 1000, case="PreemptionBasic")
    sized = choose([filled], "PreemptionBasic", 1000, 0.1)
    assert [step.count.number for step in sized.workload.operations if hasattr(step, "count")] == [1, 1000, 4000, 100]


@pytest.mark.parametrize(("pods", "expected"), [(500, 500), (20_000, 10_000)])
def test_fewer_can_be_measured_but_never_more(pods: int, expected: int) -> None:
    assert with_measured(choose([FLOOR], "Case", 5000, 1.0), pods).measured == expected


def test_a_size_at_which_something_would_vanish_is_refused() -> None:
    with pytest.raises(Problem, match="cannot be scaled down that far"):
        choose([FLOOR], "Case", 2, 1.0)


def test_an_unknown_name_says_where_the_names_are() -> None:
    with pytest.raises(Problem, match="--list"):
        choose([FLOOR], "Kase", 5000, 1.0)
