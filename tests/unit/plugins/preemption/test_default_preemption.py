"""DefaultPreemption: who may evict whom, where, and what is said about it."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from pilotage.config.catalogue import ExtensionPoint
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.verdicts import Filtered, Nominated, NoRoom, PluginFailed, Rejection, Verdicts
from pilotage.framework.runtime.fit_error import fit_error
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.framework.runtime.preemption.candidates import least_harmful
from pilotage.framework.runtime.preemption.shortage import PODS, short_of
from pilotage.framework.runtime.preemption.victims import Victims, by_importance
from pilotage.framework.runtime.runner import Runner
from pilotage.kinds.disruption import DisruptionBudgets
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_ports import NodePorts
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.plugins.topology.pod_topology_spread import PodTopologySpread
from pilotage.scheduling.trial import NodeTrial
from pilotage.testing import FakeCluster, make_node, make_pod

EVICTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


class Quiet(Filter):
    """A pod with the label `quiet` goes where no pod has the label `loud`; to a node `mute` never."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        if "quiet" not in pod.labels:
            return None
        if "mute" in node.labels:
            return Rejection("mute", preemption_helps=False)
        return Rejection("loud pods") if any("loud" in other.labels for other in node.pods.values()) else None


class Broken(Filter):
    """Fails on nodes with the label `broken` that are empty."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        if "broken" in node.labels and not node.pods:
            raise PluginFailed(f"cannot ask {node.labels['broken']}")
        return None


FILTERS = (NodePorts(), NodeResourcesFit(), PodTopologySpread(), InterPodAffinity(), Quiet(), Broken())
# Nobody needs to keep to the usual order.
REVERSED = (Broken(), Quiet(), InterPodAffinity(), PodTopologySpread(), NodeResourcesFit(), NodePorts())


def cycle_of(cluster: FakeCluster, pod: Pod, filters: Sequence[Filter] = FILTERS) -> Cycle:
    """Return a cycle that has come to its filters."""
    pre_filters = tuple(plugin for plugin in filters if isinstance(plugin, PreFilter))
    runner = Runner(PluginSet(pre_filter=pre_filters, filter=tuple(filters)))
    cycle = Cycle(
        pod,
        cluster.nodes,
        cluster.cache.placed,
        cluster.cache.objects,
        nominated=cluster.nominated,
        trial=lambda cycle, info: NodeTrial(runner, cycle, info, before.skipped),
    )
    before = runner.pre_filter(cycle)
    return cycle


def verdicts_about(cycle: Cycle) -> Verdicts:
    rejections: dict[Rejection, int] = {}
    codes = []
    for info in cycle.nodes:
        rejection = cycle.try_on(info).verdict()
        codes.append(0 if rejection is None else rejections.setdefault(rejection, len(rejections) + 1))
    return Verdicts(np.array(codes, np.uint16), list(rejections))


def preempt(
    cluster: FakeCluster, pod: Pod, plugin: DefaultPreemption | None = None, filters: Sequence[Filter] = FILTERS
) -> Nominated | NoRoom:
    cycle = cycle_of(cluster, pod, filters)
    return (plugin or DefaultPreemption()).post_filter(cycle, pod, verdicts_about(cycle))


def limited(percentage: int, absolute: int) -> DefaultPreemption:
    given = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
    return DefaultPreemption.of(given)


def said(cluster: FakeCluster, pod: Pod) -> str:
    return preempt(cluster, pod).message


def budget(allowed: int, labels: dict[str, str], name: str = "pdb") -> PodDisruptionBudget:
    given = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(given, PodDisruptionBudget)


# What it says.

NEVER = {"preemptionPolicy": "Never"}
BIG = make_pod("big", priority=10, cpu=4)


@pytest.mark.parametrize(
    ("pod", "others", "message"),
    [
        pytest.param(
            make_pod(priority=10, cpu=4, spec=NEVER),
            [make_pod("a", cpu=3, node="n1")],
            "preemption: not eligible due to preemptionPolicy=Never.",
            id="a pod that may never preempt",
        ),
        pytest.param(
            BIG,
            [make_pod("a", cpu=3, node="n1")],
            "preemption: found a potential placement for pod on node n1, preempting 1 victims",
            id="a node to be freed",
        ),
        pytest.param(
            BIG,
            [make_pod("a", priority=10, cpu=3, node="n1")],
            "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling.",
            id="equal priority is never preempted",
        ),
        pytest.param(
            BIG,
            [make_pod("a", priority=10, cpu=3, node="n1"), make_pod("b", cpu=1, node="n1")],
            "preemption: 0/2 nodes are available: 1 Insufficient cpu, 1 Preemption is not helpful for scheduling.",
            id="the lower pods are too few",
        ),
        pytest.param(
            make_pod(priority=10, cpu=4, host_ports=[80]),
            [make_pod("a", priority=10, cpu=3, host_ports=[80], node="n1"), make_pod("b", cpu=1, node="n1")],
            "preemption: 0/2 nodes are available: 1 Preemption is not helpful for scheduling, "
            "1 node(s) didn't have free ports for the requested pod ports.",
            id="another filter objects first",
        ),
        pytest.param(
            make_pod(priority=10, cpu=9),
            [make_pod("a", cpu=3, node="n1")],
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            id="no node is large enough",
        ),
    ],
)
def test_messages(pod: Pod, others: list[Pod], message: str) -> None:
    cluster = FakeCluster([make_node("n1"), make_node("n2", cpu=2)], others)
    assert said(cluster, pod) == message


def test_several_reasons_of_one_node() -> None:
    cluster = FakeCluster(
        [make_node("n1", cpu=4, memory="4Gi", pods=1, allocatable={"a.com/x": 1, "b.com/y": 1})],
        [make_pod("a", priority=99, requests={"cpu": 4, "memory": "4Gi", "a.com/x": 1, "b.com/y": 1}, node="n1")],
    )
    cluster.add_pod(make_pod("b", cpu=1, node="n1"))
    pod = make_pod(priority=10, requests={"cpu": 1, "memory": "1Gi", "a.com/x": 1})
    reasons = "1 Insufficient a.com/x, 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods"
    assert said(cluster, pod) == f"preemption: 0/1 nodes are available: {reasons}."


def test_victims_are_named_most_important_first() -> None:
    pods = [make_pod(f"p{n}", namespace=f"ns{n}", priority=n, cpu=1, node="n1") for n in (1, 3, 2, 0)]
    found = preempt(FakeCluster([make_node("n1")], pods), make_pod(priority=10, cpu=3))
    assert found == Nominated(
        "n1",
        ("ns2/p2", "ns1/p1", "ns0/p0"),
        "preemption: found a potential placement for pod on node n1, preempting 3 victims",
    )


def test_no_room_gives_up_an_earlier_nomination() -> None:
    cluster = FakeCluster([make_node("n1", cpu=1)])
    found = preempt(cluster, make_pod(priority=10, cpu=4, status={"nominatedNodeName": "n1"}))
    assert isinstance(found, NoRoom)
    assert not found.keeps_nomination


# Who may preempt.

TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."


@pytest.mark.parametrize(
    ("other", "waits"),
    [
        pytest.param({"metadata": LEAVING, "status": EVICTED}, True, id="a victim of a scheduler is leaving"),
        pytest.param({"metadata": LEAVING}, False, id="a pod that leaves for another reason does not block"),
        pytest.param({"status": EVICTED}, False, id="nor does one that is not leaving yet"),
        pytest.param(
            {"metadata": LEAVING, "status": {"conditions": [EVICTED["conditions"][0] | {"status": "False"}]}},
            False,
            id="nor one whose condition is not true",
        ),
        pytest.param(
            {"metadata": LEAVING, "status": {"conditions": [EVICTED["conditions"][0] | {"reason": "EvictionByTaint"}]}},
            False,
            id="nor one that others disrupt",
        ),
        pytest.param({"metadata": LEAVING, "status": EVICTED, "priority": 10}, False, id="nor one of equal priority"),
    ],
)
def test_second_preemption(other: dict[str, Any], waits: bool) -> None:
    pods = [make_pod("a", cpu=3, node="n1", **other), make_pod("b", cpu=3, node="n2")]
    cluster = FakeCluster([make_node("n1"), make_node("n2")], pods)
    found = preempt(cluster, make_pod(priority=10, cpu=4, status={"nominatedNodeName": "n1"}))
    if waits:
        assert found == NoRoom(TERMINATING, keeps_nomination=True)
    else:
        assert isinstance(found, Nominated)


@pytest.mark.parametrize(
    ("nominated", "reasons"),
    [
        pytest.param("n1", ("mute",), id="a nominated node that became useless"),
        pytest.param("gone", ("loud pods",), id="a nominated node that is gone"),
    ],
)
def test_a_useless_nomination_does_not_block(nominated: str, reasons: tuple[str, ...]) -> None:
    evicted = make_pod("a", cpu=1, labels={"loud": ""}, node="n1", metadata=LEAVING, status=EVICTED)
    labels = {"mute": ""} if reasons == ("mute",) else {}
    other = make_pod("b", cpu=1, labels={"loud": ""}, node="n2")
    cluster = FakeCluster([make_node("n1", labels=labels), make_node("n2")], [evicted, other])
    pod = make_pod(priority=10, cpu=1, labels={"quiet": ""}, status={"nominatedNodeName": nominated})
    assert isinstance(preempt(cluster, pod), Nominated)


def test_a_pod_that_is_leaving_anyway_counts_as_a_victim() -> None:
    cluster = FakeCluster([make_node("n1")], [make_pod("a", cpu=3, node="n1", metadata=LEAVING)])
    found = preempt(cluster, BIG)
    assert isinstance(found, Nominated)
    assert found.victims == ("default/a",)


def test_a_verdict_that_is_pending_is_no_candidate() -> None:
    cluster = FakeCluster([make_node("n1")], [make_pod("a", cpu=3, node="n1")])
    cycle = cycle_of(cluster, BIG)
    verdicts = Verdicts(np.array([1], np.uint16), [Rejection("soon", pending=True)])
    found = DefaultPreemption().post_filter(cycle, BIG, verdicts)
    assert found.message == "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


# Failures.

CANNOT = 'running "Broken" filter plugin: cannot ask'


def test_a_failure_matters_only_if_no_other_node_helps() -> None:
    nodes = [make_node("n1", labels={"broken": "n1"}), make_node("n2")]
    pods = [make_pod(f"p{n}", cpu=3, node=f"n{n}") for n in (1, 2)]
    found = preempt(FakeCluster(nodes, pods), BIG)
    assert isinstance(found, Nominated)
    assert found.node == "n2"


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        pytest.param(["x"], f"preemption: {CANNOT} x", id="one"),
        pytest.param(["x", "x"], f"preemption: {CANNOT} x", id="the same twice"),
        pytest.param(["x", "y"], f"preemption: [{CANNOT} x, {CANNOT} y]", id="several"),
        pytest.param(
            [str(number) for number in range(9)],
            f"preemption: [{', '.join(f'{CANNOT} {number}' for number in (2, 3, 4, 5, 6))}, and 4 more]",
            id="of many a few",
        ),
    ],
)
def test_failures_without_a_candidate(labels: list[str], text: str) -> None:
    nodes = [make_node(f"n{n}", labels={"broken": label}) for n, label in enumerate(labels)]
    pods = [make_pod(f"p{n}", cpu=3, node=f"n{n}") for n in range(len(labels))]
    plugin = DefaultPreemption()
    plugin.seed(1)  # begins with the first of two
    with pytest.raises(PluginFailed) as failed:
        preempt(FakeCluster(nodes, pods), BIG, plugin)
    assert str(failed.value) == text


# How many nodes are tried.


@pytest.mark.parametrize(
    ("arguments", "nodes", "wanted"),
    [
        pytest.param({}, 6, 6, id="fewer than the least number"),
        pytest.param({"minCandidateNodesPercentage": 40, "minCandidateNodesAbsolute": 1}, 5, 2, id="a share"),
        pytest.param({}, 5000, 500, id="ten percent of many"),
        pytest.param({"minCandidateNodesAbsolute": 0}, 5, 0, id="a share of few can be none"),
    ],
)
def test_candidates_wanted(arguments: dict[str, int], nodes: int, wanted: int) -> None:
    assert DefaultPreemption.of(arguments).candidates_wanted(nodes) == wanted


def test_a_share_of_none_finds_no_candidate() -> None:
    cluster = FakeCluster([make_node("n1")], [make_pod("a", cpu=3, node="n1")])
    found = preempt(cluster, BIG, limited(10, 0))
    assert found.message == "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def test_the_search_goes_on_past_the_limit_for_a_node_without_violation() -> None:
    nodes = [make_node(f"n{n}") for n in range(8)]
    pods = [make_pod(f"p{n}", cpu=3, node=f"n{n}", labels={"app": "foo"}) for n in range(7)]
    pods.append(make_pod("free", priority=9, cpu=3, node="n7"))
    cluster = FakeCluster(nodes, pods, [budget(0, {"app": "foo"})])
    plugin = limited(0, 1)
    for seed in range(10):
        plugin.seed(seed)
        found = preempt(cluster, BIG, plugin)
        assert isinstance(found, Nominated)
        assert found.node == "n7"


def test_the_seed_decides_where_to_begin() -> None:
    cluster = FakeCluster([make_node(f"n{n}") for n in range(9)])
    for n in range(9):
        cluster.add_pod(make_pod(f"p{n}", cpu=3, node=f"n{n}"))
    plugin = limited(0, 1)

    def chosen(seed: int) -> list[str]:
        plugin.seed(seed)
        return [preempt(cluster, BIG, plugin).message for _ in range(5)]

    assert chosen(0) == chosen(0)
    assert len({text for seed in range(5) for text in chosen(seed)}) > 5


def test_nothing_is_tried_where_nothing_can_help() -> None:
    cluster = FakeCluster([make_node("n1"), make_node("n2"), make_node("n3", cpu=2)])
    cluster.add_pod(make_pod("a", priority=10, cpu=3, node="n1"))
    cluster.add_pod(make_pod("b", cpu=1, node="n1"))
    cluster.add_pod(make_pod("c", priority=10, cpu=3, node="n2"))
    verdicts = verdicts_about(cycle_of(cluster, BIG))
    found = DefaultPreemption().post_filter(cluster.cycle(BIG), BIG, verdicts)  # a cycle that allows no trial
    assert found.message == (
        "preemption: 0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_pods_to_which_a_node_was_nominated_are_counted_in() -> None:
    others = [make_pod("a", priority=10, cpu=3, node="n1"), make_pod("b", cpu=1, node="n1")]
    cluster = FakeCluster([make_node("n1", memory="4Gi")], others)
    cluster.nominations["n1"] = [make_pod("waits", priority=10, memory="3Gi")]
    pod = make_pod(priority=10, cpu=2, memory="2Gi")
    assert said(cluster, pod) == "preemption: 0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."


NEAR_A_FRIEND = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"friend": ""}}}
            ]
        }
    }
}


@pytest.mark.parametrize("filters", [FILTERS, REVERSED], ids=["usual order", "reversed order"])
@pytest.mark.parametrize("priority", [0, 10], ids=["the friend alone would be spared", "too little room anyway"])
def test_a_pod_cannot_be_near_its_own_victim(priority: int, filters: tuple[Filter, ...]) -> None:
    friend = make_pod("friend", cpu=1, labels={"friend": ""}, node="n1")
    cluster = FakeCluster([make_node("n1")], [friend, make_pod("b", priority=priority, cpu=3, node="n1")])
    pod = make_pod(priority=10, cpu=3, spec=NEAR_A_FRIEND)
    reason = "Insufficient cpu" if priority and filters is FILTERS else "node(s) didn't match pod affinity rules"
    assert preempt(cluster, pod, filters=filters).message == f"preemption: 0/1 nodes are available: 1 {reason}."


# The same with and without shortcuts, on generated clusters.


def by_the_book(
    cluster: FakeCluster, pod: Pod, plugin: DefaultPreemption, offset: random.Random, filters: Sequence[Filter]
) -> Nominated | NoRoom:
    """Do what kube-scheduler does, node by node and pod by pod."""
    cycle = cycle_of(cluster, pod, filters)
    verdicts = verdicts_about(cycle)
    budgets = DisruptionBudgets(cycle.objects.all(PodDisruptionBudget))
    places = [place for place in range(len(cycle.nodes)) if (v := verdicts[place]) and v.preemption_helps]
    start = offset.randrange(len(places)) if places else 0
    wanted = plugin.candidates_wanted(len(places))
    reasons, harmless, violating, told = Counter[str](), list[Victims](), list[Victims](), 0
    for place in places[start:] + places[:start]:
        found = _victims_on(cycle, cycle.nodes[place], pod, budgets)
        if isinstance(found, Rejection):
            reasons.update(found.reasons)
            told += 1
            continue
        (violating if found.violations else harmless).append(found)
        if harmless and len(harmless) + len(violating) >= wanted:
            break
    if not harmless + violating:
        reasons["Preemption is not helpful for scheduling"] += len(cycle.nodes) - told
        return NoRoom(f"preemption: {fit_error(len(cycle.nodes), reasons)}")
    best = least_harmful(harmless[:wanted] + violating[:wanted], 2e9)
    text = f"found a potential placement for pod on node {best.node}, preempting {len(best.pods)} victims"
    return Nominated(best.node, tuple(victim.key for victim in best.pods), f"preemption: {text}")


def _victims_on(cycle: Cycle, info: NodeInfo, pod: Pod, budgets: DisruptionBudgets) -> Victims | Rejection:
    trial = cycle.try_on(info)
    lower = [each for each in info.pods.values() if each.priority < pod.priority]
    if not lower:
        return Rejection("No preemption victims found for incoming pod")
    for each in lower:
        trial.remove(each)
    rejection = trial.verdict()
    if rejection is not None:
        return rejection
    violating, others = budgets.split(by_importance(lower, 2e9))
    leaving = []
    for each in [*violating, *others]:
        trial.add(each)
        if trial.verdict() is not None:
            trial.remove(each)
            leaving.append(each)
    return Victims(info.name, tuple(by_importance(leaving, 2e9)), sum(each in violating for each in leaving))


class Generator:
    """Random clusters, small and nominated."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.serial = 0

    def pod(self, node: str | None = None, **fields: Any) -> Pod:
        rng, self.serial = self.rng, self.serial + 1
        requests: dict[str, Any] = {"cpu": f"{rng.randint(0, 6)}00m"}
        if rng.random() < 0.6:
            requests["memory"] = f"{rng.randint(1, 6)}Gi"
        if rng.random() < 0.3:
            requests["x.com/gpu"] = rng.randint(0, 2)
        labels = {key: "" for key in ("loud", "quiet", "app") if rng.random() < 0.2}
        status = {"startTime": f"2026-01-01T00:00:{self.serial % 60:02}Z"} if rng.random() < 0.8 else None
        ports = [80] if rng.random() < 0.15 else []
        given: dict[str, Any] = {
            "priority": rng.choice([-3, 0, 1, 5]),
            "labels": labels,
            "host_ports": ports,
            "status": status,
        }
        return make_pod(f"p{self.serial}", requests=requests, node=node, **given | fields)

    def neighbours(self) -> dict[str, Any]:
        """Return what a pod says about other pods: apart from them, spread among them or, rarely, with them."""
        rng = self.rng
        selector = {"matchExpressions": [{"key": rng.choice(["loud", "quiet", "app"]), "operator": "Exists"}]}
        term = {"topologyKey": rng.choice(["zone", "kubernetes.io/hostname"]), "labelSelector": selector}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spread = term | {"maxSkew": rng.randint(1, 2), "whenUnsatisfiable": "DoNotSchedule"}
        return rng.choice(
            [
                {"affinity": {"podAntiAffinity": required}},
                {"topologySpreadConstraints": [spread]},
                {"affinity": {"podAffinity": required}},
            ]
        )

    def cluster(self) -> FakeCluster:
        rng = self.rng
        nodes = [
            make_node(
                f"n{n}",
                cpu=rng.choice(["500m", 1, 2]),
                memory=f"{rng.choice([4, 8, 16])}Gi",
                pods=rng.choice([3, 5, 110]),
                allocatable={"x.com/gpu": rng.choice([1, 2, 4])} if rng.random() < 0.6 else None,
                labels={"zone": f"z{n % 3}", "kubernetes.io/hostname": f"n{n}"}
                | ({"mute": ""} if rng.random() < 0.1 else {}),
            )
            for n in range(rng.randint(1, 8))
        ]
        budgets = [budget(rng.randint(0, 2), {"app": ""}), budget(rng.randint(0, 1), {"loud": ""}, "other")]
        cluster = FakeCluster(nodes, objects=rng.sample(budgets, rng.randint(0, 2)))
        for info in cluster.nodes:
            for _ in range(rng.randint(0, 6)):
                cluster.add_pod(self.pod(info.name))
        if rng.random() < 0.3:
            name = rng.choice([info.name for info in cluster.nodes])
            cluster.nominations[name] = [self.pod(priority=rng.choice([1, 5, 9]))]
        return cluster


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("filters", [FILTERS, REVERSED], ids=["usual order", "reversed order"])
def test_shortcuts_change_nothing(filters: tuple[Filter, ...], seed: int) -> None:
    generator = Generator(seed)
    cluster = generator.cluster()
    plugin = generator.rng.choice([DefaultPreemption(), limited(20, 1)])
    offset = random.Random(seed)
    plugin.seed(seed)
    for _ in range(6):
        pod = generator.pod(priority=generator.rng.choice([0, 3, 9]))
        if all(verdicts_about(cycle_of(cluster, pod, filters)).codes):
            assert preempt(cluster, pod, plugin, filters) == by_the_book(cluster, pod, plugin, offset, filters)
        placed = [each for info in cluster.nodes for each in info.pods.values()]
        if placed and generator.rng.random() < 0.5:
            cluster.remove_pod(generator.rng.choice(placed))
        cluster.add_pod(generator.pod(generator.rng.choice([info.name for info in cluster.nodes])))


def test_what_the_resource_filter_says_is_understood() -> None:
    node = make_node("n1", cpu=1, memory="1Gi", pods=1, allocatable={"ephemeral-storage": "1Gi", "x.com/gpu": 1})
    wants = {"cpu": 1, "memory": "1Gi", "ephemeral-storage": "1Gi", "x.com/gpu": 1}
    cluster = FakeCluster([node], [make_pod("a", requests=wants, node="n1")])
    rejection = verdicts_about(cycle_of(cluster, make_pod(priority=1, requests=wants)))[0]
    assert short_of(rejection) == (PODS, "cpu", "memory", "ephemeral-storage", "x.com/gpu")
    assert short_of(rejection and Rejection(*rejection.reasons, plugin="Another")) == ()
    assert short_of(Rejection("Insufficient cpu", "something else", plugin="NodeResourcesFit")) == ()


# The queue, and the arguments.


def test_a_pod_waits_while_its_victims_are_evicted() -> None:
    plugin, pod = DefaultPreemption(), make_pod()
    assert plugin.pre_enqueue(pod) is None
    plugin.begin(pod.uid)
    reason = "waiting for the preemption for this pod to be finished"
    assert plugin.pre_enqueue(pod) == Rejection(reason, preemption_helps=False)
    assert plugin.pre_enqueue(make_pod("other")) is None
    plugin.end(pod.uid)
    plugin.end(pod.uid)
    assert plugin.pre_enqueue(pod) is None


def test_an_eviction_is_heard_but_left_to_other_plugins() -> None:
    (retry,) = DefaultPreemption.retry_on
    event = Event(Resource.ASSIGNED_POD, Action.DELETE)
    assert retry.matches(event)
    assert not retry.matches(Event(Resource.ASSIGNED_POD, Action.ADD))
    assert retry.hint is not None
    assert getattr(DefaultPreemption(), retry.hint)(make_pod(), event, make_pod("gone"), None) is False


def test_where_it_takes_part() -> None:
    points = {ExtensionPoint.PRE_ENQUEUE, ExtensionPoint.POST_FILTER, ExtensionPoint.POD_GROUP_POST_FILTER}
    assert DefaultPreemption.points() == points


AT = ("profiles", 0, "pluginConfig", 0, "args")
PERCENTAGE = "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: "
ABSOLUTE = "profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: "


@pytest.mark.parametrize(
    ("percentage", "absolute", "texts"),
    [
        pytest.param(10, 100, [], id="the defaults"),
        pytest.param(0, 1, [], id="one may be zero"),
        pytest.param(100, 0, [], id="and so may the other"),
        pytest.param(101, 100, [PERCENTAGE + "101: not in valid range [0, 100]"], id="more than all"),
        pytest.param(-1, 100, [PERCENTAGE + "-1: not in valid range [0, 100]"], id="less than none"),
        pytest.param(10, -1, [ABSOLUTE + "-1: not in valid range [0, inf)"], id="a negative number"),
        pytest.param(
            0,
            0,
            [
                PERCENTAGE + "0: cannot be zero at the same time as minCandidateNodesAbsolute",
                ABSOLUTE + "0: cannot be zero at the same time as minCandidateNodesPercentage",
            ],
            id="both zero",
        ),
    ],
)
def test_arguments(percentage: int, absolute: int, texts: list[str]) -> None:
    given = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
    read = DefaultPreemption.read_arguments(given, AT)
    assert (read.value, [fault.text for fault in read.faults]) == (given, texts)


def test_default_arguments() -> None:
    read = DefaultPreemption.read_arguments({}, AT)
    assert read.value == {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100}
