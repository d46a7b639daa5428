from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any

import pytest

from pilotage.config.faults import InvalidConfiguration
from pilotage.config.load import load
from pilotage.framework.api.objects import Kind
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.network.topological_sort import MOST_GROUPS, TopologicalSort
from pilotage.queue.active import active_queue, order_of
from pilotage.queue.queued_pod import QueuedPod
from pilotage.testing import FakeCluster, handle_of, make_pod
from pilotage.testing.network import make_app_group, make_member

EARLY, LATE = "1970-01-01T00:00:10Z", "1970-01-01T00:00:50Z"
CHAIN: dict[str, list[str]] = {"p1": ["p2"], "p2": ["p3"], "p3": []}
BASIC = make_app_group("basic", CHAIN, order={"p1": 1, "p2": 2, "p3": 3}, created=EARLY)
BOUTIQUE = make_app_group(
    "onlineboutique",
    {f"p{i}": [] for i in range(1, 11)},
    order={"p1": 1, "p10": 2, "p9": 3, "p8": 4, "p7": 5, "p6": 6, "p5": 7, "p4": 8, "p3": 9, "p2": 10},
    created=LATE,
)


@dataclass
class Queued:
    pod: Pod
    timestamp: float


def sorting(*objects: Kind, **arguments: Any) -> TopologicalSort:
    plugin = TopologicalSort.of(arguments)
    plugin.start(handle_of(FakeCluster(objects=objects)))
    return plugin


def part(workload: str, timestamp: float = 0, group: str = "basic", **fields: Any) -> Queued:
    return Queued(make_member(fields.pop("name", workload or "nothing"), group, workload, **fields), timestamp)


def plain(name: str, timestamp: float = 0, **fields: Any) -> Queued:
    return Queued(make_pod(name, **fields), timestamp)


def names(plugin: TopologicalSort, pods: list[Queued]) -> str:
    return " ".join(each.pod.name for each in sorted(pods, key=plugin.sort_key))


@pytest.mark.parametrize(
    ("one", "other", "before"),
    [
        pytest.param(part("p1"), part("p2"), True, id="p1 of index 1 goes before p2 of index 2"),
        pytest.param(part("p2"), part("p1"), False, id="p2 of index 2 does not go before p1 of index 1"),
        pytest.param(part("p1", 90), part("p2", 10), True, id="the index counts, not who came first"),
        pytest.param(
            part("p5", group="onlineboutique"),
            part("p1", group="onlineboutique"),
            False,
            id="p5 of index 7 does not go before p1 of index 1",
        ),
        pytest.param(
            part("p1", 60, group="onlineboutique"), part("p2", 20), False, id="an application that came later waits"
        ),
        pytest.param(
            part("p2", 20),
            part("p1", 60, group="onlineboutique"),
            True,
            id="an application that came earlier goes first",
        ),
        pytest.param(part("p1", 1), part("p1", 2, name="again"), True, id="of one part, who has waited longer"),
        pytest.param(part("p1", 2), part("p1", 1, name="again"), False, id="of one part, and not the other way too"),
        pytest.param(part("p1", 1, name="a"), part("p1", 1, name="b"), True, id="of equals, by name"),
        pytest.param(part("p1", 1, name="b"), part("p1", 1, name="a"), False, id="of equals, not both"),
        pytest.param(part("p9"), part("p1"), True, id="a part without an index goes first"),
        pytest.param(part(""), part("p1"), True, id="so does a pod that does not say which part it is"),
        pytest.param(plain("a", priority=10), plain("b", priority=100), False, id="no labels: a lower priority waits"),
        pytest.param(plain("a", priority=100), plain("b", priority=10), True, id="no labels: a higher goes first"),
        pytest.param(plain("a", 2), plain("b", 1), False, id="no labels: who came later waits"),
        pytest.param(
            part("p2", priority=9), part("p1", priority=1), True, id="priority counts in an application as well"
        ),
        pytest.param(plain("a", 9), part("p1", 60), True, id="a pod that came before the application goes before it"),
        pytest.param(plain("a", 11), part("p1", 60), False, id="a pod that came after the application waits"),
    ],
)
def test_who_goes_first(one: Queued, other: Queued, before: bool) -> None:
    assert sorting(BASIC, BOUTIQUE).less(one, other) is before


def test_no_three_pods_go_round_in_a_circle() -> None:
    # In the original each of these goes before the next, and the last before the first.
    pods = [part("p1", 30), part("p2", 10), plain("plain", 20)]
    plugin = sorting(BASIC)
    assert {names(plugin, list(each)) for each in permutations(pods)} == {"p1 p2 plain"}


def test_the_order_is_strict_and_total() -> None:
    random, plugin = Random(11), sorting(BASIC, BOUTIQUE, make_app_group("plain", {}, created="nonsense"))
    groups, workloads = ["", "basic", "onlineboutique", "plain", "missing"], ["", "p1", "p2", "p10", "p77"]
    pods = [
        part(
            random.choice(workloads),
            random.randrange(4) * 20,
            random.choice(groups),
            name=f"pod-{i}",
            priority=random.choice([0, 5]),
        )
        for i in range(40)
    ]
    sorted_once = sorted(pods, key=plugin.sort_key)
    for i, one in enumerate(sorted_once):
        assert not plugin.less(one, one)
        for other in sorted_once[i + 1 :]:
            assert plugin.less(one, other)
            assert not plugin.less(other, one)


def test_an_application_stays_together_though_its_pods_come_at_any_time() -> None:
    pods = [plain("x", 5), part("p3", 12), plain("y", 30), part("p2", 40), part("p1", 70), plain("z", 35)]
    assert names(sorting(BASIC), pods) == "x p1 p2 p3 y z"


def test_two_applications_that_came_in_one_second_are_not_mixed() -> None:
    twin = make_app_group("another", CHAIN, created=EARLY)
    pods = [part(f"p{i}", group=group, name=f"{group}-{i}") for i in (3, 2, 1) for group in ("basic", "another")]
    assert names(sorting(BASIC, twin), pods) == "another-1 another-2 another-3 basic-1 basic-2 basic-3"


@pytest.mark.parametrize(
    ("objects", "order"),
    [
        pytest.param((), "p3 p2 p1", id="an application that is missing: by time, and no crash"),
        pytest.param(
            (make_app_group("basic", CHAIN),), "p1 p2 p3", id="no order in its status: that of its description"
        ),
        pytest.param((make_app_group("basic", {}),), "p3 p2 p1", id="nothing in it: by time"),
        pytest.param(
            (make_app_group("basic", CHAIN, order={"p1": 3, "p2": 2, "p3": 1}),),
            "p3 p2 p1",
            id="the order in its status has the last word",
        ),
        pytest.param(
            (make_app_group("basic", {"p1": ["p2"], "p2": ["p1"], "p3": []}),), "p1 p2 p3", id="a circle: as written"
        ),
    ],
)
def test_where_the_order_comes_from(objects: tuple[Kind, ...], order: str) -> None:
    assert names(sorting(*objects), [part("p1", 3), part("p2", 2), part("p3", 1)]) == order


@pytest.mark.parametrize(
    ("where", "namespaces", "order"),
    [
        pytest.param("default", [], "p1 p2", id="the default namespace, though the pods are elsewhere"),
        pytest.param("team", [], "p1 p2", id="the pods' own namespace, though nobody named it"),
        pytest.param("infra", ["other", "infra"], "p1 p2", id="one that is named"),
        pytest.param("infra", [], "p2 p1", id="one that nobody named"),
    ],
)
def test_where_the_application_is_looked_up(where: str, namespaces: list[str], order: str) -> None:
    plugin = sorting(make_app_group("basic", CHAIN, namespace=where), namespaces=namespaces)
    assert names(plugin, [part("p1", 2, namespace="team"), part("p2", 1, namespace="team")]) == order


def test_a_new_description_counts_from_then_on_and_no_pod_is_lost() -> None:
    cluster, plugin = FakeCluster(objects=[BASIC]), TopologicalSort()
    plugin.start(handle_of(cluster))
    queue = active_queue(order_of(plugin))
    turned = make_app_group("basic", CHAIN, order={"p1": 3, "p2": 2, "p3": 1}, created=EARLY)
    waiting = [make_member(f"{workload}-{i}", "basic", workload) for i in range(8) for workload in ("p1", "p2", "p3")]
    for i, pod in enumerate(waiting):
        if i == 12:
            cluster.cache.objects.put(turned)
        queue.add(QueuedPod(pod, float(i)))

    taken = []
    while (first := queue.first()) is not None:
        queue.remove(first)
        taken.append(first.pod)
    assert sorted(pod.name for pod in taken) == sorted(pod.name for pod in waiting)
    late = [pod.name[:2] for pod in taken if int(pod.name[3:]) >= 4]
    assert late == ["p3"] * 4 + ["p2"] * 4 + ["p1"] * 4


def test_what_is_remembered_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_GROUPS >= 1000
    monkeypatch.setattr("pilotage.plugins.network.topological_sort.MOST_GROUPS", 3)
    plugin = sorting(*(make_app_group(f"g{i}", CHAIN) for i in range(20)))
    for i in range(20):
        plugin.sort_key(part("p1", group=f"g{i}"))
    assert len(plugin._groups) <= 3


def test_defaults() -> None:
    found = TopologicalSort.read_arguments({"namespaces": []}, ())
    assert (found.value, found.faults) == ({"namespaces": ["default"]}, ())


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: network-aware
  plugins: {queueSort: {enabled: [{name: TopologicalSort}], disabled: [{name: PrioritySort}]}}
"""


def test_it_takes_the_place_of_the_default() -> None:
    load(CONFIG, built_in())
    with pytest.raises(InvalidConfiguration):
        load(CONFIG.replace(", disabled: [{name: PrioritySort}]", ""), built_in())
