"""What NodeResourceTopologyMatch knows of zones while pods are on their way and reports come late."""

from random import Random
from typing import Any

import msgspec
import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.plugins.topology.node_resource_topology_match import NodeResourceTopologyMatch
from pilotage.plugins.topology.node_resource_topology_match.fingerprints import fingerprint
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, Manifest, filter_all, make_node, make_pod
from pilotage.testing.topology import make_topology

NIC = "vendor.example/nic"
STALE = "invalid node topology data"
OVER_RESERVE: dict[str, Any] = {"cacheResyncPeriodSeconds": 5}
DISCARD: dict[str, Any] = {"discardReservedNodes": True}
Wants = dict[str, Any]


def guaranteed(name: str, cores: int | str = 8, **more: Any) -> Pod:
    wants: Wants = {"cpu": cores, "memory": "1Gi"}
    return make_pod(name, requests=wants, limits=wants, **more)


def zones(*cores: int) -> list[Wants]:
    return [{"cpu": each, "memory": "64Gi", NIC: 4} for each in cores]


def report(*cores: int, of: list[str] | None = None, node: str = "n1", **more: Any) -> NodeResourceTopology:
    """Return a report that accounts for these pods."""
    attributes = more.pop("attributes", {})
    if of is not None:
        attributes |= {"nodeTopologyPodsFingerprint": fingerprint(("default", name) for name in of)}
    return make_topology(node, *zones(*cores), attributes=attributes, **more)


class House:
    """A cluster of one node with NUMA zones, and a scheduler that knows of nothing else."""

    def __init__(
        self, topology: NodeResourceTopology | None = None, pods: tuple[Pod, ...] = (), **arguments: Any
    ) -> None:
        self.plugin = NodeResourceTopologyMatch.of(arguments)
        node = make_node("n1", cpu=64, memory="512Gi", allocatable={NIC: 8})
        self.cluster = FakeCluster([node], pods, [] if topology is None else [topology])
        self.scheduler = FakeScheduler(self.plugin, cluster=self.cluster)

    def place(self, pod: Pod) -> Placed:
        outcome = self.scheduler.schedule(pod)
        assert isinstance(outcome, Placed)
        return outcome

    def tell(self, topology: NodeResourceTopology) -> None:
        self.cluster.cache.objects.put(topology)

    def becomes(self, pod: Pod, phase: str, **more: Any) -> Pod:
        """Let the API server have the pod on the node, in a phase."""
        spec = msgspec.structs.replace(pod.spec, node_name="n1")
        status = msgspec.structs.replace(pod.status, phase=phase)
        manifest = msgspec.to_builtins({"metadata": pod.metadata, "spec": spec, "status": status})
        known = make_pod(pod.name, uid=pod.uid, metadata=manifest["metadata"] | more, status=manifest["status"],
                         spec=manifest["spec"])  # fmt: skip
        self.cluster.add_pod(known)
        return known

    def reason(self, pod: Pod) -> str | None:
        found = filter_all(self.plugin, self.cluster, pod)
        assert isinstance(found, dict)
        return None if found["n1"] is None else found["n1"].message

    @property
    def free(self) -> int:
        """Return the most cores that a container can have in one zone; -1 if nobody knows."""
        if self.reason(guaranteed("probe", 1)) == STALE:
            return -1
        return max([cores for cores in range(1, 65) if self.reason(guaranteed("probe", cores)) is None], default=0)


# ------------------------------------------------------------------------------------------------------- over-reserve


def test_what_was_given_away_is_taken_off_every_zone_until_a_report_accounts_for_it() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    assert house.free == 30
    house.place(guaranteed("a", 8))
    assert house.free == 22
    assert house.reason(make_pod("two", spec={"containers": [
        {"name": f"c{i}", "resources": {"requests": wants, "limits": wants}}
        for i, wants in enumerate([{"cpu": 22, "memory": 1}, {"cpu": 15, "memory": 1}])
    ]})) == "cannot align container"  # fmt: skip
    house.tell(report(30, 22, of=["a"]))
    assert house.free == 30


@pytest.mark.parametrize(
    ("newest", "free"),
    [
        pytest.param(report(30, 22, of=["a"]), 30, id="it accounts for the pod"),
        pytest.param(report(22, 14, of=[]), 14, id="it is of before, and younger than what was known"),
        pytest.param(report(5, 5, of=["a", "b"]), 22, id="it accounts for a pod that nobody knows"),
        pytest.param(report(5, 5, of=["b"]), 22, id="it accounts for another pod"),
        pytest.param(report(5, 5), 22, id="it does not say"),
    ],
)
def test_reports_while_a_pod_is_reserved(newest: NodeResourceTopology, free: int) -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    house.place(guaranteed("a", 8))
    house.tell(newest)
    assert house.free == free


def test_a_report_without_a_fingerprint_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    house = House(report(30, 22), **OVER_RESERVE)
    house.place(guaranteed("a", 8))
    for cores in (30, 29):
        house.tell(report(cores, 22))
        assert house.free == 22
    assert caplog.text.count("NodeResourceTopology n1 has no fingerprint of pods") == 1


def test_only_pods_that_a_report_accounts_for_are_settled() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    running = house.place(guaranteed("a", 8)).pod
    house.becomes(running, "Running")
    house.place(guaranteed("b", 4))
    house.tell(report(22, 22, of=["a"]))
    assert house.free == 18


def test_the_fingerprint_may_be_ahead_of_the_phase() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    house.becomes(house.place(guaranteed("a", 8)).pod, "Pending")
    house.tell(report(22, 22, of=["a"]))
    assert house.free == 22


@pytest.mark.parametrize(
    ("mode", "phase", "free"),
    [
        pytest.param("Shared", "Running", 30, id="shared: a pod that runs"),
        pytest.param("Shared", "Unknown", 22, id="shared: a pod of which nobody knows whether it runs"),
        pytest.param("Dedicated", "Unknown", 30, id="dedicated: the same pod"),
    ],
)
def test_which_pods_an_agent_can_know(mode: str, phase: str, free: int) -> None:
    house = House(report(30, 22, of=[]), cacheResyncPeriodSeconds=5, cache={"informerMode": mode})
    house.becomes(house.place(guaranteed("a", 8)).pod, phase)
    house.becomes(guaranteed("later", 1), "Pending")  # so that not all pods are in the fingerprint
    house.tell(report(30, 22, of=["a"]))
    assert house.free == free


def test_a_clean_node_follows_every_report() -> None:
    house = House(report(30, 22, of=["stranger"]), **OVER_RESERVE)
    assert house.free == 30
    house.tell(report(10, 22, of=["another"]))
    assert house.free == 22


def test_a_report_that_comes_later_is_used() -> None:
    house = House(None, **OVER_RESERVE)
    assert house.free == 64
    house.place(guaranteed("a", 8))
    house.tell(report(30, 22, of=[]))
    assert house.free == 22


def test_a_report_that_goes_is_forgotten() -> None:
    topology = report(30, 22, of=[])
    house = House(topology, **OVER_RESERVE)
    house.place(guaranteed("a", 8))
    assert house.free == 22
    house.cluster.cache.objects.drop(topology)
    assert house.free == 64
    house.tell(report(10, 10, of=["strange"]))
    assert house.free == 2


@pytest.mark.parametrize(
    ("scope", "free"),
    [pytest.param("All", 64, id="at once"), pytest.param("OnlyResources", 22, id="with the next report that fits")],
)
def test_another_policy_of_the_kubelet_is_seen(scope: str, free: int) -> None:
    house = House(report(30, 22, of=[]), cacheResyncPeriodSeconds=5, cache={"resyncScope": scope})
    house.place(guaranteed("a", 8))
    house.tell(report(30, 22, of=["strange"], policy="none"))
    assert house.free == free


def test_a_pod_that_dies_is_reserved_no_more() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    house.cluster.remove_pod(house.place(guaranteed("a", 8)).pod)
    assert house.free == 30


def test_so_is_a_pod_that_dies_after_the_api_server_had_it() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    house.cluster.remove_pod(house.becomes(house.place(guaranteed("a", 8)).pod, "Running"))
    assert house.free == 30


def test_a_pod_that_only_changes_stays_reserved() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    pod = house.becomes(house.place(guaranteed("a", 8)).pod, "Running")
    house.becomes(pod, "Running", labels={"new": "yes"})
    assert house.free == 22


def test_a_pod_that_is_sent_back_is_reserved_no_more() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    placed = house.place(guaranteed("a", 8))
    house.plugin.unreserve(placed.cycle, placed.pod, "n1")
    assert house.free == 30
    house.cluster.cache.forget(placed.pod.uid)
    assert house.free == 30


def test_a_pod_of_another_profile_is_reserved_too() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    other = NodeResourceTopologyMatch.of(OVER_RESERVE)
    house.cluster.cache.follow(other)
    house.place(guaranteed("a", 8))
    house.plugin = other
    assert house.free == 22


def test_a_pod_without_requests_reserves_nothing() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    house.place(make_pod("free"))
    house.tell(report(20, 12, of=["strange"]))
    assert house.free == 20


def test_the_second_pod_goes_elsewhere() -> None:
    reports = [report(10, of=[], node="n1"), report(9, of=[], node="n2")]
    cluster = FakeCluster([make_node(name, cpu=64) for name in ("n1", "n2")], objects=reports)
    scheduler = FakeScheduler(NodeResourceTopologyMatch.of(OVER_RESERVE), cluster=cluster)
    outcomes = [scheduler.schedule(guaranteed(name, 6)) for name in "abc"]
    assert {outcome.node for outcome in outcomes[:2] if isinstance(outcome, Placed)} == {"n1", "n2"}
    assert isinstance(outcomes[2], Unplaced)
    assert outcomes[2].message.startswith("0/2 nodes are available: 2 cannot align container.")


def test_a_pod_that_waits_gets_its_place_with_the_report_that_frees_it() -> None:
    house = House(report(12, 12, of=[]), **OVER_RESERVE)
    house.place(guaranteed("a", 8))
    assert isinstance(house.scheduler.schedule(guaranteed("b", 8)), Unplaced)
    house.tell(report(4, 12, of=["a"]))
    assert house.place(guaranteed("b", 8)).node == "n1"


def test_a_report_knows_no_pod_that_was_placed_after_it() -> None:
    old = guaranteed("db-0", 8, node="n1", status={"phase": "Running"})
    house = House(report(22, 30, of=["db-0"]), (old,), **OVER_RESERVE)
    house.cluster.remove_pod(old)
    house.place(guaranteed("db-0", 8))
    assert house.free == 22
    house.tell(report(30, 22, of=["db-0"]))
    assert house.free == 30


class Kubelet:
    """A node that puts each pod into any zone that takes it, and an agent on it that tells of that when it likes."""

    def __init__(self, draw: Random, house: House) -> None:
        self.draw, self.house = draw, house
        self.free = [16, 12, 8]
        self.coming: list[Pod] = []
        self.running: dict[str, tuple[int, Pod]] = {}

    def admit(self) -> None:
        if self.coming:
            pod = self.coming.pop(0)
            cores = pod.requests["cpu"] // 1000
            fitting = [zone for zone, free in enumerate(self.free) if free >= cores]
            assert fitting, f"{cores} cores were nominated, and there are {self.free}"
            zone = self.draw.choice(fitting)
            self.free[zone] -= cores
            self.running[pod.name] = zone, pod
            if self.draw.random() < 0.7:
                self.house.becomes(pod, "Running")

    def delete(self) -> None:
        if self.running:
            zone, pod = self.running.pop(self.draw.choice(list(self.running)))
            self.free[zone] += pod.requests["cpu"] // 1000
            self.house.cluster.remove_pod(pod)

    def tell(self) -> None:
        self.house.tell(report(*self.free, of=list(self.running)))


@pytest.mark.parametrize("seed", range(40))
def test_no_zone_is_ever_nominated_twice(seed: int) -> None:
    draw, house = Random(seed), House(report(16, 12, 8, of=[]), **OVER_RESERVE)
    kubelet, placed = Kubelet(draw, house), 0
    for _ in range(120):
        names = {f"p{i}" for i in range(8)} - kubelet.running.keys() - {pod.name for pod in kubelet.coming}
        step = draw.choice([kubelet.admit, kubelet.delete, kubelet.tell, None, None])
        if step is not None:
            step()
        elif names:
            outcome = house.scheduler.schedule(guaranteed(draw.choice(sorted(names)), draw.randint(1, 9)))
            if isinstance(outcome, Placed):
                kubelet.coming.append(outcome.pod)
                placed += 1
    assert placed > 10


def test_many_nodes_come_and_go() -> None:
    cluster = FakeCluster()
    plugin = NodeResourceTopologyMatch.of(OVER_RESERVE)
    scheduler = FakeScheduler(plugin, cluster=cluster)
    for i in range(300):
        topology = report(10, of=[], node=f"n{i}")
        cluster.cache.objects.put(topology)
        cluster.cache.put_node(make_node(f"n{i}", cpu=64))
        placed = scheduler.schedule(guaranteed(f"p{i}", 6))
        assert isinstance(placed, Placed)
        cluster.remove_pod(placed.pod)
        cluster.cache.remove_node(f"n{i}")
        cluster.cache.objects.drop(topology)
    assert len(plugin._zones._accounts) < 100  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------ which pods a report counts

BURSTABLE = make_pod("burstable", node="n1", cpu=3, status={"phase": "Running"})


@pytest.mark.parametrize(
    ("method", "attributes", "of", "free"),
    [
        pytest.param("Autodetect", {}, ["a", "burstable"], 30, id="all pods, as nothing else is said"),
        pytest.param("Autodetect", {}, ["a"], 22, id="all pods, of which one is missing"),
        pytest.param("Autodetect", {"Method": "with-exclusive-resources"}, ["a"], 30, id="the report says which"),
        pytest.param("Autodetect", {"Method": "with-exclusive-resources"}, ["a", "burstable"], 22, id="and means it"),
        pytest.param("OnlyExclusiveResources", {}, ["a"], 30, id="the arguments say which"),
        pytest.param("All", {"Method": "with-exclusive-resources"}, ["a"], 22, id="all, whatever the report says"),
    ],
)
def test_methods(method: str, attributes: dict[str, str], of: list[str], free: int) -> None:
    named = {f"nodeTopologyPodsFingerprint{name}": value for name, value in attributes.items()}
    cache = {"resyncMethod": method, "foreignPodsDetect": "None"}
    house = House(report(30, 22, of=["nobody"]), (BURSTABLE,), cacheResyncPeriodSeconds=5, cache=cache)
    house.place(guaranteed("a", 8))
    house.tell(report(30, 22, of=of, attributes=named))
    assert house.free == free


# ------------------------------------------------------------------------------------------- pods of other schedulers

ELSEWHERE: dict[str, Any] = {"scheduler": "somebody-else", "node": "n1", "status": {"phase": "Running"}}
EXCLUSIVE = guaranteed("stranger", 2, **ELSEWHERE)
FRACTION = guaranteed("stranger", "1500m", **ELSEWHERE)
DEVICE = make_pod("stranger", requests={NIC: 1}, limits={NIC: 1}, **ELSEWHERE)
OTHER_DEVICE = make_pod("stranger", requests={"other.example/x": 1}, **ELSEWHERE)
SIDECAR = make_pod("stranger", sidecars=[{NIC: 1}], **ELSEWHERE)
INIT = make_pod("stranger", init=[{NIC: 1}], **ELSEWHERE)
SHARING = make_pod("stranger", cpu=2, memory="1Gi", **ELSEWHERE)
OWN = guaranteed("stranger", 2, node="n1", status={"phase": "Running"})


@pytest.mark.parametrize(
    ("mode", "stranger", "free"),
    [
        pytest.param("All", SHARING, -1, id="all: any pod"),
        pytest.param("All", OWN, 30, id="all: not one of our own"),
        pytest.param("None", EXCLUSIVE, 30, id="none: not even one with cores of its own"),
        pytest.param(None, EXCLUSIVE, -1, id="by default: a pod with cores of its own"),
        pytest.param(None, FRACTION, -1, id="by default: a guaranteed pod, for its memory"),
        pytest.param(None, DEVICE, -1, id="by default: a pod with a device of a zone"),
        pytest.param(None, OTHER_DEVICE, 30, id="by default: not one with a device of no zone"),
        pytest.param(None, SIDECAR, -1, id="by default: a sidecar with a device"),
        pytest.param(None, INIT, 30, id="by default: not an init container, which gives back"),
        pytest.param(None, SHARING, 30, id="by default: not one that shares cores"),
    ],
)
def test_strangers(mode: str | None, stranger: Pod, free: int) -> None:
    house = House(report(30, 22, of=[]), cacheResyncPeriodSeconds=5, cache={"foreignPodsDetect": mode})
    assert house.free == 30
    house.cluster.add_pod(stranger)
    assert house.free == free


def test_a_report_that_accounts_for_a_stranger_is_believed() -> None:
    house = House(report(30, 22, of=[]), **OVER_RESERVE)
    house.cluster.add_pod(EXCLUSIVE)
    assert house.free == -1
    house.tell(report(28, 22, of=["stranger"]))
    assert house.free == 28


def test_a_stranger_that_leaves_makes_the_report_one_that_is_not_believed() -> None:
    house = House(report(28, 22, of=["stranger"]), (EXCLUSIVE,), **OVER_RESERVE)
    assert house.free == 28
    house.cluster.remove_pod(EXCLUSIVE)
    assert house.free == -1
    house.tell(report(30, 22, of=[]))
    assert house.free == 30


def test_a_stranger_that_only_changes_is_no_news() -> None:
    house = House(report(28, 22, of=["stranger"]), (EXCLUSIVE,), **OVER_RESERVE)
    assert house.free == 28
    house.becomes(EXCLUSIVE, "Running", labels={"new": "yes"})
    assert house.free == 28


def test_our_own_pods_of_before_a_restart_are_no_strangers() -> None:
    house = House(
        report(28, 22, of=["somebody"]), (OWN,), cacheResyncPeriodSeconds=5, cache={"foreignPodsDetect": "All"}
    )
    assert house.free == 28


# ---------------------------------------------------------------------------------------------------- other two modes


def test_without_a_cache_the_report_is_all_there_is() -> None:
    house = House(report(30, 22, of=[]))
    house.place(guaranteed("a", 8))
    house.cluster.add_pod(EXCLUSIVE)
    assert house.free == 30
    house.tell(report(10, 12))
    assert house.free == 12


def test_a_node_to_which_a_pod_is_on_its_way_is_left_alone() -> None:
    house = House(report(30, 22), **DISCARD)
    placed = house.place(guaranteed("a", 8))
    assert house.free == -1
    outcome = house.scheduler.schedule(guaranteed("b", 8))
    assert isinstance(outcome, Unplaced)
    assert outcome.message.startswith(f"0/1 nodes are available: 1 {STALE}.")
    house.plugin.post_bind(placed.cycle, placed.pod, "n1")
    assert house.free == 30
    assert house.place(guaranteed("b", 8)).node == "n1"


@pytest.mark.parametrize("how", ["sent back", "dies", "runs", "seen"])
def test_it_is_used_again_when_the_pod(how: str) -> None:
    house = House(report(30, 22), **DISCARD, cacheResyncPeriodSeconds=5)
    placed = house.place(guaranteed("a", 8))
    if how == "sent back":
        house.plugin.unreserve(placed.cycle, placed.pod, "n1")
    elif how == "dies":
        house.cluster.remove_pod(placed.pod)
    elif how == "runs":
        house.becomes(placed.pod, "Running")
    else:
        assert house.plugin.after_pod_came(guaranteed("b"), POD_CAME, None, placed.pod)
    assert house.free == 30


def test_a_node_without_a_report_is_not_discarded() -> None:
    house = House(None, **DISCARD)
    house.place(guaranteed("a", 8))
    assert house.free == 64


# -------------------------------------------------------------------------------------------------------------- hints

POD_CAME, POD_WENT = Event(Resource.ASSIGNED_POD, Action.ADD), Event(Resource.ASSIGNED_POD, Action.DELETE)
REPORTED = Event(NodeResourceTopology, Action.UPDATE)
NODE_CHANGED = Event(Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE)
WAITING = guaranteed("waiting", 12)


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, report(12), True, id="a first report by which it fits"),
        pytest.param(None, report(11), False, id="a first report by which it does not"),
        pytest.param(report(11), report(12), True, id="more than before"),
        pytest.param(report(11), report(10), False, id="still too little"),
        pytest.param(report(12), report(12), False, id="nothing new"),
        pytest.param(report(12, of=[]), report(12, of=["a"]), True, id="the same for other pods"),
        pytest.param(report(5), report(5, policy="none"), True, id="another policy"),
        pytest.param(report(5), report(5, scope="pod"), True, id="another scope"),
        pytest.param(report(5), None, True, id="no report any more"),
    ],
)
def test_a_report_wakes_whom_it_helps(
    old: NodeResourceTopology | None, new: NodeResourceTopology | None, helps: bool
) -> None:
    assert NodeResourceTopologyMatch().after_report(WAITING, REPORTED, old, new) is helps


def test_a_report_that_goes_helps_nobody_where_one_is_required() -> None:
    plugin = NodeResourceTopologyMatch.of({"requireTopology": True})
    assert not plugin.after_report(WAITING, REPORTED, report(5), None)


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, {}, True, id="a node"),
        pytest.param(None, {"cpu": 0}, False, id="a node without cores"),
        pytest.param({"cpu": 0}, {"cpu": 1}, True, id="it has cores now, which zones count"),
        pytest.param({"cpu": 1}, {"cpu": 2}, False, id="more of what it had"),
    ],
)
def test_a_node_wakes_whom_it_helps(old: Wants | None, new: Wants, helps: bool) -> None:
    before = None if old is None else make_node("n1", **old)
    assert NodeResourceTopologyMatch().after_node(WAITING, NODE_CHANGED, before, make_node("n1", **new)) is helps


@pytest.mark.parametrize(
    ("arguments", "helps"),
    [
        pytest.param({}, False, id="reports alone count"),
        pytest.param(OVER_RESERVE, True, id="it was reserved"),
        pytest.param(DISCARD, True, id="it was on its way"),
    ],
)
def test_a_pod_that_goes_wakes_others_if_more_is_known_then(arguments: dict[str, Any], helps: bool) -> None:
    house = House(report(12, of=[]), **arguments)
    pod = house.place(guaranteed("a", 8)).pod
    house.cluster.remove_pod(pod)
    assert house.plugin.after_pod_went(WAITING, POD_WENT, pod, None) is helps


def test_a_pod_that_goes_from_a_node_of_which_all_is_known_wakes_nobody() -> None:
    settled = guaranteed("a", 8, node="n1", status={"phase": "Running"})
    for arguments in (OVER_RESERVE, DISCARD):
        house = House(report(12, of=["a"]), (settled,), **arguments)
        assert house.free == 12
        assert not house.plugin.after_pod_went(WAITING, POD_WENT, settled, None)


@pytest.mark.parametrize(
    ("arguments", "helps"),
    [
        pytest.param({}, False, id="reports alone count"),
        pytest.param(OVER_RESERVE, True, id="the report may account for it"),
        pytest.param(DISCARD, True, id="it is on its way no more"),
    ],
)
def test_a_pod_that_comes_wakes_others_if_more_is_known_then(arguments: dict[str, Any], helps: bool) -> None:
    house = House(report(12, of=[]), **arguments)
    pod = house.becomes(house.place(guaranteed("a", 8)).pod, "Pending")
    assert house.plugin.after_pod_came(WAITING, POD_CAME, None, pod) is helps


# --------------------------------------------------------------------------------------------------- what-if evictions

SIMULATING = OVER_RESERVE | {"preemptionMode": "Enabled"}
METADATA = "topology.node.k8s.io/numaplacement-metadata"
RUNNING: Manifest = {"node": "n1", "status": {"phase": "Running"}}
LOW = guaranteed("low", 8, priority=1, **RUNNING)
URGENT = guaranteed("urgent", 10, priority=100)


def full(
    *free: int, of: list[str], busiest: int = 0, vectors: tuple[str, ...] = (), **more: Any
) -> NodeResourceTopology:
    """Return a report about two zones of 16 cores that tells in which zone the containers of the pods are."""
    attributes = {METADATA: f"npv0v001::ve=leb89::cc={len(of)}::nn=2::bn={busiest}", **more.pop("attributes", {})}
    return report(*free, of=of, allocatable=zones(16, 16), attributes=attributes, vectors=vectors, **more)


def saying(metadata: str) -> NodeResourceTopology:
    return full(4, 8, of=["low"], attributes={METADATA: metadata})


def what_if(house: House, *victims: Pod, pod: Pod = URGENT) -> str | None:
    cycle = house.cluster.cycle(pod)
    assert house.plugin.pre_filter(cycle, pod) is None
    trial = cycle.what_if()
    info = house.cluster.nodes[0].clone()
    for victim in victims:
        info.remove_pod(victim)
        house.plugin.remove_pod(trial, pod, victim, info)
    rejection = house.plugin.filter(trial, pod, info)
    assert house.plugin.filter_nodes(trial, pod, house.cluster.nodes)[0] == rejection
    again = house.plugin.filter(cycle, pod, house.cluster.nodes[0])
    assert again == house.plugin.filter_nodes(cycle, pod, house.cluster.nodes)[0], "the what-if changed what is"
    return None if rejection is None else rejection.message


def test_an_eviction_gives_cores_back_to_the_zone_that_they_are_of() -> None:
    house = House(full(4, 8, of=["low"]), (LOW,), **SIMULATING)
    assert what_if(house) == "cannot align container"
    assert what_if(house, LOW) is None
    assert what_if(house, LOW, pod=guaranteed("huge", 13, priority=100)) == "cannot align container"


def test_without_the_argument_nothing_is_given_back() -> None:
    house = House(full(4, 8, of=["low"]), (LOW,), **OVER_RESERVE)
    assert what_if(house, LOW) == "cannot align container"


@pytest.mark.parametrize(
    "topology",
    [
        pytest.param(report(4, 8, of=["low"]), id="it says nothing"),
        pytest.param(saying("npv0v001::cc=2::nn=2::bn=0"), id="of two containers"),
        pytest.param(saying("npv9v999::cc=1::nn=2::bn=0"), id="in another version"),
        pytest.param(saying("npv0v001::ve=x::cc=1::nn=2::bn=0"), id="in another code"),
        pytest.param(saying("npv0v001::cc=one::nn=2::bn=0"), id="without a number"),
        pytest.param(saying("nonsense"), id="nonsense"),
        pytest.param(full(4, 8, of=["low"], busiest=7), id="of a zone that is not there"),
        pytest.param(full(4, 8, of=["low"], vectors=("", '"')), id="with a character that cannot be"),
        pytest.param(full(4, 8, of=["low"], vectors=("", "$")), id="of a container beyond the last"),
        pytest.param(full(4, 8, of=["low"], vectors=("", "~~")), id="with a number that does not end"),
        pytest.param(full(4, 8, of=["low"], vectors=("", "~" * 1000 + "!")), id="with a number that is endless"),
    ],
)  # fmt: skip
def test_without_a_placement_that_can_be_read_nothing_is_given_back(topology: NodeResourceTopology) -> None:
    assert what_if(House(topology, (LOW,), **SIMULATING), LOW) == "cannot align container"


def test_containers_that_are_not_in_the_busiest_zone_are_listed() -> None:
    house = House(full(8, 4, of=["low"], vectors=("", "npv0v001!")), (LOW,), **SIMULATING)
    assert what_if(house, LOW, pod=guaranteed("huge", 12)) is None
    assert what_if(house, LOW, pod=guaranteed("huge", 13)) == "cannot align container"


NOT_POSSIBLE = "eviction simulation in NRT is not possible:"


def test_more_than_a_zone_has_cannot_be_given_back() -> None:
    house = House(full(9, 8, of=["low"]), (LOW,), **SIMULATING)
    assert what_if(house, LOW) == f"{NOT_POSSIBLE}resource release request exceeds NUMA allocatable"


def test_memory_that_the_kubelet_does_not_account_for_is_not_given_back() -> None:
    accounted: list[Wants] = [{"cpu": 4, "memory": "63.5Gi"}, {"cpu": 8, "memory": "64Gi"}]
    attributes = {METADATA: "npv0v001::cc=1::nn=2::bn=0"}
    topology = make_topology("n1", *accounted, allocatable=zones(16, 16), attributes=attributes)
    told = f"{NOT_POSSIBLE}resource release request exceeds NUMA allocatable"
    assert what_if(House(topology, (LOW,), **SIMULATING), LOW) == told
    assert what_if(House(full(4, 8, of=["low"]), (LOW,), **SIMULATING), LOW) is None


def test_a_pod_that_has_nothing_for_itself_frees_nothing() -> None:
    house = House(full(4, 8, of=["low"], attributes={"nodeTopologyPodsFingerprintMethod": "with-exclusive-resources"}),
                  (LOW, BURSTABLE), **SIMULATING)  # fmt: skip
    expected = f"{NOT_POSSIBLE}no resources to add, cannot process eviction simulation"
    assert what_if(house, BURSTABLE) == expected
    assert what_if(house, BURSTABLE, pod=guaranteed("small", 8)) is None
    assert what_if(house, LOW, BURSTABLE) is None


def test_a_pod_that_is_still_reserved_gives_back_what_was_taken_off() -> None:
    house = House(full(16, 16, of=[]), **SIMULATING)
    placed = house.place(guaranteed("low", 8, priority=1)).pod
    assert what_if(house) == "cannot align container"
    assert what_if(house, placed) is None
    assert what_if(house) == "cannot align container"


def test_a_pod_that_is_thought_back_frees_nothing() -> None:
    house = House(full(4, 8, of=["low"]), (LOW,), **SIMULATING)
    trial = house.cluster.cycle(URGENT)
    house.plugin.pre_filter(trial, URGENT)
    trial = trial.what_if()
    info = house.cluster.nodes[0]
    house.plugin.remove_pod(trial, URGENT, LOW, info)
    assert house.plugin.filter(trial, URGENT, info) is None
    house.plugin.add_pod(trial, URGENT, LOW, info)
    assert house.plugin.filter(trial, URGENT, info) is not None


@pytest.mark.parametrize(
    ("mode", "victims"), [pytest.param("Enabled", ("default/low",), id="on"), pytest.param("Disabled", (), id="off")]
)
def test_preemption_makes_room_in_a_zone(mode: str, victims: tuple[str, ...]) -> None:
    plugin = NodeResourceTopologyMatch.of(OVER_RESERVE | {"preemptionMode": mode})
    cluster = FakeCluster([make_node("n1", cpu=64, memory="512Gi")], [LOW, KEPT], [full(4, 4, of=["low", "kept"])])
    default = built_in().construct("DefaultPreemption", {})
    assert isinstance(default, DefaultPreemption)
    outcome = FakeScheduler(NodeResourcesFit(), plugin, default, cluster=cluster).schedule(URGENT)
    assert isinstance(outcome, Unplaced)
    assert outcome.victims == victims


KEPT = guaranteed("kept", 4, priority=1000, **RUNNING)


def test_a_later_report_lets_a_failed_what_if_succeed() -> None:
    house = House(saying("npv0v001::cc=9::nn=2::bn=0"), (LOW,), **SIMULATING)
    assert what_if(house, LOW) == "cannot align container"
    house.tell(full(4, 8, of=["low"]))
    assert what_if(house, LOW) is None
