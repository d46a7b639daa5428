"""PodTopologySpread: which constraints apply, what they allow, what they prefer, and what wakes a pod."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import SKIP, PluginFailed, Rejection
from pilotage.kinds.workloads import (
    ExactSelectorSpec,
    LabelSelectorSpec,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelSelector, LabelSelectorRequirement
from pilotage.plugins.topology.pod_topology_spread import PodTopologySpread
from pilotage.testing import FakeCluster, Manifest, decode_node, filter_all, make_node, make_pod, node_manifest
from pilotage.testing.plugins import raw_scores, score_all, verdicts_of

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
UNEVEN = Rejection("node(s) didn't match pod topology spread constraints")
MISSING = Rejection(
    "node(s) didn't match pod topology spread constraints (missing required label)", preemption_helps=False
)
HAS_APP = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


def hard(key: str = "zone", skew: int = 1, selector: Manifest | None = HAS_APP, **fields: Any) -> Manifest:
    """A constraint that must be met."""
    given = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": HARD, "labelSelector": selector, **fields}
    return {name: value for name, value in given.items() if value is not None}


def soft(key: str = "zone", skew: int = 1, selector: Manifest | None = HAS_APP, **fields: Any) -> Manifest:
    """A constraint that had better be met."""
    return {**hard(key, skew, selector, **fields), "whenUnsatisfiable": SOFT}


def pod(*constraints: Manifest, labels: Mapping[str, str] | None = None, **fields: Any) -> Pod:
    """The pod to be scheduled."""
    labels = {"app": "w"} if labels is None else labels
    return make_pod("p", **{"namespace": "d"} | fields, labels=labels, spec={"topologySpreadConstraints": constraints})


def others(node: str, number: int, **fields: Any) -> list[Pod]:
    """Pods on a node that count."""
    return [
        make_pod(f"{node}-{i}", node=node, **{"namespace": "d", "labels": {"app": "w"}} | fields) for i in range(number)
    ]


def cluster_y(key: str = "zone", objects: Sequence[Any] = ()) -> FakeCluster:
    """The cluster of the vectors: zone a has two nodes, zone b one, and x has no zone."""
    zones = {"a1": {key: "a"}, "a2": {key: "a"}, "b1": {key: "b"}, "x": {}}
    placed = [*others("a1", 2), *others("a2", 1), *others("b1", 1), *others("x", 1)]
    return FakeCluster([make_node(name, labels=labels) for name, labels in zones.items()], placed, objects)


def domains(*numbers: int) -> FakeCluster:
    """One node for each number of pods, each in a zone of its own."""
    names = [f"n{i}" for i in range(len(numbers))]
    placed = [other for name, number in zip(names, numbers, strict=True) for other in others(name, number)]
    return FakeCluster([make_node(name, labels={"zone": name}) for name in names], placed)


def fitting(found: Any) -> str:
    """The names of the nodes that fit, in one line."""
    assert isinstance(found, dict)
    return " ".join(name for name, rejection in found.items() if rejection is None)


def only_on(*names: str) -> Manifest:
    """An affinity to the nodes with these hostnames."""
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": list(names)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


# Filtering.


def test_the_reason_says_whether_a_label_is_missing_or_the_domain_is_full() -> None:
    found = filter_all(PodTopologySpread(), cluster_y(), pod(hard()))
    assert found == {"a1": UNEVEN, "a2": UNEVEN, "b1": None, "x": MISSING}


@pytest.mark.parametrize(
    ("constraint", "fit"),
    [
        pytest.param(hard(skew=3), "a1 a2 b1", id="three more than the emptiest are allowed"),
        pytest.param(hard(skew=3, minDomains=3), "b1", id="with too few domains the emptiest has none"),
        pytest.param(hard(selector=None), "a1 a2 b1", id="an absent selector matches nobody"),
        pytest.param(hard(selector={}), "a1 a2 b1", id="an empty selector counts nobody but the pod itself"),
    ],
)
def test_cluster_y(constraint: Manifest, fit: str) -> None:
    found = filter_all(PodTopologySpread(), cluster_y(), pod(constraint))
    assert fitting(found) == fit
    assert isinstance(found, dict)
    assert found["x"] == MISSING


@pytest.mark.parametrize(
    ("numbers", "constraint", "fields", "fit"),
    [
        pytest.param((2, 1, 0, 3), hard(), {}, "n2", id="only the emptiest"),
        pytest.param((2, 1, 0, 3), hard(skew=2), {}, "n1 n2", id="a wider skew"),
        pytest.param((2, 1, 0, 3), hard(), {"labels": {}}, "n1 n2", id="a pod that does not count itself"),
        pytest.param((2, 2, 1), hard(skew=2, minDomains=4), {}, "n2", id="fewer domains than wanted"),
        pytest.param((2, 2, 1), hard(skew=2, minDomains=2), {}, "n0 n1 n2", id="enough domains"),
        pytest.param((2, 1, 0, 3), hard(), {"affinity": only_on("n0", "n3")}, "n0 n1 n2", id="affinity honoured"),
        pytest.param(
            (2, 1, 0, 3),
            hard(nodeAffinityPolicy="Ignore"),
            {"affinity": only_on("n0", "n3")},
            "n2",
            id="affinity ignored",
        ),
        pytest.param(
            (2, 1, 0, 3), hard(), {"node_selector": {"zone": "n3"}}, "n0 n1 n2 n3", id="nodeSelector honoured"
        ),
        pytest.param((2, 0), hard(), {"affinity": only_on("nowhere")}, "n0 n1", id="no node counts at all"),
        pytest.param((3, 0), soft(), {}, None, id="soft constraints filter nothing"),
        pytest.param((3, 0), None, {}, None, id="no constraints filter nothing"),
    ],
)
def test_one_node_in_each_domain(
    numbers: tuple[int, ...], constraint: Manifest | None, fields: dict[str, Any], fit: str | None
) -> None:
    found = filter_all(PodTopologySpread(), domains(*numbers), pod(*[constraint] if constraint else [], **fields))
    assert found is SKIP if fit is None else fitting(found) == fit


def test_an_affinity_that_leaves_out_nodes_leaves_out_their_domains() -> None:
    """The first node has as few as the emptiest that counts, the last one more."""
    found = filter_all(PodTopologySpread(), domains(2, 1, 0, 3), pod(hard(), affinity=only_on("n0", "n3")))
    assert isinstance(found, dict)
    assert (found["n0"], found["n3"]) == (None, UNEVEN)


@pytest.mark.parametrize(
    ("fields", "fit"),
    [
        pytest.param({}, "n0 n1", id="a pod that counts"),
        pytest.param({"namespace": "elsewhere"}, "n1", id="not one of another namespace"),
        pytest.param({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}, "n1", id="not a terminating one"),
        pytest.param({"labels": {"other": "w"}}, "n1", id="not one with other labels"),
    ],
)
def test_which_pods_count(fields: dict[str, Any], fit: str) -> None:
    cluster = domains(1, 0)
    for other in others("n1", 1, **fields):
        cluster.add_pod(other)
    assert fitting(filter_all(PodTopologySpread(), cluster, pod(hard()))) == fit


def test_a_node_without_one_of_the_keys_counts_for_no_constraint() -> None:
    labels = {"n0": {"zone": "a", "rack": "r0"}, "n1": {"zone": "a", "rack": "r1"}, "n2": {"zone": "b"}}
    cluster = FakeCluster([make_node(name, labels=given) for name, given in labels.items()], others("n0", 1))
    # With n2 the zone b would be empty, and the zone a too full.
    found = filter_all(PodTopologySpread(), cluster, pod(hard("zone"), hard("rack", skew=2)))
    assert found == {"n0": None, "n1": None, "n2": MISSING}


def test_constraints_have_selectors_of_their_own() -> None:
    cluster = domains(1, 0)
    for other in others("n1", 1, labels={"tier": "v"}):
        cluster.add_pod(other)
    has_tier = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    both = {"app": "w", "tier": "v"}
    assert fitting(filter_all(PodTopologySpread(), cluster, pod(hard(), labels=both))) == "n1"
    assert fitting(filter_all(PodTopologySpread(), cluster, pod(hard(selector=has_tier), labels=both))) == "n0"
    assert fitting(filter_all(PodTopologySpread(), cluster, pod(hard(), hard(selector=has_tier), labels=both))) == ""


@pytest.mark.parametrize(
    ("fields", "tolerations", "fit"),
    [
        pytest.param({}, [], "n1 n2", id="taints are ignored, so the tainted node is the emptiest"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, [], "n0 n1 n2", id="taints honoured: the tainted node is out"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"}, [{"key": "dedicated", "operator": "Exists"}], "n1 n2", id="tolerated taints"
        ),
    ],
)
def test_taints(fields: dict[str, Any], tolerations: list[Manifest], fit: str) -> None:
    nodes = [make_node(f"n{i}", labels={"zone": f"n{i}"}, taints=[TAINT] if i == 2 else []) for i in range(3)]
    cluster = FakeCluster(nodes, [*others("n0", 2), *others("n1", 1)])
    assert (
        fitting(filter_all(PodTopologySpread(), cluster, pod(hard(skew=2, **fields), tolerations=tolerations))) == fit
    )


@pytest.mark.parametrize(
    ("selector", "keys", "labels", "fit"),
    [
        pytest.param(HAS_APP, ["version"], {"app": "w", "version": "2"}, "n0 n1", id="only pods of the same version"),
        pytest.param(HAS_APP, ["absent"], {"app": "w", "version": "2"}, "n1", id="a key that the pod lacks is ignored"),
        pytest.param({}, ["version"], {"version": "1"}, "n1", id="an empty selector with a key counts"),
        pytest.param(None, ["version"], {"version": "1"}, "n0 n1", id="an absent selector stays absent"),
    ],
)
def test_match_label_keys(selector: Manifest | None, keys: list[str], labels: dict[str, str], fit: str) -> None:
    cluster = domains(0, 0)
    for other in others("n0", 1, labels={"app": "w", "version": "1"}):
        cluster.add_pod(other)
    wanted = pod(hard(selector=selector, matchLabelKeys=keys), labels=labels)
    assert fitting(filter_all(PodTopologySpread(), cluster, wanted)) == fit


def test_an_unreadable_selector_fails_the_attempt() -> None:
    wrong = {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}
    complaint = r"values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    hard_text = "get constraints from pod: obtaining pod's hard topology spread constraints: "
    soft_text = "calculating preScoreState: obtaining pod's soft topology spread constraints: "
    with pytest.raises(PluginFailed, match=f"^{hard_text}{complaint}$"):
        filter_all(PodTopologySpread(), cluster_y(), pod(hard(selector=wrong)))
    with pytest.raises(PluginFailed, match=f"^{soft_text}{complaint}$"):
        score_all(PodTopologySpread(), cluster_y(), pod(soft(selector=wrong)))
    assert filter_all(PodTopologySpread(), cluster_y(), pod(soft(selector=wrong))) is SKIP


# What-ifs.


@pytest.mark.parametrize(
    ("selector", "fields", "fit"),
    [
        pytest.param(HAS_APP, {}, "n0 n1", id="a pod that matched"),
        pytest.param(HAS_APP, {"labels": {}}, "n1", id="not one that did not match"),
        pytest.param(HAS_APP, {"namespace": "elsewhere"}, "n1", id="not one of another namespace"),
        pytest.param(
            HAS_APP,
            {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}},
            "n0 n1",
            id="a terminating one, although it was never counted",
        ),
    ],
)
def test_removing_a_pod_makes_room(selector: Manifest, fields: dict[str, Any], fit: str) -> None:
    plugin, cluster, wanted = PodTopologySpread(), domains(1, 0), pod(hard(selector=selector))
    cycle = cluster.cycle(wanted)
    plugin.pre_filter(cycle, wanted)
    what_if, node = cycle.what_if(), cluster.nodes[0]
    plugin.remove_pod(what_if, wanted, others("n0", 1, **fields)[0], node)
    assert fitting({each.name: plugin.filter(what_if, wanted, each) for each in cluster.nodes}) == fit
    assert fitting({each.name: plugin.filter(cycle, wanted, each) for each in cluster.nodes}) == "n1"


def test_adding_a_pod_raises_the_emptiest_domain() -> None:
    plugin, cluster, wanted = PodTopologySpread(), domains(1, 0), pod(hard())
    cycle = cluster.cycle(wanted)
    plugin.pre_filter(cycle, wanted)
    assert fitting(verdicts_of(plugin, cycle, wanted)) == "n1"
    plugin.add_pod(cycle, wanted, others("n1", 1)[0], cluster.nodes[1])
    assert fitting(verdicts_of(plugin, cycle, wanted)) == "n0 n1"
    plugin.remove_pod(cycle, wanted, others("n1", 1)[0], cluster.nodes[1])
    assert fitting(verdicts_of(plugin, cycle, wanted)) == "n1"


def test_an_empty_selector_counts_pods_in_what_ifs_alone() -> None:
    plugin, cluster, wanted = PodTopologySpread(), domains(3, 0), pod(hard(selector={}))
    cycle = cluster.cycle(wanted)
    plugin.pre_filter(cycle, wanted)
    assert plugin.filter(cycle, wanted, cluster.nodes[0]) is None
    plugin.add_pod(cycle, wanted, others("n0", 1)[0], cluster.nodes[0])
    assert plugin.filter(cycle, wanted, cluster.nodes[0]) == UNEVEN


# Scoring.

WEB = Service(Metadata(name="web", namespace="d"), ExactSelectorSpec({"app": "w"}))


@pytest.mark.parametrize(
    ("cluster", "constraints", "raw", "final"),
    [
        pytest.param(cluster_y(), [soft()], [4, 4, 1, 0], [25, 25, 100, 0], id="zones that are fuller score less"),
        pytest.param(cluster_y(), [soft(HOSTNAME)], [4, 2, 2, 2], [50, 100, 100, 100], id="so do hosts"),
        pytest.param(cluster_y(), [soft(), soft(HOSTNAME)], [7, 6, 3, 0], [42, 57, 100, 0], id="both together"),
        pytest.param(
            cluster_y(ZONE, [WEB]), [], [14, 13, 9, 4], [28, 35, 64, 100], id="the system's own, without a zone"
        ),
        pytest.param(cluster_y(), [soft(selector=None)], [0, 0, 0, 0], [100, 100, 100, 0], id="nobody matches"),
        pytest.param(cluster_y(), [soft(selector={})], [0, 0, 0, 0], [100, 100, 100, 0], id="an empty selector"),
        pytest.param(cluster_y(), [soft("rack")], [0, 0, 0, 0], [0, 0, 0, 0], id="no node has the key"),
    ],
)
def test_scores_of_cluster_y(
    cluster: FakeCluster, constraints: list[Manifest], raw: list[int], final: list[int]
) -> None:
    names = ["a1", "a2", "b1", "x"]
    plugin, wanted = PodTopologySpread(), pod(*constraints)
    assert filter_all(plugin, cluster, wanted) is SKIP
    assert raw_scores(plugin, cluster, wanted) == dict(zip(names, raw, strict=True))
    assert score_all(plugin, cluster, wanted) == dict(zip(names, final, strict=True))


@pytest.mark.parametrize(
    ("zones", "numbers", "feasible", "constraint", "final"),
    [
        pytest.param("abcd", (4, 2, 1, 3), "n0 n1 n2", soft(HOSTNAME), [33, 83, 100], id="hosts of the feasible nodes"),
        pytest.param("aabb", (3, 3, 2, 2), "n0 n1 n2", soft(), [75, 75, 100], id="pods on other nodes count too"),
    ],
)
def test_scores_of_the_nodes_that_are_left(
    zones: str, numbers: Sequence[int], feasible: str, constraint: Manifest, final: list[int]
) -> None:
    names = [f"n{i}" for i in range(len(zones))]
    nodes = [make_node(name, labels={"zone": zone}) for name, zone in zip(names, zones, strict=True)]
    placed = [other for name, number in zip(names, numbers, strict=True) for other in others(name, number)]
    found = score_all(PodTopologySpread(), FakeCluster(nodes, placed), pod(constraint), feasible.split())
    assert found == dict(zip(feasible.split(), final, strict=True))


def test_a_terminating_pod_is_as_good_as_gone() -> None:
    leaving = others("a", 1, metadata={"deletionTimestamp": "2020-01-01T00:00:00Z"})
    cluster = FakeCluster([make_node("a"), make_node("b")], [*leaving, *others("b", 1)])
    assert score_all(PodTopologySpread(), cluster, pod(soft(HOSTNAME))) == {"a": 100, "b": 0}


def test_hostnames_are_counted_whatever_the_inclusion_policies_say() -> None:
    found = raw_scores(PodTopologySpread(), domains(2, 0), pod(soft(HOSTNAME), affinity=only_on("n1")))
    assert found == {"n0": 3, "n1": 0}


def test_nodes_without_a_zone_share_one_that_has_no_name() -> None:
    manifest = node_manifest("unnamed", labels={ZONE: ""}, fake=False)
    nodes = [make_node("zoned", labels={ZONE: "a"}), decode_node(manifest), make_node("zoneless")]
    cluster = FakeCluster(nodes, others("zoneless", 2), [WEB])
    # Two zones: ln(4) for each pod there; three hostnames: ln(5).
    expected = {"zoned": 6, "unnamed": round(2 * 1.386294 + 6), "zoneless": round(2 * 1.609438 + 2)}
    assert raw_scores(PodTopologySpread(), cluster, pod()) == expected


# Defaults.


def listed(*constraints: Manifest) -> PodTopologySpread:
    """The plugin with defaults of its own."""
    return PodTopologySpread.of({"defaultingType": "List", "defaultConstraints": constraints})


def default(key: str = "zone", action: str = HARD, skew: int = 1, **fields: Any) -> Manifest:
    """A default constraint."""
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, **fields}


def owned(kind: str, version: str = "apps/v1", **fields: Any) -> Manifest:
    """The metadata of a pod with a controller."""
    return {"ownerReferences": [{"apiVersion": version, "kind": kind, "name": "owner", "controller": True, **fields}]}


OWNER = Metadata(name="owner", namespace="d")
APP_IS_W = LabelSelectorSpec(LabelSelector(match_labels={"app": "w"}))
UNREADABLE = LabelSelectorSpec(LabelSelector(match_expressions=(LabelSelectorRequirement("app", "In", ()),)))


@pytest.mark.parametrize(
    ("objects", "metadata", "fit"),
    [
        pytest.param([WEB], {}, "n1", id="a service"),
        pytest.param([Service(OWNER, ExactSelectorSpec({"app": "z"}))], {}, None, id="not a service of other pods"),
        pytest.param(
            [Service(Metadata(name="s", namespace="e"), WEB.spec)], {}, None, id="not one of another namespace"
        ),
        pytest.param([Service(OWNER)], {}, None, id="not a service without a selector"),
        pytest.param([Service(OWNER, ExactSelectorSpec({}))], {}, None, id="an empty selector adds nothing"),
        pytest.param([], {}, None, id="nothing"),
        pytest.param([ReplicaSet(OWNER, APP_IS_W)], owned("ReplicaSet"), "n1", id="a replica set"),
        pytest.param([StatefulSet(OWNER, APP_IS_W)], owned("StatefulSet"), "n1", id="a stateful set"),
        pytest.param(
            [ReplicationController(OWNER, ExactSelectorSpec({"app": "w"}))],
            owned("ReplicationController", "v1"),
            "n1",
            id="a replication controller",
        ),
        pytest.param([ReplicaSet(OWNER, APP_IS_W)], owned("StatefulSet"), None, id="not a controller of another kind"),
        pytest.param([ReplicaSet(OWNER, APP_IS_W)], owned("ReplicaSet", "apps/v2"), None, id="nor of another version"),
        pytest.param([ReplicaSet(OWNER, APP_IS_W)], owned("ReplicaSet", controller=False), None, id="nor a mere owner"),
        pytest.param([], owned("ReplicaSet"), None, id="a controller that is gone"),
        pytest.param([ReplicaSet(OWNER)], owned("ReplicaSet"), None, id="a controller without a selector"),
        pytest.param([ReplicaSet(OWNER, UNREADABLE)], owned("ReplicaSet"), None, id="one with an unreadable selector"),
        pytest.param(
            [ReplicaSet(OWNER, UNREADABLE), WEB],
            owned("ReplicaSet"),
            "n1",
            id="an unreadable selector beside a service",
        ),
        pytest.param(
            [ReplicaSet(OWNER, LabelSelectorSpec(LabelSelector(match_labels={"x": "y"}))), WEB],
            owned("ReplicaSet"),
            "n0 n1",
            id="service and controller together",
        ),
    ],
)
def test_default_constraints_are_for_pods_that_belong_together(
    objects: list[Any], metadata: Manifest, fit: str | None
) -> None:
    cluster = domains(1, 0)
    for each in objects:
        cluster.cache.objects.put(each)
    found = filter_all(listed(default()), cluster, pod(metadata=metadata))
    assert found is SKIP if fit is None else fitting(found) == fit


def test_any_constraint_of_its_own_frees_a_pod_of_all_defaults() -> None:
    cluster = domains(1, 0)
    cluster.cache.objects.put(WEB)
    assert filter_all(listed(default()), cluster, pod(soft())) is SKIP
    assert score_all(listed(default(action=SOFT)), cluster, pod(hard())) is SKIP
    assert score_all(PodTopologySpread(), cluster, pod(hard())) is SKIP


def test_listed_defaults_ignore_nodes_without_their_keys() -> None:
    cluster = cluster_y(ZONE, [WEB])
    assert score_all(listed(default(ZONE, SOFT)), cluster, pod()) == {"a1": 25, "a2": 25, "b1": 100, "x": 0}


def test_no_defaults_at_all() -> None:
    cluster = cluster_y(ZONE, [WEB])
    assert filter_all(listed(), cluster, pod()) is SKIP
    assert score_all(listed(), cluster, pod()) is SKIP


def test_services_and_controllers_are_seen_to_change() -> None:
    plugin, cluster, wanted = listed(default()), domains(1, 0), pod(metadata=owned("ReplicaSet"))
    store = cluster.cache.objects
    assert filter_all(plugin, cluster, wanted) is SKIP
    store.put(WEB)
    assert fitting(filter_all(plugin, cluster, wanted)) == "n1"
    store.put(ReplicaSet(OWNER, LabelSelectorSpec(LabelSelector(match_labels={"x": "y"}))))
    assert fitting(filter_all(plugin, cluster, wanted)) == "n0 n1"
    store.put(ReplicaSet(OWNER, APP_IS_W))
    assert fitting(filter_all(plugin, cluster, wanted)) == "n1"
    store.drop(WEB)
    assert fitting(filter_all(plugin, cluster, wanted)) == "n1"
    store.drop(ReplicaSet(OWNER))
    assert filter_all(plugin, cluster, wanted) is SKIP


# Arguments.

AT = ("profiles", 0, "pluginConfig", 1, "args")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param({}, {"defaultingType": "System"}, id="nothing"),
        pytest.param({"defaultingType": "", "defaultConstraints": None}, {"defaultingType": "System"}, id="empty"),
        pytest.param(
            {"defaultingType": "List", "defaultConstraints": [default("zone", SOFT, 2)]},
            {"defaultingType": "List", "defaultConstraints": [default("zone", SOFT, 2)]},
            id="a short constraint stays short",
        ),
        pytest.param(
            {"defaultingType": "List", "defaultConstraints": [default(minDomains=0, nodeTaintsPolicy="Honor")]},
            {"defaultingType": "List", "defaultConstraints": [default(minDomains=0, nodeTaintsPolicy="Honor")]},
            id="a zero that was written stays",
        ),
    ],
)
def test_arguments_that_are_right(given: dict[str, Any], read: dict[str, Any]) -> None:
    arguments = PodTopologySpread.read_arguments(given, AT)
    assert not arguments.faults
    assert arguments.value == read


IN_LIST = "profiles[0].pluginConfig[1].args.defaultConstraints[0]"
BOTH = 'supported values: "DoNotSchedule", "ScheduleAnyway"'


@pytest.mark.parametrize(
    ("kind", "constraints", "texts"),
    [
        pytest.param("List", [default(skew=0)], [f"{IN_LIST}.maxSkew: Invalid value: 0: not in valid range (0, inf)"]),
        pytest.param("List", [default("")], [f"{IN_LIST}.topologyKey: Required value: can not be empty"]),
        pytest.param("List", [default(action="")], [f"{IN_LIST}.whenUnsatisfiable: Required value: can not be empty"]),
        pytest.param(
            "List",
            [default(action="Perhaps")],
            [f'{IN_LIST}.whenUnsatisfiable: Unsupported value: "Perhaps": {BOTH}'],
        ),
        pytest.param(
            "List",
            [default(labelSelector={})],
            [
                f"{IN_LIST}.labelSelector: Forbidden: constraint must not define a selector, "
                "as they deduced for each pod"
            ],
        ),
        pytest.param(
            "List",
            [default(), default(action=SOFT), default(skew=7)],
            [f'{IN_LIST[:-3]}[2]: Duplicate value: "{{zone, DoNotSchedule}}"'],
        ),
        pytest.param(
            "Set",
            [],
            [
                "profiles[0].pluginConfig[1].args.defaultingType: "
                'Unsupported value: "Set": supported values: "System", "List"'
            ],
        ),
        pytest.param(
            "System",
            [default(skew=-1)],
            [
                "profiles[0].pluginConfig[1].args.defaultingType: "
                'Invalid value: "System": when .defaultConstraints are not empty',
                f"{IN_LIST}.maxSkew: Invalid value: -1: not in valid range (0, inf)",
            ],
        ),
    ],
    ids=[
        "a skew of nothing",
        "no topology key",
        "nothing to do",
        "an unknown thing to do",
        "a selector",
        "twice the same",
        "an unknown type",
        "the system's own with others",
    ],
)
def test_arguments_that_are_wrong(kind: str, constraints: list[Manifest], texts: list[str]) -> None:
    arguments = PodTopologySpread.read_arguments({"defaultingType": kind, "defaultConstraints": constraints}, AT)
    assert [fault.text for fault in arguments.faults] == texts


def test_a_topology_key_must_be_a_label() -> None:
    arguments = PodTopologySpread.read_arguments({"defaultingType": "List", "defaultConstraints": [default("a b")]}, AT)
    (fault,) = arguments.faults
    assert fault.text.startswith(f'{IN_LIST}.topologyKey: Invalid value: "a b": name part must consist of alphanumeric')


# Hints.


def hint(name: str, wanted: Pod, old: Any, new: Any, plugin: PodTopologySpread | None = None) -> bool:
    """Ask a hint of a plugin that has tried the pod once."""
    plugin = plugin or PodTopologySpread()
    cluster = cluster_y("zone", [WEB])
    plugin.pre_filter(cluster.cycle(wanted), wanted)
    answer: bool = getattr(plugin, name)(wanted, Event(Resource.EVERYTHING, Action.ALL), old, new)
    return answer


def placed(labels: Mapping[str, str], **fields: Any) -> Pod:
    """A pod with these labels on a node."""
    return make_pod("other", uid="other", **{"namespace": "d", "node": "a1"} | fields, labels=labels)


W, V, Z = placed({"app": "w"}), placed({"app": "v"}), placed({"tier": "z"})


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, W, True, id="a pod that matches came"),
        pytest.param(None, Z, False, id="another pod came"),
        pytest.param(W, None, True, id="a pod that matches went"),
        pytest.param(Z, None, False, id="another pod went"),
        pytest.param(W, Z, True, id="a pod matches no more"),
        pytest.param(Z, W, True, id="a pod matches now"),
        pytest.param(W, V, False, id="a pod still matches"),
        pytest.param(None, placed({"app": "w"}, namespace="e"), False, id="a pod of another namespace came"),
        pytest.param(None, placed({"app": "w"}, node=None), False, id="a pod without a node came"),
        pytest.param(
            None,
            placed({"app": "w"}, node=None, status={"nominatedNodeName": "a1"}),
            True,
            id="a pod for which a node was nominated came",
        ),
        pytest.param(placed({}, node=None), W, False, id="a pod that had no node before changed"),
    ],
)
def test_hint_after_an_assigned_pod(old: Pod | None, new: Pod | None, helps: bool) -> None:
    assert hint("after_assigned_pod", pod(hard()), old, new) is helps


def test_hints_look_at_all_hard_constraints_and_at_no_soft_one() -> None:
    has_tier = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    assert hint("after_assigned_pod", pod(hard(), hard(selector=has_tier)), None, Z)
    assert not hint("after_assigned_pod", pod(hard(), soft(selector=has_tier)), None, Z)


def test_hints_know_the_default_constraints() -> None:
    assert hint("after_assigned_pod", pod(), None, W, listed(default()))
    assert not hint("after_assigned_pod", pod(), None, Z, listed(default()))


def test_a_plugin_that_saw_no_cycle_yet_cannot_tell_what_the_default_constraints_select() -> None:
    came = Event(Resource.ASSIGNED_POD, Action.ADD)
    assert listed(default()).after_assigned_pod(pod(), came, None, Z)
    assert not listed(default()).after_assigned_pod(pod(hard()), came, None, Z)


def test_a_pod_with_an_unreadable_selector_is_tried_again_whatever_happens() -> None:
    wrong = pod(hard(selector={"matchExpressions": [{"key": "app", "operator": "Perhaps"}]}))
    plugin, event = PodTopologySpread(), Event(Resource.EVERYTHING, Action.ALL)
    assert plugin.after_assigned_pod(wrong, event, None, Z)
    assert plugin.after_target_pod(wrong, event, wrong, wrong)
    assert plugin.after_node(wrong, event, None, node())


def tolerating(*keys: str, labels: Mapping[str, str] | None = None) -> Pod:
    """The pod itself with these tolerations."""
    return pod(hard(), labels=labels, tolerations=[{"key": key, "operator": "Exists"} for key in keys])


@pytest.mark.parametrize(
    ("constraint", "old", "new", "helps"),
    [
        pytest.param(hard(), tolerating(), tolerating("x"), False, id="a toleration where taints are ignored"),
        pytest.param(
            hard(nodeTaintsPolicy="Honor"), tolerating(), tolerating("x"), True, id="a toleration where they count"
        ),
        pytest.param(
            hard(nodeTaintsPolicy="Honor"), tolerating("x"), tolerating("x"), False, id="the same tolerations"
        ),
        pytest.param(hard(), tolerating(), tolerating(labels={}), True, id="the pod no longer counts itself"),
        pytest.param(hard(), tolerating(), tolerating(labels={"app": "v"}), False, id="it still does"),
    ],
)
def test_hint_after_the_pod_itself(constraint: Manifest, old: Pod, new: Pod, helps: bool) -> None:
    assert hint("after_target_pod", pod(constraint), old, new) is helps


def node(taints: Sequence[Manifest] = (), **labels: str) -> Node:
    """A node with these labels."""
    return make_node("n", labels=labels, taints=taints)


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, node(zone="a", rack="r"), True, id="a node with all keys came"),
        pytest.param(None, node(zone="a"), False, id="a node without one came"),
        pytest.param(node(zone="a", rack="r"), None, True, id="a node with all keys went"),
        pytest.param(node(zone="a"), None, False, id="a node without one went"),
        pytest.param(node(zone="a"), node(zone="a", rack="r"), True, id="a node got the last key"),
        pytest.param(node(zone="a", rack="r"), node(zone="a"), True, id="a node lost one"),
        pytest.param(node(zone="a", rack="r"), node(zone="b", rack="r"), True, id="a node moved"),
        pytest.param(node(zone="a"), node(zone="b"), False, id="a node moved that lacks a key"),
        pytest.param(node(zone="a", rack="r"), node([TAINT], zone="a", rack="r"), True, id="a node got a taint"),
        pytest.param(node(zone="a"), node([TAINT], zone="a"), False, id="a node got a taint that lacks a key"),
        pytest.param(node(zone="a", rack="r"), node(zone="a", rack="r", x="y"), False, id="another label changed"),
    ],
)
def test_hint_after_a_node(old: Node | None, new: Node | None, helps: bool) -> None:
    assert hint("after_node", pod(hard("zone"), hard("rack")), old, new) is helps


def test_what_wakes_a_pod() -> None:
    waited = {(retry.resource, retry.action, retry.hint) for retry in PodTopologySpread.retry_on}
    assert waited == {
        (Resource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, "after_assigned_pod"),
        (Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION | Action.UPDATE_POD_LABEL, "after_target_pod"),
        (
            Resource.NODE,
            Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
            "after_node",
        ),
    }


@pytest.mark.parametrize(
    ("node", "constraint", "told"),
    [
        pytest.param(0, hard(), "zone=a would have 4, the smallest domain has 1; maxSkew is 1", id="both numbers"),
        pytest.param(3, hard(), "no label zone", id="a missing label"),
        pytest.param(
            0,
            hard(skew=3, minDomains=3),
            "zone=a would have 4, with 2 of minDomains 3; maxSkew is 3",
            id="too few domains",
        ),
        pytest.param(2, hard(), "", id="nothing where the pod fits"),
    ],
)
def test_a_remark_says_what_the_constraint_compares(node: int, constraint: Manifest, told: str) -> None:
    world, plugin, pending = cluster_y(), PodTopologySpread(), pod(constraint)
    cycle = world.cycle(pending)
    plugin.pre_filter(cycle, pending)
    assert plugin.remark(cycle, pending, world.nodes[node]) == told
