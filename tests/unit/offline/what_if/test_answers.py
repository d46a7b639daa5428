"""What is asked of a what-if: gangs, preemption, others, how many fit; and that its sentences are right."""

from typing import Any

import msgspec
import pytest

from kit.what_if_ground import ask, deployment, nodes_of, pod_spec, running, with_plugins, world_of
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.gangs import GROUP_LABEL
from pilotage.offline.what_if.answer import as_data
from pilotage.offline.what_if.request import WrongRequest
from pilotage.offline.what_if.wording import stopped_by, where
from pilotage.testing import make_node, make_pod
from pilotage.testing.gangs import make_group, make_members

GANG = [
    {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train"},
        "spec": {"minMember": 3},
    },
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {
            "parallelism": 3,
            "template": {"metadata": {"labels": {GROUP_LABEL: "train"}}, "spec": pod_spec("1")},
        },
    },
]
ONE_CORE = {"addPods": {"requests": {"cpu": "1"}}}


def test_each_copy_of_a_gang_is_a_gang_of_its_own() -> None:
    answer = ask(
        [make_node("n1", cpu="8")], {"add": {"manifests": GANG, "copies": 3}}, ready=with_plugins("Coscheduling")
    )
    assert (answer.pods.asked, answer.pods.placed) == (9, 6), "the third gang waits as a whole"
    assert answer.waiting[0].count == 3
    assert answer.waiting[0].reason.startswith("PodGroup default/train-copy-3 gets rejected")
    assert answer.shapes[0].stopped_by == "cpu"


def test_how_many_gangs_fit() -> None:
    add = {"add": {"manifests": GANG}}
    answer = ask([make_node("n1", cpu="8")], add, ask=["fill"], ready=with_plugins("Coscheduling"))
    assert answer.fill is not None
    assert (answer.fill.copies, answer.fill.by_node) == (2, {"n1": 6})


def test_who_is_evicted_and_against_which_budget() -> None:
    spec = {"selector": {"matchLabels": {"app": "low"}}}
    metadata = {"name": "low-budget", "namespace": "default"}
    budget = msgspec.convert({"metadata": metadata, "spec": spec, "status": {}}, PodDisruptionBudget)
    low = running("low", "n1", owner="low", cpu="3", labels={"app": "low"}, priority=1)
    high = {"add": {"manifests": [deployment(cpu="2", priority=10)]}}
    cluster = [make_node("n1", cpu="4"), low, budget]
    answer = ask(cluster, high)
    assert answer.verdict == "fits"
    assert answer.summary == "1 of 1 pod fits. 1 eviction, 1 of them against a disruption budget."
    assert [(each.pod, each.by, each.budget, each.violated) for each in answer.evictions] == [
        ("default/low", "default/web-1", "default/low-budget", True)
    ]
    assert answer.others is not None
    assert [(each.pod, each.node) for each in answer.others.displaced] == [("default/low", "")]


def test_a_class_that_pods_have_can_be_named() -> None:
    there = make_pod("there", node="n1", priority=7, spec={"priorityClassName": "high"})
    answer = ask([make_node("n1"), there], {"add": {"manifests": [deployment(priorityClassName="high")]}})
    assert answer.verdict == "fits"


def test_pods_that_wait_already() -> None:
    cluster = [make_node("n1", cpu="1"), make_pod("first", cpu="1"), make_pod("second", cpu="1")]
    new_node = {"addNodes": {"like": "n1"}}
    answer = ask(cluster, new_node)
    assert answer.summary == "No pod needs another place. 1 pod already waiting would start, too."
    assert answer.others is not None
    assert [(each.pod, each.node) for each in answer.others.placed] == [("default/second", "n1-new-1")]
    without = ask(cluster, ONE_CORE, ask=["placements"])
    assert (nodes_of(without), without.others) == ({"n1": 1}, None)
    assert "pods that are already waiting are left out" in without.assumptions
    assert ask(cluster, ONE_CORE).pods.placed == 0, "who waits already goes first"


def test_a_gang_that_waits_starts_with_a_new_node() -> None:
    cluster = [make_node("n1", cpu="2"), make_group("gang", 3), *make_members(3, cpu="1")]
    answer = ask(cluster, {"addNodes": {"like": "n1"}}, ready=with_plugins("Coscheduling"))
    assert answer.others is not None
    assert answer.others.placed_count == 3


def test_how_many_fit_now_with_each_change_and_with_all() -> None:
    cluster = [make_node("n1", cpu="4"), make_node("n2", cpu="2"), running("web", "n1", cpu="1")]
    changes: list[dict[str, Any]] = [{"addNodes": {"like": "n2", "count": 2}}, {"cordon": {"nodes": ["n1"]}}, ONE_CORE]
    answer = ask(cluster, *changes, ask=["fill"])
    assert [(each.changes, each.copies, each.stopped_by) for each in answer.capacity] == [
        ("now", 5, "cpu"),
        ("+2 n2", 9, "cpu"),
        ("cordon n1", 2, "cpu"),
        ("all", 6, "cpu"),
    ]
    assert answer.fill == answer.capacity[-1]
    assert answer.summary == "6 copies fit (now: 5); the next one is stopped by cpu."


def test_nobody_is_evicted_to_fill() -> None:
    low = running("low", "n1", cpu="3", priority=-1)
    answer = ask([make_node("n1", cpu="4"), low], {"add": {"manifests": [deployment(priority=10)]}}, ask=["fill"])
    assert answer.fill is not None
    assert (answer.fill.copies, answer.evictions) == (1, ())


def test_there_is_an_end_to_filling() -> None:
    answer = ask([make_node("n1", pods=1000)], {"addPods": {}}, ask=["fill"], limits={"copies": 100})
    assert answer.fill is not None
    assert (answer.fill.copies, answer.fill.stopped_by) == (100, "the limit of 100 pods")


def test_what_would_place_the_others() -> None:
    answer = ask(
        [make_node("n1", cpu="2"), make_node("n2", cpu="3")], {"addPods": {"requests": {"cpu": "4"}}}, ask=["remedies"]
    )
    texts = [remedy["text"] for remedy in as_data(answer)["waiting"][0]["remedies"]]
    assert "ask for cpu 3 instead of 4 (no node is that large: the largest has 3): fits on n2" in texts


def test_what_to_fill_with_must_be_said() -> None:
    with pytest.raises(WrongRequest, match="fill: name pods with add or addPods"):
        ask([make_node("n1")], ask=["fill"])


def test_who_is_out_of_time_says_so() -> None:
    answer = ask([make_node("n1", pods=9000)], {"addPods": {"copies": 3000}}, limits={"seconds": 1e-6})
    assert answer.verdict == "unknown"
    assert "The time limit of 1e-06 s was reached" in answer.summary


def test_a_world_is_as_before_after_each_question() -> None:
    cluster = [
        make_node("n1", labels={"a": "b"}),
        make_node("n2"),
        running("web", "n1", cpu="1"),
        make_pod("waits", cpu="9"),
    ]
    world = world_of(cluster)
    wild: list[dict[str, Any]] = [
        {"addNodes": {"like": "n1", "count": 2}},
        {"removeNodes": {"nodes": ["n2"]}},
        {"drain": {"nodes": ["n1"]}},
        {"label": {"nodes": ["n1"], "labels": {"a": None}}},
        {"add": {"manifests": [deployment(replicas=3)]}},
    ]
    first = ask(world, ONE_CORE)
    ask(world, *wild)
    again = ask(world, ONE_CORE)
    assert (again.use, again.summary) == (first.use, first.summary)


MESSAGES = {
    "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable.": "cpu",
    "0/5 nodes are available: 1 Insufficient memory, 2 Insufficient example.com/gpu, 2 node(s) were unschedulable. "
    "preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod.": "example.com/gpu",
    "0/5 nodes are available: 5 node(s) had untolerated taint(s). no new claims": "node(s) had untolerated taint(s)",
    "0/2 nodes are available: 2 Too many pods.": "pods",
    "no nodes available to schedule pods": "no nodes available to schedule pods",
    "waiting for scheduling gates: [a]": "waiting for scheduling gates: [a]",
}


@pytest.mark.parametrize(("message", "words"), MESSAGES.items(), ids=MESSAGES.values())
def test_what_stops_a_pod(message: str, words: str) -> None:
    assert stopped_by(message) == words


PLACES = {
    "": {},
    "n1: 2": {"n1": 2},
    "n1: 2, n2: 1": {"n2": 1, "n1": 2},
    "n1, n2: 2 each": {"n1": 2, "n2": 2},
    "gpu-9 to gpu-12: 8 each": {f"gpu-{i}": 8 for i in (12, 9, 11, 10)},
    "4 nodes: 1 to 3 each": {"a": 1, "b": 2, "c": 3, "d": 1},
}


@pytest.mark.parametrize(("words", "nodes"), PLACES.items(), ids=PLACES)
def test_where_pods_go(words: str, nodes: dict[str, int]) -> None:
    assert where(nodes) == words
