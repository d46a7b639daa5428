import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.live_core import LiveCore
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.config.faults import Stage
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, Rejection
from pilotage.kinds.app_network import AppGroup, NetworkTopology
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.network._shared.app_groups import APP_GROUP, WORKLOAD
from pilotage.plugins.network._shared.costs import REGION, ZONE
from pilotage.plugins.network.network_overhead import NetworkOverhead
from pilotage.plugins.network.network_overhead.traffic import HIGHEST
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import (
    FakeCluster,
    FakeScheduler,
    filter_all,
    make_pod,
    raw_scores,
    reason_of,
    score_all,
    verdicts_of,
)
from pilotage.testing.network import make_app_group, make_member, make_network_topology, make_node_at

AT = ("profiles", 0, "pluginConfig", 1, "args")
WEST, EAST = "us-west-1", "us-east-1"
PLACES = {
    "n1": (WEST, "Z1"),
    "n2": (WEST, "Z1"),
    "n3": (WEST, "Z2"),
    "n4": (WEST, "Z2"),
    "n5": (EAST, "Z3"),
    "n6": (EAST, "Z3"),
    "n7": (EAST, "Z4"),
    "n8": (EAST, "Z4"),
}
NODES = [make_node_at(name, *place) for name, place in PLACES.items()]
TOPOLOGY = make_network_topology(regions={(WEST, EAST): 20}, zones={("Z1", "Z2"): 5, ("Z3", "Z4"): 10})
BASIC = make_app_group("basic", {"p1": ["p2"], "p2": ["p3"], "p3": []})
AMPLE = make_app_group("basic", {"p1": {"p2": 100}, "p2": {"p3": 100}, "p3": []})
PLACED = [("p1", "n2"), ("p2", "n5"), ("p3", "n1")]


def member(workload: str, node: str | None = None, group: str = "basic", **fields: Any) -> Pod:
    return make_member(fields.pop("name", f"{workload}-of-{group}"), group, workload, node=node, **fields)


def cluster(
    *placed: tuple[str, str], nodes: list[Node] | None = None, objects: tuple[Kind, ...] = (BASIC, TOPOLOGY)
) -> FakeCluster:
    """Return the eight nodes with these parts of the application on them."""
    pods = [member(workload, node, name=f"{workload}-{i}") for i, (workload, node) in enumerate(placed)]
    return FakeCluster(NODES if nodes is None else nodes, pods, objects)


def numbered(*numbers: int) -> dict[str, int]:
    return {f"n{i}": number for i, number in enumerate(numbers, start=1)}


def too_far(node: str, satisfied: int, violated: int) -> Rejection:
    text = "does not meet several network requirements from Workload dependencies"
    return Rejection(f"Node {node} {text}: Satisfied: {satisfied} Violated: {violated}")


# -------------------------------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("workload", "raw", "normalized"),
    [
        pytest.param(
            "p1",
            (20, 20, 20, 20, 0, 1, 10, 10),
            (0, 0, 0, 0, 100, 95, 50, 50),
            id="p1 goes where p2 is, in the east",
        ),
        pytest.param(
            "p2", (0, 1, 5, 5, 20, 20, 20, 20), (100, 95, 75, 75, 0, 0, 0, 0), id="p2 goes where p3 is, in the west"
        ),
        pytest.param("p3", (0,) * 8, (0,) * 8, id="p3 depends on nothing and may go anywhere"),
    ],
)
def test_scores_of_the_original(workload: str, raw: tuple[int, ...], normalized: tuple[int, ...]) -> None:
    pods = cluster(*PLACED)
    assert raw_scores(NetworkOverhead(), pods, member(workload)) == numbered(*raw)
    assert score_all(NetworkOverhead(), pods, member(workload)) == numbered(*normalized)


@pytest.mark.parametrize(
    ("placed", "raw"),
    [
        pytest.param([("p2", "n1"), ("p2", "n2")], (1, 1, 10, 10, 40, 40, 40, 40), id="every pod of a part counts"),
        pytest.param([("p2", "n1"), ("p2", "n1")], (0, 2, 10, 10, 40, 40, 40, 40), id="also two of them on one node"),
        pytest.param([("p2", "n1"), ("p2", "n8")], (20, 21, 25, 25, 30, 30, 21, 20), id="far from each other"),
        pytest.param([("p3", "n1"), ("p1", "n3")], (0,) * 8, id="parts that it does not depend on cost nothing"),
        pytest.param([("p2", "gone")], (0,) * 8, id="a pod on a node that is gone plays no part"),
    ],
)
def test_raw_scores(placed: list[tuple[str, str]], raw: tuple[int, ...]) -> None:
    assert raw_scores(NetworkOverhead(), cluster(*placed), member("p1")) == numbered(*raw)


@pytest.mark.parametrize(
    ("feasible", "scores"),
    [
        pytest.param(["n1", "n2"], {"n1": 100, "n2": 100}, id="equal costs are all best"),
        pytest.param(["n5"], {"n5": 0}, id="no cost stays no score"),
        pytest.param(["n6"], {"n6": 100}, id="one node with a cost"),
        pytest.param(["n5", "n6"], {"n5": 100, "n6": 0}, id="only nodes that are left are compared"),
        pytest.param(["n1", "n6", "n7"], {"n1": 0, "n6": 100, "n7": 53}, id="rounded down before it is turned round"),
    ],
)
def test_normalized_scores(feasible: list[str], scores: dict[str, int]) -> None:
    assert score_all(NetworkOverhead(), cluster(*PLACED), member("p1"), feasible) == scores


def test_who_is_chosen() -> None:
    outcome = FakeScheduler(NetworkOverhead(), cluster=cluster(*PLACED)).schedule(member("p1"))
    assert isinstance(outcome, Placed)
    assert outcome.node == "n5"


def test_pods_that_are_only_about_to_be_bound_count_and_those_that_left_do_not() -> None:
    nodes = cluster()
    scheduler = FakeScheduler(NetworkOverhead(), cluster=nodes)
    first = scheduler.schedule(member("p2", labels={}))
    assert isinstance(first, Placed)
    second = scheduler.schedule(member("p1"))
    assert isinstance(second, Placed)
    assert second.node == first.node

    for pod in nodes.cache.pods():
        nodes.remove_pod(pod)
    nodes.add_pod(member("p2", "n7"))
    third = scheduler.schedule(member("p1", name="another"))
    assert isinstance(third, Placed)
    assert third.node == "n7"


# -------------------------------------------------------------------------------------------------------------- filter


def test_more_violated_than_satisfied_dependencies_are_too_many() -> None:
    verdicts = filter_all(NetworkOverhead(), cluster(*PLACED), member("p1"))
    west_and_the_other_zone = ("n1", "n2", "n3", "n4", "n7", "n8")
    assert verdicts == {name: too_far(name, 0, 1) if name in west_and_the_other_zone else None for name in PLACES}


def test_the_reason_of_the_original() -> None:
    nodes = [make_node_at("n-1", WEST, "Z1"), make_node_at("n-5", EAST, "Z3"), make_node_at("n-6", EAST, "Z3")]
    outcome = filter_all(NetworkOverhead(), cluster(("p2", "n-5"), nodes=nodes), member("p1"))
    assert isinstance(outcome, dict)
    assert outcome["n-1"] is not None
    assert outcome["n-1"].message == (
        "Node n-1 does not meet several network requirements from Workload dependencies: Satisfied: 0 Violated: 1"
    )
    assert outcome["n-6"] is None


@pytest.mark.parametrize(
    ("talks", "placed", "counts"),
    [
        pytest.param({"p2": 19}, ["n5"], (0, 1), id="a region that costs more than allowed"),
        pytest.param({"p2": 20}, ["n5"], None, id="a region that costs just what is allowed"),
        pytest.param({"p2": 4}, ["n3"], (0, 1), id="a zone that costs more than allowed"),
        pytest.param({"p2": 5}, ["n3"], None, id="a zone that costs just what is allowed"),
        pytest.param({"p2": 0}, ["n2"], None, id="another node of the same zone, whatever is allowed"),
        pytest.param({"p2": 0}, ["n1"], None, id="the same node, whatever is allowed"),
        pytest.param({"p2": 0}, ["n1", "n5"], None, id="as many satisfied as violated"),
        pytest.param({"p2": 0}, ["n1", "n5", "n7"], (1, 2), id="more violated than satisfied"),
        pytest.param({"p2": 0}, ["gone", "gone"], None, id="pods on nodes that are gone"),
        pytest.param(["p2", "p2"], ["n5"], (0, 2), id="a dependency that is named twice counts twice"),
        pytest.param(["p1"], [], None, id="nobody is placed yet"),
    ],
)
def test_filter(talks: Any, placed: list[str], counts: tuple[int, int] | None) -> None:
    group = make_app_group("basic", {"p1": talks, "p2": []})
    pods = cluster(*(("p2", node) for node in placed), objects=(group, TOPOLOGY))
    verdicts = filter_all(NetworkOverhead(), pods, member("p1"))
    found = None if verdicts == SKIP else verdicts["n1"]  # type: ignore[index]
    assert found == (None if counts is None else too_far("n1", *counts))


@pytest.mark.parametrize(
    ("here", "there", "cost", "verdict"),
    [
        pytest.param(("", ""), ("", ""), 100, (0, 1), id="two nodes without labels"),
        pytest.param((WEST, "Z1"), ("", ""), 100, (0, 1), id="to a node without labels"),
        pytest.param(("", ""), (WEST, "Z1"), 100, None, id="from a node without labels: nobody knows"),
        pytest.param((WEST, ""), (WEST, ""), 1, None, id="one region, no zones"),
        pytest.param(("", "Z1"), ("", "Z1"), 1, None, id="one zone, no regions"),
        pytest.param(("", "Z1"), ("", "Z2"), 5, (0, 1), id="two zones, no regions"),
        pytest.param((WEST, "Z1"), (WEST, "Z9"), 100, None, id="a zone of which no cost is known"),
        pytest.param((WEST, "Z1"), (WEST, ""), 100, None, id="to a node without a zone"),
        pytest.param((WEST, "Z1"), ("moon", "Z1"), 100, None, id="a region of which no cost is known"),
        pytest.param((WEST, "Z1"), (EAST, "Z1"), 20, (0, 1), id="zones of one name in two regions"),
    ],
)
def test_places(here: tuple[str, str], there: tuple[str, str], cost: int, verdict: tuple[int, int] | None) -> None:
    nodes = [make_node_at("here", *here), make_node_at("there", *there)]
    pods = cluster(("p2", "there"), nodes=nodes)
    assert raw_scores(NetworkOverhead(), pods, member("p1")) == {"here": cost, "there": 0}
    expected = None if verdict is None else too_far("here", *verdict)
    assert filter_all(NetworkOverhead(), pods, member("p1")) == {"here": expected, "there": None}


def test_a_region_and_a_zone_of_one_name_have_costs_of_their_own() -> None:
    topology = make_network_topology(regions={("a", "b"): 7}, zones={("a", "b"): 3})
    nodes = [make_node_at("x", "a", "a"), make_node_at("y", "a", "b"), make_node_at("z", "b", "b")]
    pods = cluster(("p2", "x"), nodes=nodes, objects=(BASIC, topology))
    assert raw_scores(NetworkOverhead(), pods, member("p1")) == {"x": 0, "y": 3, "z": 7}


def test_costs_may_differ_with_the_direction() -> None:
    topology = make_network_topology(zones={("Z1", "Z2"): 3, ("Z2", "Z1"): 9})
    pods = cluster(("p2", "n1"), nodes=NODES[:3], objects=(BASIC, topology))
    assert raw_scores(NetworkOverhead(), pods, member("p1")) == {"n1": 0, "n2": 1, "n3": 9}


def test_absurd_costs_stay_within_64_bits() -> None:
    topology = make_network_topology(regions={(WEST, EAST): 2**63 - 1}, zones={("Z1", "Z2"): 2**40})
    pods = cluster(*[("p2", "n1")] * 50, objects=(AMPLE, topology))
    raw = raw_scores(NetworkOverhead(), pods, member("p1"))
    assert raw == numbered(0, 50, 50 * 2**40, 50 * 2**40, *[HIGHEST] * 4)
    assert score_all(NetworkOverhead(), pods, member("p1")) == numbered(100, 100, 100, 100, 0, 0, 0, 0)


# ----------------------------------------------------------------------------------------------------- what is missing


def before_nodes(pod: Pod, *objects: Kind, placed: tuple[tuple[str, str], ...] = (("p2", "n5"),), **args: Any) -> Any:
    found = filter_all(NetworkOverhead.of(args), cluster(*placed, objects=objects), pod)
    return "asked" if isinstance(found, dict) else found


NO_GROUP = Rejection(
    'AppGroup "basic" not found in namespace default: create it, '
    "or remove the label appgroup.diktyo.x-k8s.io from the pod",
    preemption_helps=False,
)
NO_TOPOLOGY = Rejection(
    'NetworkTopology "nt-default" not found in namespace default: create it, or name another in the argument '
    "networkTopologyName of NetworkOverhead",
    preemption_helps=False,
)


@pytest.mark.parametrize(
    ("pod", "objects", "placed", "expected"),
    [
        pytest.param(make_pod(), (), (), SKIP, id="a pod of no application needs nothing"),
        pytest.param(member("p1", group=""), (), (), SKIP, id="nor does one with the other label alone"),
        pytest.param(member("p1"), (), (), NO_GROUP, id="no AppGroup"),
        pytest.param(member("p1"), (TOPOLOGY,), (("p2", "n5"),), NO_GROUP, id="no AppGroup, though there are costs"),
        pytest.param(member("p3"), (BASIC,), (("p2", "n5"),), SKIP, id="no dependencies"),
        pytest.param(member("p9"), (BASIC,), (("p2", "n5"),), SKIP, id="a part that the AppGroup does not know"),
        pytest.param(member(""), (BASIC,), (("p2", "n5"),), SKIP, id="a pod that does not say which part it is"),
        pytest.param(member("p1"), (BASIC,), (), SKIP, id="no pods yet allocated, then costs are not looked up"),
        pytest.param(member("p1"), (BASIC,), (("p3", "n5"),), SKIP, id="nor where all that are talk to others"),
        pytest.param(member("p1"), (BASIC,), (("p2", "n5"),), NO_TOPOLOGY, id="no NetworkTopology"),
        pytest.param(member("p1"), (BASIC, TOPOLOGY), (("p2", "n5"),), "asked", id="everything is there"),
    ],
)
def test_what_is_missing_is_told(
    pod: Pod, objects: tuple[Kind, ...], placed: tuple[tuple[str, str], ...], expected: Any
) -> None:
    assert before_nodes(pod, *objects, placed=placed) == expected


WHY = "Expected `array`, got `str` - at `$.spec.workloads`"
ELSEWHERE = make_app_group("basic", {"p1": []}, namespace="shared")
OFF = "correct it, or remove the label appgroup.diktyo.x-k8s.io from the pod"
ANOTHER = "correct it, or name another in the argument networkTopologyName of NetworkOverhead"


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "objects", "text"),
    [
        pytest.param(
            AppGroup, "basic", "default", (TOPOLOGY,),
            f'AppGroup "basic" in namespace default cannot be decoded: {WHY}; {OFF}', id="an AppGroup",
        ),
        pytest.param(
            AppGroup, "basic", "default", (TOPOLOGY, ELSEWHERE),
            f'AppGroup "basic" in namespace default cannot be decoded: {WHY}; {OFF}',
            id="an AppGroup, and the next namespace has one of its name",
        ),
        pytest.param(
            AppGroup, "basic", "shared", (TOPOLOGY,),
            f'AppGroup "basic" in namespace shared cannot be decoded: {WHY}; {OFF}', id="one of another namespace",
        ),
        pytest.param(
            NetworkTopology, "nt-default", "default", (BASIC,),
            f'NetworkTopology "nt-default" in namespace default cannot be decoded: {WHY}; {ANOTHER}', id="the costs",
        ),
        pytest.param(AppGroup, "other", "default", (BASIC, TOPOLOGY), None, id="not what the pod needs"),
        pytest.param(AppGroup, "basic", "shared", (BASIC, TOPOLOGY), None, id="not the first that is found"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_told(
    kind: type[Kind], name: str, namespace: str, objects: tuple[Kind, ...], text: str | None
) -> None:
    pods = cluster(("p2", "n5"), objects=objects)
    pods.cache.objects.note_trouble(kind, name, namespace, WHY)
    found = filter_all(NetworkOverhead.of({"namespaces": ["shared"]}), pods, member("p1"))
    assert (None if isinstance(found, dict) else found) == (text and Rejection(text, preemption_helps=False))


@pytest.mark.looptime
async def test_a_pod_is_told_what_becomes_of_its_application() -> None:
    live = LiveCore(NetworkOverhead())
    live.add_node()
    live.core.objects.added(TOPOLOGY)
    live.create(member("p1"))
    broken = ObjectIdentity(name="basic", namespace="default", resource=str(AppGroup.api), shape=AppGroup)

    async def told() -> str:
        await live.settle()
        await asyncio.sleep(30)  # its back-off is over
        await live.settle()
        return live.api.conditions[-1][2]

    assert 'AppGroup "basic" not found' in await told()
    live.core.objects.undecodable(broken, WHY)
    assert f"cannot be decoded: {WHY}; correct it" in await told()
    live.core.objects.undecodable(broken, "something else")
    assert "cannot be decoded: something else; correct it" in await told()
    live.core.objects.vanished(broken)
    assert 'AppGroup "basic" not found' in await told()
    live.core.objects.undecodable(broken, WHY)
    live.create(make_pod("other"))
    await live.settle()
    assert [name for name, _ in live.api.binds] == ["other"]
    live.core.objects.added(BASIC)
    await told()
    assert [name for name, _ in live.api.binds] == ["other", "p1-of-basic"]


def test_the_message_when_an_application_is_missing() -> None:
    scheduler = FakeScheduler(NetworkOverhead(), DefaultPreemption(), cluster=cluster(objects=()))
    outcome = scheduler.schedule(member("p1", namespace="team"))
    assert isinstance(outcome, Unplaced)
    assert outcome.message.startswith(
        '0/8 nodes are available: AppGroup "basic" not found in namespaces team, default: create it, '
        "or remove the label appgroup.diktyo.x-k8s.io from the pod."
    )


@pytest.mark.parametrize("deep", [{}, {"weights": "Other"}], ids=["no weights at all", "only others"])
def test_weights_that_are_not_there_are_told_once_and_count_as_unknown(
    deep: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    topology = make_network_topology(zones={("Z1", "Z2"): 5}, **deep)
    plugin = NetworkOverhead.of({"weightsName": "NetperfCosts"})
    pods = cluster(("p2", "n1"), nodes=NODES[:3], objects=(BASIC, topology))
    for _ in range(3):
        assert raw_scores(plugin, pods, member("p1")) == {"n1": 0, "n2": 1, "n3": 100}
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    there = deep.get("weights", "UserDefined")
    assert told.startswith(
        f"NetworkTopology default/nt-default: it has no weights named 'NetperfCosts' (there are: {there})"
    )


def test_new_costs_count_at_once() -> None:
    pods, plugin = cluster(("p2", "n1"), nodes=NODES[:3]), NetworkOverhead()
    assert raw_scores(plugin, pods, member("p1")) == {"n1": 0, "n2": 1, "n3": 5}
    pods.cache.objects.put(make_network_topology(zones={("Z1", "Z2"): 6}))
    assert raw_scores(plugin, pods, member("p1")) == {"n1": 0, "n2": 1, "n3": 6}


def test_a_negative_cost_is_told_and_counts_as_unknown(caplog: pytest.LogCaptureFixture) -> None:
    topology = make_network_topology(zones={("Z1", "Z2"): -5})
    pods = cluster(("p2", "n1"), nodes=NODES[:3], objects=(BASIC, topology))
    assert raw_scores(NetworkOverhead(), pods, member("p1")) == {"n1": 0, "n2": 1, "n3": 100}
    assert "the cost from 'Z2' to 'Z1' is -5, below zero" in caplog.text


def test_the_other_weights_count_if_they_are_named() -> None:
    topology = make_network_topology("mine", zones={("Z1", "Z2"): 42}, weights="NetperfCosts")
    plugin = NetworkOverhead.of({"weightsName": "NetperfCosts", "networkTopologyName": "mine"})
    pods = cluster(("p2", "n1"), nodes=NODES[:3], objects=(BASIC, topology))
    assert raw_scores(plugin, pods, member("p1")) == {"n1": 0, "n2": 1, "n3": 42}


def test_without_its_first_look_it_says_so() -> None:
    pods = cluster(*PLACED)
    cycle = pods.cycle(member("p1"))
    with pytest.raises(Exception, match=r"^not eligible due to failed to read from cycleState$"):
        NetworkOverhead().filter(cycle, cycle.pod, cycle.nodes[0])
    assert NetworkOverhead().score(cycle, cycle.pod, cycle.nodes[0]) == 0


# ---------------------------------------------------------------------------------------------------------- namespaces


@pytest.mark.parametrize(
    ("groups", "namespaces", "cost"),
    [
        pytest.param(["default"], ["default"], 20, id="as in the original, the default namespace"),
        pytest.param(["team"], ["default"], 20, id="the pod's own namespace, though nobody named it"),
        pytest.param(["infra"], ["default", "infra"], 20, id="another one that is named"),
    ],
)
def test_where_the_application_is_looked_up(groups: list[str], namespaces: list[str], cost: int) -> None:
    objects = [make_app_group("basic", {"p1": ["p2"]}, namespace=namespace) for namespace in groups]
    plugin = NetworkOverhead.of({"namespaces": namespaces})
    pods = FakeCluster(NODES, [member("p2", "n5", namespace="team")], [*objects, TOPOLOGY])
    scores = raw_scores(plugin, pods, member("p1", namespace="team"))
    assert isinstance(scores, dict)
    assert scores["n1"] == cost


def test_the_pods_own_namespace_comes_first() -> None:
    away = make_network_topology(namespace="team", regions={(WEST, EAST): 7})
    far = make_app_group("basic", {"p1": ["p2"]}, namespace="team")
    pods = FakeCluster(NODES, [member("p2", "n5", namespace="team")], [BASIC, far, TOPOLOGY, away])
    scores = raw_scores(NetworkOverhead(), pods, member("p1", namespace="team"))
    assert isinstance(scores, dict)
    assert scores["n1"] == 7


def test_pods_of_one_application_may_live_in_several_namespaces() -> None:
    placed = [member("p2", "n1", namespace="a"), member("p2", "n2", namespace="b"), member("p2", "n3", namespace="c")]
    other = make_app_group("basic", {"p1": ["p2"]}, namespace="c")  # of the same name, and not the same
    pods = FakeCluster(NODES, placed, [BASIC, other, TOPOLOGY])
    assert raw_scores(NetworkOverhead(), pods, member("p1")) == numbered(1, 1, 10, 10, 40, 40, 40, 40)
    assert raw_scores(NetworkOverhead(), pods, member("p1", namespace="c")) == numbered(5, 5, 0, 1, 20, 20, 20, 20)


# ---------------------------------------------------------------------------------------------------------- preemption


def test_a_pod_is_not_evicted_for_one_that_must_be_near_it() -> None:
    nodes = [make_node_at("n1", WEST, "Z1", cpu=2), make_node_at("n5", EAST, "Z3", cpu=2)]
    placed = [
        member("p2", "n1", name="partner", cpu=1, priority=0),
        make_pod("stranger", node="n1", cpu=1, priority=0),
        member("p2", "n5", name="far", cpu=2, priority=100),
    ]
    pods = FakeCluster(nodes, placed, [BASIC, TOPOLOGY])
    scheduler = FakeScheduler(NodeResourcesFit(), NetworkOverhead(), DefaultPreemption(), cluster=pods)
    outcome = scheduler.schedule(member("p1", cpu=1, priority=10))
    assert isinstance(outcome, Unplaced)
    assert (outcome.nominate, outcome.victims) == ("n1", ("default/stranger",))


def test_nobody_is_evicted_where_the_pod_would_miss_its_victims() -> None:
    nodes = [make_node_at("n1", WEST, "Z1", cpu=1), make_node_at("n5", EAST, "Z3", cpu=1)]
    placed = [member("p2", "n1", cpu=1, priority=0), member("p2", "n5", name="far", cpu=1, priority=100)]
    pods = FakeCluster(nodes, placed, [BASIC, TOPOLOGY])
    scheduler = FakeScheduler(NodeResourcesFit(), NetworkOverhead(), DefaultPreemption(), cluster=pods)
    outcome = scheduler.schedule(member("p1", cpu=1, priority=10))
    assert isinstance(outcome, Unplaced)
    assert (outcome.nominate, outcome.victims) == ("", ())


def test_a_what_if_changes_its_own_copy_only() -> None:
    pods, plugin = cluster(("p2", "n1"), ("p2", "n5")), NetworkOverhead()
    pods.cache.follow(plugin)
    cycle = pods.cycle(member("p1"))
    plugin.pre_filter(cycle, cycle.pod)
    here = next(node for node in cycle.nodes if node.name == "n1")
    (partner,) = here.pods.values()
    stranger = member("p2", "n1", group="other")

    what_if = cycle.what_if()
    assert plugin.filter(what_if, cycle.pod, here) is None
    plugin.remove_pod(what_if, cycle.pod, stranger, here)
    assert plugin.filter(what_if, cycle.pod, here) is None
    assert verdicts_of(plugin, what_if, cycle.pod)["n1"] is None
    plugin.remove_pod(what_if, cycle.pod, partner, here)
    assert verdicts_of(plugin, what_if, cycle.pod)["n1"] == too_far("n1", 0, 1)
    plugin.add_pod(what_if, cycle.pod, partner, here)
    assert plugin.filter(what_if, cycle.pod, here) is None
    plugin.remove_pod(what_if, cycle.pod, partner, here)
    assert plugin.filter(cycle, cycle.pod, here) is None


# ----------------------------------------------------------------------------------------------------------- arguments

DEFAULTS = {"namespaces": ["default"], "weightsName": "UserDefined", "networkTopologyName": "nt-default"}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param({}, DEFAULTS, id="nothing"),
        pytest.param({"namespaces": [], "weightsName": "", "networkTopologyName": ""}, DEFAULTS, id="empty ones"),
        pytest.param({"namespaces": None, "weightsName": None}, DEFAULTS, id="null"),
        pytest.param(
            {"namespaces": ["a", "b"], "weightsName": "NetperfCosts", "networkTopologyName": "net"},
            {"namespaces": ["a", "b"], "weightsName": "NetperfCosts", "networkTopologyName": "net"},
            id="all of them",
        ),
    ],
)
def test_defaults(given: dict[str, Any], read: dict[str, Any]) -> None:
    found = NetworkOverhead.read_arguments(given, AT)
    assert (found.value, found.faults) == (read, ())


@pytest.mark.parametrize(
    ("given", "stage"),
    [
        pytest.param({"namespaces": "default"}, Stage.DECODING, id="a namespace that is no list"),
        pytest.param({"weightsName": 1}, Stage.DECODING, id="a name that is no text"),
        pytest.param({"weightName": "x"}, Stage.STRICTNESS, id="another field"),
    ],
)
def test_what_cannot_be_read_is_refused(given: dict[str, Any], stage: Stage) -> None:
    (fault,) = NetworkOverhead.read_arguments(given, AT).faults
    assert fault.stage is stage


# ---------------------------------------------------------------------------------------------------- both forms agree

SPOTS = st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["", "a", "b", "c"]))
COSTS = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b", ""]), st.sampled_from(["a", "b", "c"])),
    st.sampled_from([-1, 0, 3, 9, 2**62, 2**70]),
    max_size=5,
)
SOME_TALKS = st.dictionaries(
    st.sampled_from(["p1", "p2", "p3"]), st.sampled_from([0, 3, 9, 10_000]), min_size=1, max_size=3
)
WHO_IS_WHERE = st.lists(st.tuples(st.sampled_from(["p1", "p2", "p3"]), st.integers(0, 7)), max_size=12)


@given(st.lists(SPOTS, min_size=1, max_size=7), COSTS, COSTS, SOME_TALKS, WHO_IS_WHERE)
def test_both_forms_agree(spots: Any, regions: Any, zones: Any, talks: Any, placed: Any) -> None:
    nodes = [make_node_at(f"n{i}", *spot) for i, spot in enumerate(spots)]
    objects = make_app_group("basic", {"p1": talks}), make_network_topology(regions=regions, zones=zones)
    pods = cluster(*((workload, f"n{node}") for workload, node in placed), nodes=nodes, objects=objects)
    filter_all(NetworkOverhead(), pods, member("p1"))
    scores = score_all(NetworkOverhead(), pods, member("p1"))
    assert isinstance(scores, dict)
    assert all(0 <= score <= 100 for score in scores.values())


def test_labels_are_those_of_the_original() -> None:
    assert (APP_GROUP, WORKLOAD) == ("appgroup.diktyo.x-k8s.io", "appgroup.diktyo.x-k8s.io.workload")
    assert (REGION, ZONE) == ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def test_the_shortest_form_knows_placed_pods_too() -> None:
    far = member("p2", "n1", name="far")
    node = make_node_at("n1", WEST, "Z1")
    assert reason_of(NetworkOverhead(), member("p1"), node, pods=[far], objects=[BASIC, TOPOLOGY]) is None
    assert reason_of(NetworkOverhead(), member("p1"), node, pods=[far], objects=[BASIC]) == NO_TOPOLOGY.message
