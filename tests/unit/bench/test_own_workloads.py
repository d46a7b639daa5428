"""Our own workloads: kube-scheduler can play them without the plugins, and a gang is complete at every size."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from bench.live import objects
from bench.live.catalogue import GOALS, OWN
from bench.live.contestants import CONTESTANTS
from bench.live.driver import gangs
from bench.live.operations import CreateAny, CreatePods
from bench.live.rounds import configuration_for
from bench.live.sizes import choose
from bench.live.templates import check
from bench.live.workload_files import Workload, read, templates_of
from pilotage.config.load import load
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.plugins.catalogue import built_in

WORKLOADS, REFUSALS = read([OWN])


def _created(workload: Workload) -> tuple[CreatePods, list[list[objects.Write]], list[dict[str, Any]]]:
    (step,) = (step for step in workload.operations if isinstance(step, CreatePods))
    items = objects.pods(step, "here", 1)
    return step, items, [msgspec.json.decode(item[-1].body) for item in items]


def test_all_are_played_by_default_and_need_nothing_that_we_cannot_do() -> None:
    assert REFUSALS == []
    assert {workload.case for workload in WORKLOADS} <= set(GOALS)
    for workload in WORKLOADS:
        for template in templates_of(workload):
            check(template)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.title)
def test_only_who_knows_the_plugins_gets_them(workload: Workload) -> None:
    assert configuration_for(workload, CONTESTANTS["kube-scheduler"]) == {}
    ours = configuration_for(workload, CONTESTANTS["pilotage"])
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    assert load(msgspec.json.encode(head | ours).decode(), built_in()).config.profiles


@pytest.mark.parametrize(
    ("name", "nodes", "scale", "sizes"),
    [
        pytest.param("Gangs", 1000, 1.0, [1000], id="one gang of a thousand pods on as many nodes"),
        pytest.param("Gangs", 200, 1.0, [200], id="a smaller one on fewer nodes"),
        pytest.param("Gangs/50Gangs_2000Pods", 1000, 1.0, [40] * 50, id="many gangs"),
        pytest.param("Gangs/50Gangs_2000Pods", 1000, 0.0515, [3] * 3 + [2] * 47, id="some have more than they need"),
    ],
)
def test_every_gang_can_be_complete(name: str, nodes: int, scale: float, sizes: list[int]) -> None:
    step, items, pods = _created(choose(WORKLOADS, name, nodes, scale).workload)
    labels = [pod["metadata"]["labels"] for pod in pods]
    assert sorted(Counter(each[NAME_LABEL] for each in labels).values(), reverse=True) == sizes
    assert {int(each[MIN_LABEL]) for each in labels} == {min(sizes)}
    found = gangs(step, items)
    assert [len(gang) for gang in found] == sizes
    by_key = {f"here/{pod['metadata']['name']}": pod["metadata"]["labels"][NAME_LABEL] for pod in pods}
    assert all(len({by_key[key] for key in gang}) == 1 for gang in found)


def test_gangs_are_measured_as_a_whole_and_not_in_an_open_loop() -> None:
    assert choose(WORKLOADS, "Gangs", 1000, 1.0).has_gangs
    assert not choose(WORKLOADS, "Quota", 1000, 1.0).has_gangs


def test_the_borrower_is_sure_of_nothing_and_the_kind_of_its_quota_is_defined_first() -> None:
    (workload,) = (workload for workload in WORKLOADS if workload.case == "Quota")
    steps = [step for step in workload.operations if isinstance(step, CreateAny)]
    writes = [objects.anything(step.template, step.namespace, 0, 1, "x") for step in steps]
    assert [write.path for write in writes] == [
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/borrower/elasticquotas",
        "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/lender/elasticquotas",
    ]
    assert [msgspec.json.decode(write.body)["spec"]["min"] for write in writes[1:]] == [{"cpu": 0}, {"cpu": 1000000}]
