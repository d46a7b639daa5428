"""What NodeResourceTopologyMatch says about nodes as they are reported; what it reserves has a file of its own."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.config.faults import Stage
from pilotage.framework.api.verdicts import SKIP, Rejection
from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST
from pilotage.plugins.topology.node_resource_topology_match import NodeResourceTopologyMatch
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, Manifest, filter_all, make_node, make_pod, raw_scores
from pilotage.testing.topology import make_topology

NIC, OLD_NIC, PAGES = "vendor.example/nic", "vendor.example/old-nic", "hugepages-2Mi"
AT = ("profiles", 0, "pluginConfig", 0, "args")
Wants = dict[str, Any]

ALLOCATABLE = {NIC: 20, OLD_NIC: 4, PAGES: "256Mi", "ephemeral-storage": "1Ti"}
NODES = [make_node(name, cpu=64, memory="512Gi", allocatable=ALLOCATABLE) for name in ("node1", "node2", "node3")]
REPORTS = [
    make_topology("node1", {"cpu": 4, "memory": "8Gi", NIC: 10}, {"cpu": 8, "memory": "8Gi", NIC: 10}),
    make_topology(
        "node2",
        {"cpu": 2, "memory": "4Gi", PAGES: "128Mi", NIC: 5},
        {"cpu": 4, "memory": "4Gi", PAGES: "128Mi", NIC: 2},
    ),
    make_topology("node3", {"cpu": 2, "memory": "4Gi", NIC: 5}, {"cpu": 4, "memory": "4Gi", NIC: 2}, scope="pod"),
]
CLUSTER = FakeCluster(NODES, objects=REPORTS)


def container(wants: Wants, number: int, *, limits: bool = True, **more: Any) -> Manifest:
    resources = {"requests": wants, "limits": wants} if limits else {"requests": wants}
    return {"name": f"c{number}", "resources": resources, **more}


def pod(
    *wants: Wants, init: tuple[Wants, ...] = (), sidecars: tuple[Wants, ...] = (), limits: bool = True, **more: Any
) -> Pod:
    """Return a pod with such containers; with limits, it is guaranteed if it wants cpu and memory."""
    spec = {
        "containers": [container(each, i, limits=limits) for i, each in enumerate(wants)],
        "initContainers": [
            *(container(each, 100 + i, limits=limits, restartPolicy="Always") for i, each in enumerate(sidecars)),
            *(container(each, 200 + i, limits=limits) for i, each in enumerate(init)),
        ],
    }
    return make_pod(spec=spec | more)


def verdicts(plugin: NodeResourceTopologyMatch, cluster: FakeCluster, wanted: Pod) -> dict[str, str | None]:
    found = filter_all(plugin, cluster, wanted)
    if found is SKIP:
        return {node.name: None for node in cluster.nodes}
    assert isinstance(found, dict)
    return {name: None if verdict is None else verdict.message for name, verdict in found.items()}


CPU, MEM = "cpu", "memory"


@pytest.mark.parametrize(
    ("wanted", "node", "reason"),
    [
        pytest.param(
            pod({CPU: 9, MEM: "1Gi", NIC: 3}), "node1", "cannot align container", id="more cores than a zone has"
        ),
        pytest.param(pod({CPU: 2, MEM: "2Gi", NIC: 3}), "node1", None, id="a container that fits"),
        pytest.param(pod(*[{CPU: 3, MEM: "1Gi"}] * 3), "node3", "cannot align pod", id="a pod too large for a zone"),
        pytest.param(pod(*[{CPU: 1, MEM: "1Gi"}] * 3), "node3", None, id="a pod that the second zone takes"),
        pytest.param(pod({NIC: 5}), "node3", None, id="devices alone, which fit"),
        pytest.param(pod({NIC: 20}), "node3", "cannot align pod", id="devices alone, too many for the pod"),
        pytest.param(pod({NIC: 20}), "node1", "cannot align container", id="too many for the container"),
        pytest.param(
            pod({CPU: 20, MEM: "1Gi", NIC: 3}, limits=False), "node1", None, id="burstable, only devices count"
        ),
        pytest.param(
            pod({CPU: 2, MEM: "2Gi", PAGES: "64Mi", OLD_NIC: 3}), "node2", None, id="a device that no zone knows"
        ),
        pytest.param(
            pod({CPU: 2, MEM: "2Gi", "ephemeral-storage": "100Mi"}), "node2", None, id="storage is the node's"
        ),
        pytest.param(pod({}), "node1", None, id="a pod that wants nothing"),
        pytest.param(pod({CPU: 1}, limits=False), "node1", None, id="burstable without devices"),
        pytest.param(
            pod({CPU: 1, PAGES: "2Mi"}, limits=False),
            "node1",
            "cannot align container",
            id="pages that no zone knows, although nobody counts them",
        ),
        pytest.param(
            pod({CPU: 1, MEM: "1Gi", "other.example/card": 1}),
            "node1",
            "cannot align container",
            id="a device that the node does not have",
        ),
        pytest.param(
            pod({CPU: 1, MEM: "1Gi", "other.example/card": 0}), "node1", None, id="none of a device that it has not"
        ),
        pytest.param(
            pod({CPU: 3, MEM: "1Gi", NIC: 3}), "node2", "cannot align container", id="cores here and devices there"
        ),
        pytest.param(
            pod({CPU: 4, MEM: "1Gi"}, {CPU: 8, MEM: "1Gi"}), "node1", None, id="each container has a zone of its own"
        ),
        pytest.param(
            pod({CPU: 8, MEM: "1Gi"}, {CPU: 4, MEM: "1Gi"}, {CPU: 1, MEM: "1Gi"}),
            "node1",
            "cannot align container",
            id="what one container takes is gone for the next",
        ),
        pytest.param(
            pod({CPU: 3, MEM: "1Gi"}, {CPU: 2, MEM: "1Gi"}, {CPU: 6, MEM: "1Gi"}),
            "node1",
            None,
            id="a container goes to the lowest zone that takes it",
        ),
        pytest.param(
            pod({CPU: 8, MEM: "1Gi"}, init=({CPU: 8, MEM: "1Gi"},)), "node1", None, id="an init container gives back"
        ),
        pytest.param(
            pod({CPU: 1, MEM: "1Gi"}, init=({CPU: 9, MEM: "1Gi"},)),
            "node1",
            "cannot align init container",
            id="an init container that fits nowhere",
        ),
        pytest.param(
            pod({CPU: 1, MEM: "1Gi"}, sidecars=({CPU: 9, MEM: "1Gi"},)),
            "node1",
            "cannot align sidecar container",
            id="a sidecar that fits nowhere",
        ),
        pytest.param(
            pod({CPU: 8, MEM: "1Gi"}, sidecars=({CPU: 5, MEM: "1Gi"},)),
            "node1",
            "cannot align container",
            id="a sidecar stays, and the container finds its zone taken",
        ),
        pytest.param(
            pod({CPU: 1, MEM: "1Gi"}, sidecars=({CPU: 5, MEM: "1Gi"},), init=({CPU: 8, MEM: "1Gi"},)),
            "node1",
            "cannot align init container",
            id="and so does an init container after it",
        ),
        pytest.param(
            pod({CPU: 2, MEM: "1Gi"}, sidecars=({CPU: 3, MEM: "1Gi"},)),
            "node3",
            "cannot align pod",
            id="sidecars and containers add up in the pod",
        ),
        pytest.param(
            pod({CPU: 3, MEM: "1Gi"}, overhead={"cpu": "1500m"}), "node3", "cannot align pod", id="overhead counts"
        ),
        pytest.param(
            pod({}, resources={"requests": {CPU: 5, MEM: "1Gi"}, "limits": {CPU: 5, MEM: "1Gi"}}),
            "node3",
            "cannot align pod",
            id="what the pod asks for as a whole",
        ),
        pytest.param(
            pod({}, resources={"requests": {CPU: 5, MEM: "1Gi"}, "limits": {CPU: 5, MEM: "1Gi"}}),
            "node2",
            None,
            id="containers without requests, where each counts for itself",
        ),
    ],
)
def test_filter(wanted: Pod, node: str, reason: str | None) -> None:
    assert verdicts(NodeResourceTopologyMatch(), CLUSTER, wanted)[node] == reason


HUGE = pod({CPU: 9, MEM: "1Gi"})
ZONES: tuple[Wants, ...] = ({"cpu": 4, "memory": "8Gi"}, {"cpu": 4, "memory": "8Gi"})


def reason(topology: NodeResourceTopology | None, wanted: Pod = HUGE, **arguments: Any) -> str | None:
    reports = [] if topology is None else [topology]
    cluster = FakeCluster([make_node("n", cpu=64, memory="512Gi", allocatable=ALLOCATABLE)], objects=reports)
    return verdicts(NodeResourceTopologyMatch.of(arguments), cluster, wanted)["n"]


ALONE, TOGETHER = "cannot align container", "cannot align pod"


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        pytest.param(make_topology("n", *ZONES), ALONE, id="attributes"),
        pytest.param(make_topology("n", *ZONES, scope="pod"), TOGETHER, id="a scope"),
        pytest.param(make_topology("n", *ZONES, scope=None), ALONE, id="no scope is that of containers"),
        pytest.param(make_topology("n", *ZONES, policy=None), None, id="no policy is none"),
        pytest.param(make_topology("n", *ZONES, policy="best-effort"), None, id="best effort is never rejected"),
        pytest.param(make_topology("n", *ZONES, policy="restricted"), None, id="restricted is never rejected"),
        pytest.param(make_topology("n", *ZONES, policy="strange"), None, id="a policy that nobody knows"),
        pytest.param(make_topology("n", *ZONES, scope="strange"), ALONE, id="a scope that nobody knows"),
        pytest.param(
            make_topology("n", *ZONES, policy=None, scope=None, policies=["SingleNUMANodePodLevel"]),
            TOGETHER,
            id="the old way to say it, for pods",
        ),
        pytest.param(
            make_topology("n", *ZONES, policy=None, scope=None, policies=["SingleNUMANodeContainerLevel"]),
            ALONE,
            id="the old way to say it, for containers",
        ),
        pytest.param(
            make_topology("n", *ZONES, policy=None, scope=None, policies=["RestrictedPodLevel"]),
            None,
            id="the old way to say restricted",
        ),
        pytest.param(
            make_topology("n", *ZONES, scope="pod", policies=["BestEffortContainerLevel"]),
            TOGETHER,
            id="attributes have the last word",
        ),
        pytest.param(
            make_topology("n", *ZONES, policy="none", policies=["SingleNUMANodePodLevel"]),
            None,
            id="also where they say none",
        ),
        pytest.param(None, None, id="a node without a report"),
        pytest.param(make_topology("other", *ZONES), None, id="a report about another node"),
        pytest.param(make_topology("n"), ALONE, id="a report without zones"),
    ],
)
def test_how_the_kubelet_is_configured(topology: NodeResourceTopology | None, expected: str | None) -> None:
    assert reason(topology) == expected


SIX = pod({CPU: 6, MEM: "1Gi"})
SMALL_AND_LARGE: tuple[Wants, ...] = ({"cpu": 4, "memory": "8Gi"}, {"cpu": 8, "memory": "8Gi"})


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        pytest.param((0, 1), None, id="zones in order"),
        pytest.param((3, 1), None, id="zones with a gap, in any order"),
        pytest.param((0, 63), None, id="the last id that can be"),
        pytest.param((0, 64), ALONE, id="an id that cannot be"),
        pytest.param((0, 100), ALONE, id="one far beyond"),
        pytest.param((0, "numa-node-1"), ALONE, id="another name"),
        pytest.param((0, "node-01"), ALONE, id="a number with a zero before it"),
        pytest.param((0, "node--1"), ALONE, id="a negative number"),
        pytest.param((0, "node-"), ALONE, id="no number"),
        pytest.param((0, "node-٣"), ALONE, id="digits of another script"),
        pytest.param((0, 0), ALONE, id="an id that comes twice"),
    ],
)
def test_odd_ids_are_overlooked(ids: tuple[int | str, ...], expected: str | None) -> None:
    topology = make_topology("n", *SMALL_AND_LARGE, ids=ids)
    assert reason(topology, SIX) == expected
    cluster = FakeCluster([make_node("n")], objects=[topology])
    for strategy in ("BalancedAllocation", "LeastNUMANodes"):
        scores = raw_scores(preferring(strategy), cluster, SIX)
        assert isinstance(scores, dict)
        assert (scores["n"] > 0) is (expected is None)


def test_a_malformed_amount_counts_as_nothing_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert reason(make_topology("n", {"cpu": "many", "memory": "8Gi"}), SIX) == ALONE
    assert caplog.text.count("NodeResourceTopology n: cpu: 'many' is not a quantity") == 1


@pytest.mark.parametrize("amount", ["-4", "1e99", "99999999999999999999Ei", 0, 4.5])
def test_absurd_amounts_do_no_harm(amount: str | int) -> None:
    topology = make_topology("n", {"cpu": amount, "memory": amount, NIC: amount}, {"cpu": 1, "memory": amount})
    cluster = FakeCluster([make_node("n", allocatable={NIC: 1})], objects=[topology])
    wanted = pod({CPU: 4, MEM: 4, NIC: 4})
    assert verdicts(NodeResourceTopologyMatch(), cluster, wanted)["n"] in (None, ALONE)
    for strategy in ("LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"):
        scores = raw_scores(preferring(strategy), cluster, wanted)
        assert isinstance(scores, dict)
        assert 0 <= scores["n"] <= 100


def test_nodes_without_a_report_can_be_left_out() -> None:
    told = "node(s) had no NodeResourceTopology"
    assert reason(None, requireTopology=True) == told
    assert reason(None, pod({}), requireTopology=True) is None
    assert reason(make_topology("n", *ZONES), SIX, requireTopology=True) == ALONE
    cluster = FakeCluster([make_node("n")])
    found = filter_all(NodeResourceTopologyMatch.of({"requireTopology": True}), cluster, HUGE)
    assert found == {"n": Rejection(told, preemption_helps=False)}


@pytest.mark.parametrize("arguments", [{}, {"requireTopology": True}, {"cacheResyncPeriodSeconds": 5}])
def test_a_node_whose_report_cannot_be_understood_is_no_place_for_pods_that_need_a_zone(
    arguments: dict[str, Any],
) -> None:
    names = ("a", "b", "c", "n")
    cluster = FakeCluster(
        [make_node(name, cpu=64, memory="512Gi") for name in names], objects=[make_topology("n", *ZONES)]
    )
    for name, why in (("a", "why"), ("b", "why"), ("c", "something else"), ("gone", "why")):
        cluster.cache.objects.note_trouble(NodeResourceTopology, name, "", why)
    plugin, told = (
        NodeResourceTopologyMatch.of(arguments),
        "node(s) had a NodeResourceTopology that cannot be",
    )
    found = verdicts(plugin, cluster, pod({CPU: 2, MEM: "1Gi"}))
    assert found == {
        "a": f"{told} decoded: why",
        "b": f"{told} decoded: why",
        "c": f"{told} decoded: something else",
        "n": None,
    }
    assert set(verdicts(plugin, cluster, pod({})).values()) == {None}
    cluster.cache.objects.put(make_topology("a", *ZONES))
    assert verdicts(plugin, cluster, pod({CPU: 2, MEM: "1Gi"}))["a"] is None


# ------------------------------------------------------------------------------------------------------------- scores


def preferring(kind: str, **resources: int) -> NodeResourceTopologyMatch:
    strategy: Manifest = {"type": kind}
    if resources:
        strategy["resources"] = [{"name": name, "weight": weight} for name, weight in resources.items()]
    plugin = NodeResourceTopologyMatch.of({"scoringStrategy": strategy})
    assert plugin.faults(()) == []
    return plugin


def pair(cpu: int, memory: str) -> tuple[Wants, Wants]:
    return {"cpu": cpu, "memory": memory}, {"cpu": cpu, "memory": memory}


def three(**more: Any) -> FakeCluster:
    sizes = {"N1": pair(4, "500Mi"), "N2": pair(2, "50Mi"), "N3": pair(6, "60Mi")}
    reports = [make_topology(name, *zones, **more) for name, zones in sizes.items()]
    return FakeCluster([make_node(name, cpu=64) for name in sizes], objects=reports)


TWO_CORES = pod({CPU: 2, MEM: "20Mi"})


@pytest.mark.parametrize(
    ("strategy", "scores"),
    [
        pytest.param("MostAllocated", (27, 70, 33), id="most allocated, the second is best"),
        pytest.param("LeastAllocated", (73, 30, 66), id="least allocated, the first is best"),
        pytest.param("BalancedAllocation", (89, 82, 100), id="balanced, the third is best"),
    ],
)
@pytest.mark.parametrize("scope", ["container", "pod"])
def test_scores(strategy: str, scores: tuple[int, ...], scope: str) -> None:
    found = raw_scores(preferring(strategy), three(scope=scope), TWO_CORES)
    assert found == dict(zip(("N1", "N2", "N3"), scores, strict=True))


@pytest.mark.parametrize(
    ("wanted", "scores"),
    [
        pytest.param(pod({CPU: 2, MEM: "20Mi"}), (94, 94, 94), id="two cores need one zone everywhere"),
        pytest.param(pod({CPU: 4, MEM: "20Mi"}), (94, 82, 94), id="four need two on the smallest"),
        pytest.param(pod({CPU: 6, MEM: "20Mi"}), (82, 0, 94), id="six do not fit the smallest"),
        pytest.param(
            pod({CPU: 1, MEM: "5Mi"}, {CPU: 3, MEM: "5Mi"}), (94, 82, 94), id="two containers, the larger decides"
        ),
        pytest.param(
            pod({NIC: 1}, resources={"requests": {CPU: 1, MEM: 1}, "limits": {CPU: 1, MEM: 1}}),
            (100, 100, 100),
            id="nothing that a zone knows",
        ),
        pytest.param(pod({CPU: 2, MEM: "20Mi", "ephemeral-storage": "1Mi"}), (94, 94, 94), id="storage is the node's"),
        pytest.param(pod({CPU: 2, MEM: "20Mi", PAGES: "2Mi"}), (0, 0, 0), id="pages that no zone knows cannot be had"),
        pytest.param(
            pod({CPU: 2, MEM: "20Mi"}, {CPU: 2, MEM: "20Mi"}, {CPU: 2, MEM: "20Mi"}),
            (94, 0, 94),
            id="what one container takes is gone for the next",
        ),
    ],
)
@pytest.mark.parametrize("policy", ["best-effort", "single-numa-node", "none"])
def test_fewest_zones(wanted: Pod, scores: tuple[int, ...], policy: str) -> None:
    found = raw_scores(preferring("LeastNUMANodes"), three(policy=policy), wanted)
    assert found == dict(zip(("N1", "N2", "N3"), scores, strict=True))


def fewest(topology: NodeResourceTopology, wanted: Pod) -> int:
    found = raw_scores(preferring("LeastNUMANodes"), FakeCluster([make_node("n")], objects=[topology]), wanted)
    assert isinstance(found, dict)
    return found["n"]


SINGLE: tuple[Wants, ...] = ({"cpu": 1, "memory": "1Gi"},)
FOUR: tuple[Wants, ...] = ({"cpu": 2, "memory": "1Gi"},) * 4
# Two and two are near to each other: node-0 with node-1, and node-2 with node-3.
NEAR = [{f"node-{j}": 10 if i == j else 12 if i // 2 == j // 2 else 20 for j in range(4)} for i in range(4)]
HALF_FULL: tuple[Wants, ...] = (
    {"cpu": 2, "memory": "1Gi"},
    {"cpu": 0, "memory": 0},
    {"cpu": 2, "memory": "1Gi"},
    {"cpu": 0, "memory": 0},
)


@pytest.mark.parametrize(
    ("topology", "cores", "score"),
    [
        pytest.param(make_topology("n", *FOUR, costs=NEAR), 4, 82, id="two that are near"),
        pytest.param(make_topology("n", *HALF_FULL, costs=NEAR), 4, 76, id="two that are not as near as others"),
        pytest.param(make_topology("n", *FOUR), 4, 82, id="nobody tells how far they are"),
        pytest.param(make_topology("n", *FOUR, costs=NEAR), 7, 58, id="all of them"),
        pytest.param(make_topology("n", *FOUR, costs=NEAR, scope="pod"), 4, 82, id="for the pod as a whole"),
        pytest.param(make_topology("n", *FOUR, max_zones=2), 2, 75, id="a kubelet that knows two"),
        pytest.param(make_topology("n", *FOUR, max_zones=2), 6, 0, id="more zones than the kubelet knows"),
        pytest.param(make_topology("n", *FOUR, max_zones=5000), 6, 100, id="so many that a step is nothing"),
        pytest.param(make_topology("n", *FOUR, max_zones=1), 2, 94, id="a number that cannot be, so eight"),
        pytest.param(
            make_topology("n", *FOUR, ids=(7, 5, 3, 1), costs=[{f"node-{7 - 2 * j}": c[f"node-{j}"] for j in range(4)}
                                                               for c in NEAR]),
            4, 82, id="costs are looked up by id",
        ),
        pytest.param(make_topology("n", *SINGLE * 60), 40, 0, id="too many zones to try"),
    ],
)  # fmt: skip
def test_fewest_zones_and_distances(topology: NodeResourceTopology, cores: int, score: int) -> None:
    assert fewest(topology, pod({CPU: cores, MEM: "1Mi"})) == score


@pytest.mark.parametrize(
    ("plugin", "zones", "wanted", "score"),
    [
        pytest.param(
            preferring("LeastAllocated"),
            ({"cpu": 4, "memory": "1Gi"}, {"cpu": 16, "memory": "1Gi"}),
            pod({CPU: 2, MEM: "512Mi"}),
            50,
            id="the zone that would be worst counts",
        ),
        pytest.param(
            preferring("LeastAllocated"),
            ({"cpu": 1, "memory": "512Mi"}, {"cpu": 4, "memory": "1Gi"}),
            pod({CPU: 2, MEM: "1Gi"}),
            25,
            id="a zone with nothing to say does not",
        ),
        pytest.param(
            preferring("LeastAllocated", cpu=3),
            ({"cpu": 4, "memory": "1Gi"},),
            pod({CPU: 1, MEM: "1Gi"}),
            56,
            id="weights, 1 for what is not named",
        ),
        pytest.param(
            preferring("LeastAllocated", cpu=-5, memory=0),
            ({"cpu": 4, "memory": "1Gi"},),
            pod({CPU: 1, MEM: "1Gi"}),
            37,
            id="weights that make no sense count as 1",
        ),
        pytest.param(
            preferring("LeastAllocated"),
            ({"cpu": "3500m", "memory": "1Gi"},),
            pod({CPU: "1500m", MEM: "512Mi"}),
            50,
            id="cores are counted whole, rounded up",
        ),
        pytest.param(
            preferring("MostAllocated"),
            ({"cpu": 4, "memory": "1Gi"},),
            pod({CPU: 1, MEM: "512Mi"}, {CPU: 2, MEM: "1Gi"}, init=({CPU: 4, MEM: "1Gi"},)),
            70,
            id="the mean of all containers",
        ),
        pytest.param(
            preferring("MostAllocated"),
            ({"cpu": 4, "memory": "1Gi"},),
            pod({CPU: 4, MEM: "1Gi"}, {CPU: 1, MEM: "1Gi"}),
            81,
            id="one container takes nothing from the other",
        ),
        pytest.param(
            preferring("MostAllocated"),
            ({"cpu": 4, "memory": "1Gi"},),
            pod({CPU: 4, MEM: "1Gi", "ephemeral-storage": "1Gi"}),
            66,
            id="what no zone knows counts as nothing",
        ),
        pytest.param(
            preferring("BalancedAllocation"),
            ({"cpu": 4},),
            pod({}, resources={"requests": {CPU: 1, MEM: "1Gi"}, "limits": {CPU: 1, MEM: "1Gi"}}),
            100,
            id="containers that ask for nothing",
        ),
        pytest.param(
            preferring("LeastAllocated", cpu=2**62, memory=2**62),
            ({"cpu": 4, "memory": "1Gi"},),
            pod({CPU: 1, MEM: "512Mi"}),
            62,
            id="weights as large as they like",
        ),
        pytest.param(
            preferring("BalancedAllocation"),
            ({"cpu": 4, "memory": "1Gi"},),
            pod({CPU: 1, MEM: "2Gi"}),
            0,
            id="more than there is",
        ),
    ],
)
def test_zone_scores(plugin: NodeResourceTopologyMatch, zones: tuple[Wants, ...], wanted: Pod, score: int) -> None:
    assert raw_scores(plugin, FakeCluster([make_node("n")], objects=[make_topology("n", *zones)]), wanted) == {
        "n": score
    }


def test_one_resource_alone_is_balanced() -> None:
    wanted = pod({CPU: 1, MEM: 1})
    only_cpu = make_pod(spec={"containers": [{"name": "c", "resources": {"requests": {CPU: 1}}}]} | {
        "resources": {"requests": {CPU: 1, MEM: "1Gi"}, "limits": {CPU: 1, MEM: "1Gi"}}
    })  # fmt: skip
    cluster = FakeCluster([make_node("n")], objects=[make_topology("n", {"cpu": 4, "memory": "1Gi"})])
    assert raw_scores(preferring("BalancedAllocation"), cluster, only_cpu) == {"n": 100}
    assert raw_scores(preferring("BalancedAllocation"), cluster, wanted) == {"n": 96}


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"])
def test_who_is_scored(strategy: str) -> None:
    bare = FakeCluster([make_node("n")])
    none = FakeCluster([make_node("n")], objects=[make_topology("n", *ZONES, policy="none")])
    plugin = preferring(strategy)
    assert raw_scores(plugin, three(), pod({CPU: 1}, limits=False)) == {"N1": 100, "N2": 100, "N3": 100}
    assert raw_scores(plugin, three(), pod({})) == {"N1": 100, "N2": 100, "N3": 100}
    assert raw_scores(plugin, bare, TWO_CORES) == {"n": 0}
    assert raw_scores(plugin, none, TWO_CORES) == {"n": 94 if strategy == "LeastNUMANodes" else 0}


def test_a_pod_goes_where_its_zone_is_fullest() -> None:
    outcome = FakeScheduler(preferring("MostAllocated"), cluster=three()).schedule(TWO_CORES)
    assert isinstance(outcome, Placed)
    assert outcome.node == "N2"


# ---------------------------------------------------------------------------------------------------------- arguments

DEFAULTS = {
    "scoringStrategy": {
        "type": "LeastAllocated",
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
    },
    "cacheResyncPeriodSeconds": 0,
    "discardReservedNodes": False,
    "cache": {
        "foreignPodsDetect": "OnlyExclusiveResources",
        "resyncMethod": "Autodetect",
        "informerMode": "Dedicated",
        "resyncScope": "All",
    },
    "preemptionMode": "Disabled",
    "requireTopology": False,
}


@pytest.mark.parametrize(
    ("given_", "read"),
    [
        pytest.param({}, DEFAULTS, id="nothing"),
        pytest.param(dict.fromkeys(DEFAULTS), DEFAULTS, id="null"),
        pytest.param({"cache": {"resyncMethod": ""}, "preemptionMode": ""}, DEFAULTS, id="empty ones"),
        pytest.param(
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu", "weight": 0}, {"name": "memory"}],
                }
            },
            DEFAULTS,
            id="a weight of zero is one",
        ),
        pytest.param(
            {"cache": {"foreignPodsDetect": "None", "informerMode": "Shared"}, "cacheResyncPeriodSeconds": 5},
            DEFAULTS
            | {"cacheResyncPeriodSeconds": 5}
            | {"cache": DEFAULTS["cache"] | {"foreignPodsDetect": "None", "informerMode": "Shared"}},  # type: ignore[operator]
            id="a part of the cache",
        ),
    ],
)
def test_defaults(given_: dict[str, Any], read: dict[str, Any]) -> None:
    found = NodeResourceTopologyMatch.read_arguments(given_, AT)
    assert (found.value, found.faults) == (read, ())


NO_TYPE = 'scoringStrategy.type: Invalid value: "": invalid ScoringStrategyType'
WRONG_MODE = 'preemptionMode: Invalid value: "Maybe": invalid PreemptionMode'


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        pytest.param({"scoringStrategy": {}}, NO_TYPE, id="a strategy without a type"),
        pytest.param(
            {"scoringStrategy": {"type": "Best"}}, NO_TYPE.replace('""', '"Best"'), id="a strategy that nobody knows"
        ),
        pytest.param({"preemptionMode": "Maybe"}, WRONG_MODE, id="a mode that nobody knows"),
        pytest.param(
            {"scoringStrategy": {}, "preemptionMode": "Maybe"}, f"[{NO_TYPE}, {WRONG_MODE}]", id="everything at once"
        ),
    ],
)
def test_faults(given_: dict[str, Any], told: str) -> None:
    (fault,) = NodeResourceTopologyMatch.read_arguments(given_, AT).faults
    assert (fault.stage, fault.text) == (Stage.PROFILES, told)


def test_words_of_the_cache_that_nobody_knows_count_as_the_first(caplog: pytest.LogCaptureFixture) -> None:
    given_ = {"cacheResyncPeriodSeconds": 5, "cache": {"foreignPodsDetect": "Some"}}
    assert NodeResourceTopologyMatch.read_arguments(given_, AT).faults == ()
    assert "cache.foreignPodsDetect: 'Some' is not All, None or OnlyExclusiveResources; it counts as All" in caplog.text


# --------------------------------------------------------------------------------------------------- both forms agree

AMOUNT = st.sampled_from([0, 1, 2, 3, 4, 7, LARGEST, LARGEST - 1, LARGEST // 100 + 1, LARGEST // 100, LARGEST // 3])
ZONE = st.fixed_dictionaries({}, optional={"cpu": AMOUNT, "memory": AMOUNT, NIC: AMOUNT, OLD_NIC: AMOUNT})
REPORT = st.builds(
    lambda zones, ids, policy, scope: (zones, ids[: len(zones)], policy, scope),
    st.lists(ZONE, max_size=3),
    st.permutations([0, 1, 2, 63, 64]),
    st.sampled_from(["single-numa-node", "single-numa-node", "best-effort", None]),
    st.sampled_from(["container", "pod"]),
)
WANTS = st.fixed_dictionaries(
    {}, optional={"cpu": AMOUNT, "memory": AMOUNT, NIC: AMOUNT, OLD_NIC: AMOUNT, "ephemeral-storage": AMOUNT}
)


@given(
    st.lists(st.none() | REPORT, min_size=1, max_size=5),
    st.lists(WANTS, min_size=1, max_size=3),
    st.lists(WANTS, max_size=2),
    st.lists(WANTS, max_size=2),
    st.sampled_from(["LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"]),
    st.booleans(),
    st.booleans(),
)
def test_both_forms_agree(
    reports: list[Any],
    wants: list[Wants],
    init: list[Wants],
    sidecars: list[Wants],
    kind: str,
    limits: bool,
    need: bool,
) -> None:
    nodes = [make_node(f"n{i}", cpu=i, memory=i + 1, allocatable={NIC: i, OLD_NIC: 3}) for i in range(len(reports))]
    objects = [
        make_topology(f"n{i}", *each[0], ids=each[1], policy=each[2], scope=each[3])
        for i, each in enumerate(reports)
        if each is not None
    ]
    cluster, wanted = (
        FakeCluster(nodes, objects=objects),
        pod(*wants, init=(*init,), sidecars=(*sidecars,), limits=limits),
    )
    plugin = NodeResourceTopologyMatch.of(preferring(kind).args.model_copy(update={"require_topology": need}))
    filter_all(plugin, cluster, wanted)
    scores = raw_scores(plugin, cluster, wanted)
    assert isinstance(scores, dict)
    assert all(0 <= score <= 100 for score in scores.values())
