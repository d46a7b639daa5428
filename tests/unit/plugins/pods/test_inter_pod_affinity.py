from collections.abc import Iterable
from typing import Any

import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.verdicts import SKIP, PluginFailed, Rejection, Skip
from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.manifests import Manifest
from pilotage.testing.objects import make_node, make_pod
from pilotage.testing.plugins import filter_all, raw_scores, score_all, verdicts_of

HOSTNAME = "kubernetes.io/hostname"
APP_W: Manifest = {"matchLabels": {"app": "w"}}
AFFINITY = Rejection("node(s) didn't match pod affinity rules", preemption_helps=False)
ANTI_AFFINITY = Rejection("node(s) didn't match pod anti-affinity rules", preemption_helps=True)
EXISTING = Rejection("node(s) didn't satisfy existing pods anti-affinity rules", preemption_helps=True)


def term(key: str = "zone", selector: Manifest | None = APP_W, **fields: Any) -> Manifest:
    return {"topologyKey": key, **({} if selector is None else {"labelSelector": selector}), **fields}


def exists(key: str) -> Manifest:
    return {"matchExpressions": [{"key": key, "operator": "Exists"}]}


def near(*terms: Manifest) -> Manifest:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def away(*terms: Manifest) -> Manifest:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def rather(name: str, *terms: tuple[int, Manifest]) -> Manifest:
    weighed = [{"weight": weight, "podAffinityTerm": each} for weight, each in terms]
    return {name: {"preferredDuringSchedulingIgnoredDuringExecution": weighed}}


def pod_p(affinity: Manifest | None = None, app: str = "w", **fields: Any) -> Pod:
    return make_pod("p", **{"namespace": "d", "labels": {"app": app}, "affinity": affinity, **fields})


def placed(node: str, app: str = "w", **fields: Any) -> Pod:
    return make_pod(f"on-{node}", **{"namespace": "d", "labels": {"app": app}, "node": node, **fields})


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(Metadata(name=name, labels=labels))


Y_NODES = {"a1": {"zone": "a"}, "a2": {"zone": "a"}, "b1": {"zone": "b"}, "x": {}}


def cluster_y(pods: Iterable[Pod] | None = None, objects: Iterable[Namespace] = ()) -> FakeCluster:
    """The cluster that the vectors call Y: two zones, one node without a zone, five pods."""
    nodes = [make_node(name, labels=labels) for name, labels in Y_NODES.items()]
    five = [placed(name) for name in ("a1", "a1", "a2", "b1", "x")]
    return FakeCluster(nodes, five if pods is None else pods, objects)


def rejected(found: Skip | Rejection | dict[str, Rejection | None]) -> dict[str, Rejection]:
    assert isinstance(found, dict)
    return {name: rejection for name, rejection in found.items() if rejection is not None}


@pytest.mark.parametrize(
    ("affinity", "app", "expected"),
    [
        pytest.param(near(term()), "w", {"x": AFFINITY}, id="in the zones that have such a pod"),
        pytest.param(near(term(HOSTNAME)), "w", {}, id="on the nodes that have such a pod"),
        pytest.param(
            away(term()), "w", dict.fromkeys(("a1", "a2", "b1"), ANTI_AFFINITY), id="in zones without, or in none"
        ),
        pytest.param(away(term("rack")), "w", {}, id="anti-affinity over a key that no node has blocks nothing"),
        pytest.param(
            near(term("rack")), "w", dict.fromkeys(Y_NODES, AFFINITY), id="affinity over such a key blocks everything"
        ),
        pytest.param(near(term(selector=None)), "w", dict.fromkeys(Y_NODES, AFFINITY), id="no selector means no pod"),
        pytest.param(near(term(selector={})), "z", {"x": AFFINITY}, id="an empty selector means all pods"),
        pytest.param(away(term(selector=None)), "w", {}, id="no selector shuns no pod"),
        pytest.param(
            near(term()) | away(term(HOSTNAME)),
            "w",
            {"x": AFFINITY} | dict.fromkeys(("a1", "a2", "b1"), ANTI_AFFINITY),
            id="affinity is looked at before anti-affinity",
        ),
        pytest.param(
            near(term(matchLabelKeys=["app"])), "z", {"x": AFFINITY}, id="matchLabelKeys were merged by the API server"
        ),
    ],
)
def test_filter_on_cluster_y(affinity: Manifest, app: str, expected: dict[str, Rejection]) -> None:
    assert rejected(filter_all(InterPodAffinity(), cluster_y(), pod_p(affinity, app))) == expected


@pytest.mark.parametrize(
    ("app", "pods", "expected"),
    [
        pytest.param("w", [], {"x": AFFINITY}, id="the first of its kind fits wherever there is a zone"),
        pytest.param("z", [], dict.fromkeys(Y_NODES, AFFINITY), id="not if it is none of the kind that it wants"),
        pytest.param("w", [placed("x")], {"x": AFFINITY}, id="a pod in no zone does not take the first place"),
        pytest.param(
            "w", [placed("b1")], dict.fromkeys(("a1", "a2", "x"), AFFINITY), id="a pod in a zone does, for all zones"
        ),
        pytest.param(
            "w",
            [placed("b1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            dict.fromkeys(("a1", "a2", "x"), AFFINITY),
            id="also one that is terminating",
        ),
        pytest.param("w", [placed("b1", namespace="other")], {"x": AFFINITY}, id="one of another namespace does not"),
    ],
)
def test_the_first_pod_of_its_kind(app: str, pods: list[Pod], expected: dict[str, Rejection]) -> None:
    assert rejected(filter_all(InterPodAffinity(), cluster_y(pods), pod_p(near(term()), app))) == expected


def test_the_first_pod_needs_all_of_the_keys() -> None:
    both = near(term("zone"), term("rack"))
    nodes = [make_node("n1", labels={"zone": "a", "rack": "r"}), make_node("n2", labels={"zone": "a"})]
    assert rejected(filter_all(InterPodAffinity(), FakeCluster(nodes), pod_p(both))) == {"n2": AFFINITY}
    # A pod in one of the two domains is enough to end the first place.
    with_pod = FakeCluster(nodes, [placed("n2")])
    assert rejected(filter_all(InterPodAffinity(), with_pod, pod_p(both))) == dict.fromkeys(("n1", "n2"), AFFINITY)


A_AND_B = {"A": {"region": "r1", "zone": "z1"}, "B": {"region": "r1", "zone": "z2"}}


def cluster_ab(*pods: Pod) -> FakeCluster:
    return FakeCluster([make_node(name, labels=labels) for name, labels in A_AND_B.items()], pods)


def test_one_pod_must_meet_all_terms() -> None:
    pods = make_pod("1", labels={"foo": ""}, node="A"), make_pod("2", labels={"bar": ""}, node="B")
    wants_both = make_pod(affinity=near(term("region", exists("foo")), term("zone", exists("bar"))))
    found = filter_all(InterPodAffinity(), cluster_ab(*pods), wants_both)
    assert rejected(found) == {"A": AFFINITY, "B": AFFINITY}


def test_each_key_may_have_its_own_pod() -> None:
    foo_and_bar = {"foo": "", "bar": ""}
    nodes = [
        make_node("A", labels={"region": "r1", "zone": "z1"}),
        make_node("B", labels={"region": "r2", "zone": "z1"}),
        make_node("C", labels={"region": "r1", "zone": "z2"}),
        make_node("D", labels={"region": "r2", "zone": "z3"}),
    ]
    pods = [make_pod(name, labels=foo_and_bar, node=name) for name in ("B", "C")]
    wants_both = make_pod(affinity=near(term("region", exists("foo")), term("zone", exists("bar"))))
    # r1 has its pod on C, z1 on B: A has both although neither pod is in both of its domains.
    assert rejected(filter_all(InterPodAffinity(), FakeCluster(nodes, pods), wants_both)) == {"D": AFFINITY}


@pytest.mark.parametrize(
    ("first_key", "expected"),
    [
        pytest.param("region", {"A": EXISTING, "B": EXISTING}, id="the wider domain holds both"),
        pytest.param("absent", {"A": EXISTING}, id="a key that is not there blocks nothing"),
    ],
)
def test_placed_pods_keep_others_away(first_key: str, expected: dict[str, Rejection]) -> None:
    shuns = make_pod("shuns", node="A", affinity=away(term(first_key, exists("foo")), term("zone", exists("bar"))))
    found = filter_all(InterPodAffinity(), cluster_ab(shuns), make_pod(labels={"foo": "", "bar": ""}))
    assert rejected(found) == expected


def test_own_anti_affinity_is_named_before_that_of_others() -> None:
    shuns = placed("A", affinity=away(term("zone")))
    assert rejected(filter_all(InterPodAffinity(), cluster_ab(shuns), pod_p(away(term("region"))))) == {
        "A": ANTI_AFFINITY,
        "B": ANTI_AFFINITY,
    }


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="no pods"),
        pytest.param([placed("A", affinity=away(term(selector=exists("nobody"))))], id="terms about others"),
        pytest.param([placed("A", affinity=away(term("absent")))], id="a term over a key that its node does not have"),
        pytest.param([placed("A", affinity=near(term()))], id="affinity of others"),
        pytest.param(
            [placed("A", namespace="other", affinity=away(term()))], id="the other's own namespace by default"
        ),
        pytest.param(
            [placed("A", affinity=away(term(), term(selector={"matchExpressions": [{"key": "a", "operator": "In"}]})))],
            id="terms that cannot be read, even beside good ones",
        ),
    ],
)
def test_filter_has_nothing_to_say(pods: list[Pod]) -> None:
    assert filter_all(InterPodAffinity(), cluster_ab(*pods), pod_p()) is SKIP
    preferring = pod_p(rather("podAntiAffinity", (1, term())))
    assert filter_all(InterPodAffinity(), cluster_ab(*pods), preferring) is SKIP


NAMESPACES = [namespace("d", team="one"), namespace("e", team="two"), namespace("f")]


@pytest.mark.parametrize(
    ("fields", "shunned"),
    [
        pytest.param({}, "d", id="the pod's own by default"),
        pytest.param({"namespaces": ["e", "unknown"]}, "eu", id="by name, whether they exist or not"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "two"}}}, "e", id="by label"),
        pytest.param(
            {"namespaces": ["f"], "namespaceSelector": {"matchLabels": {"team": "one"}}}, "df", id="by name or by label"
        ),
        pytest.param({"namespaceSelector": {}}, "defu", id="the empty selector means all, also unknown ones"),
        pytest.param(
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
            "f",
            id="a selector means namespaces that exist",
        ),
    ],
)
def test_namespaces_of_own_terms(fields: Manifest, shunned: str) -> None:
    nodes = [make_node(name) for name in "defu"]
    names = {"d": "d", "e": "e", "f": "f", "u": "unknown"}
    pods = [placed(node, namespace=name) for node, name in names.items()]
    found = filter_all(InterPodAffinity(), FakeCluster(nodes, pods, NAMESPACES), pod_p(away(term(HOSTNAME, **fields))))
    assert rejected(found) == dict.fromkeys(shunned, ANTI_AFFINITY)


@pytest.mark.parametrize(
    ("fields", "unwelcome"),
    [
        pytest.param({"namespaces": ["d"]}, True, id="by name"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "one"}}}, True, id="by label"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "two"}}}, False, id="by another label"),
        pytest.param({"namespaceSelector": {}}, True, id="all"),
        pytest.param({"namespaces": ["f"]}, False, id="another name"),
    ],
)
def test_namespaces_of_the_terms_of_placed_pods(fields: Manifest, unwelcome: bool) -> None:
    shuns = placed("n", namespace="other", affinity=away(term(HOSTNAME, **fields)))
    found = filter_all(InterPodAffinity(), FakeCluster([make_node("n")], [shuns], NAMESPACES), pod_p())
    assert found == ({"n": EXISTING} if unwelcome else SKIP)


def test_an_unknown_namespace_has_no_labels() -> None:
    no_team = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    shuns = placed("n", namespace="other", affinity=away(term(HOSTNAME, namespaceSelector=no_team)))
    assert filter_all(InterPodAffinity(), FakeCluster([make_node("n")], [shuns]), pod_p()) == {"n": EXISTING}


BAD: Manifest = {"matchExpressions": [{"key": "app", "operator": "In"}]}
COMPLAINT = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"


@pytest.mark.parametrize(
    ("affinity", "name"),
    [
        pytest.param(near(term(selector=BAD)), "requiredAffinityTerms", id="required affinity"),
        pytest.param(away(term(selector=BAD)), "requiredAntiAffinityTerms", id="required anti-affinity"),
        pytest.param(near(term(namespaceSelector=BAD)), "requiredAffinityTerms", id="a selector of namespaces"),
        pytest.param(rather("podAffinity", (1, term(selector=BAD))), "preferredAffinityTerms", id="preferred affinity"),
        pytest.param(
            rather("podAntiAffinity", (1, term(selector=BAD))),
            "preferredAntiAffinityTerms",
            id="preferred anti-affinity",
        ),
    ],
)
def test_terms_that_cannot_be_read(affinity: Manifest, name: str) -> None:
    cluster, pod, plugin = cluster_y(), pod_p(affinity), InterPodAffinity()
    reason = Rejection(f"parsing pod: {name}: {COMPLAINT}", preemption_helps=False)
    assert filter_all(plugin, cluster, pod) == reason
    with pytest.raises(PluginFailed) as failure:
        plugin.pre_score(cluster.cycle(pod), pod, cluster.nodes)
    assert str(failure.value) == f"failed to parse pod: {name}: {COMPLAINT}"


# ------------------------------------------------------------------------------------------------------- what if


def started(cluster: FakeCluster, pod: Pod) -> Cycle:
    cycle = cluster.cycle(pod)
    assert InterPodAffinity().pre_filter(cycle, pod) is None
    return cycle.what_if()


def test_the_last_wanted_pod_that_goes_leaves_the_first_place() -> None:
    only = placed("b1")
    cluster, pod, plugin = cluster_y([only]), pod_p(near(term())), InterPodAffinity()
    what_if = started(cluster, pod)
    b1 = cluster.nodes.find("b1")
    assert b1 is not None
    plugin.remove_pod(what_if, pod, only, b1)
    assert rejected(verdicts_of(plugin, what_if, pod)) == {"x": AFFINITY}
    plugin.add_pod(what_if, pod, only, b1)
    assert rejected(verdicts_of(plugin, what_if, pod)) == dict.fromkeys(("a1", "a2", "x"), AFFINITY)


def test_a_pod_that_comes_brings_its_own_terms() -> None:
    cluster, pod, plugin = cluster_y([]), pod_p(away(term(HOSTNAME))), InterPodAffinity()
    what_if = started(cluster, pod)
    nodes = {node.name: node for node in cluster.nodes}
    plugin.add_pod(what_if, pod, placed("a1", app="z", affinity=away(term())), nodes["a1"])
    plugin.add_pod(what_if, pod, placed("x", app="z", affinity=away(term())), nodes["x"])  # in no zone
    assert rejected(verdicts_of(plugin, what_if, pod)) == dict.fromkeys(("a1", "a2"), EXISTING)
    plugin.add_pod(what_if, pod, placed("a2"), nodes["a2"])
    assert rejected(verdicts_of(plugin, what_if, pod)) == {"a1": EXISTING, "a2": ANTI_AFFINITY}


def test_a_pod_that_comes_may_shun_namespaces_by_label() -> None:
    cluster, pod, plugin = cluster_y([], NAMESPACES), pod_p(away(term(HOSTNAME))), InterPodAffinity()
    what_if, a1 = started(cluster, pod), cluster.nodes.find("a1")
    assert a1 is not None
    for team, unwelcome in (("one", ("a1", "a2")), ("two", ())):  # the pod's namespace is of team one
        shuns = away(term(namespaceSelector={"matchLabels": {"team": team}}))
        other = placed("a1", app="z", namespace="other", affinity=shuns)
        plugin.add_pod(what_if, pod, other, a1)
        assert rejected(verdicts_of(plugin, what_if, pod)) == dict.fromkeys(unwelcome, EXISTING)
        plugin.remove_pod(what_if, pod, other, a1)
        assert not rejected(verdicts_of(plugin, what_if, pod))


# ------------------------------------------------------------------------------------------------------- scores


def test_scores_of_preferences() -> None:
    prefers = rather("podAffinity", (10, term())) | rather("podAntiAffinity", (7, term(HOSTNAME)))
    assert raw_scores(InterPodAffinity(), cluster_y(), pod_p(prefers)) == {"a1": 16, "a2": 23, "b1": 3, "x": -7}
    assert score_all(InterPodAffinity(), cluster_y(), pod_p(prefers)) == {"a1": 76, "a2": 100, "b1": 33, "x": 0}


@pytest.mark.parametrize(
    ("arguments", "scored"),
    [
        pytest.param({"hardPodAffinityWeight": 1}, True, id="the default weight"),
        pytest.param({"hardPodAffinityWeight": 40}, True, id="a larger weight"),
        pytest.param({"hardPodAffinityWeight": 0}, False, id="no weight"),
        pytest.param({"ignorePreferredTermsOfExistingPods": True}, False, id="terms of others do not count"),
    ],
)
def test_required_affinity_of_placed_pods_attracts(arguments: dict[str, Any], scored: bool) -> None:
    wants = placed("a1", app="other", affinity=near(term()))
    found = score_all(InterPodAffinity.of(arguments), cluster_y([wants]), pod_p())
    assert found == ({"a1": 100, "a2": 100, "b1": 0, "x": 0} if scored else SKIP)


def test_terms_of_others_count_when_the_pod_has_preferences_itself() -> None:
    wants = placed("a1", app="other", affinity=near(term()) | rather("podAntiAffinity", (5, term(HOSTNAME))))
    ignoring = InterPodAffinity.of({"hardPodAffinityWeight": 2, "ignorePreferredTermsOfExistingPods": True})
    prefers = pod_p(rather("podAffinity", (1, term(selector=exists("nobody")))))
    assert raw_scores(ignoring, cluster_y([wants]), prefers) == {"a1": -3, "a2": 2, "b1": 0, "x": 0}


@pytest.mark.parametrize(
    ("affinity", "pods"),
    [
        pytest.param(rather("podAffinity", (1, term())), [], id="an empty cluster"),
        pytest.param(rather("podAffinity", (1, term())), [placed("x")], id="pods in no domain"),
        pytest.param(near(term()), [placed("a1")], id="required terms of its own only"),
        pytest.param(None, [placed("a1", affinity=away(term()))], id="required anti-affinity of others"),
    ],
)
def test_there_is_nothing_to_score_by(affinity: Manifest | None, pods: list[Pod]) -> None:
    assert score_all(InterPodAffinity(), cluster_y(pods), pod_p(affinity)) is SKIP


def test_weights_that_cancel_each_other_out_are_scored() -> None:
    torn = rather("podAffinity", (5, term())) | rather("podAntiAffinity", (5, term()))
    assert score_all(InterPodAffinity(), cluster_y(), pod_p(torn)) == dict.fromkeys(Y_NODES, 0)


def test_equal_scores_are_all_worst() -> None:
    prefers = pod_p(rather("podAffinity", (5, term())))
    assert score_all(InterPodAffinity(), cluster_y(), prefers, feasible={"a1", "a2"}) == {"a1": 0, "a2": 0}


def test_pods_on_nodes_that_are_out_count_too() -> None:
    prefers = pod_p(rather("podAffinity", (5, term())))
    found = raw_scores(InterPodAffinity(), cluster_y([placed("a1")]), prefers, feasible={"a2", "b1"})
    assert found == {"a2": 5, "b1": 0}


def test_a_term_that_a_pod_has_twice_counts_twice() -> None:
    twice = placed("a1", affinity=rather("podAffinity", (3, term()), (3, term())))
    assert raw_scores(InterPodAffinity(), cluster_y([twice]), pod_p()) == {"a1": 6, "a2": 6, "b1": 0, "x": 0}


def test_scores_are_rounded_as_in_go() -> None:
    nodes = [make_node(name, labels={"zone": name}) for name in ("n0", "n29", "n50")]
    pods = [placed("n29", app="few"), placed("n50", app="many")]
    few, many = (
        (29, term(selector={"matchLabels": {"app": "few"}})),
        (50, term(selector={"matchLabels": {"app": "many"}})),
    )
    found = score_all(InterPodAffinity(), FakeCluster(nodes, pods), pod_p(rather("podAffinity", few, many)))
    assert found == {"n0": 0, "n29": 57, "n50": 100}  # 100 * (29 / 50) is a little less than 58


@pytest.mark.parametrize(
    ("node", "affinity", "told"),
    [
        pytest.param(3, near(term()), "no label zone", id="a missing label"),
        pytest.param(0, near(term(selector={"matchLabels": {"app": "z"}})), "no pod with app=z in zone=a", id="no pod"),
        pytest.param(2, away(term()), "a pod with app=w is in zone=b", id="a pod that it must not be near"),
        pytest.param(3, away(term()), "", id="nothing where the pod fits"),
    ],
)
def test_a_remark_says_which_rule_is_violated_where(node: int, affinity: Manifest, told: str) -> None:
    world, plugin, pod = cluster_y(), InterPodAffinity(), pod_p(affinity)
    cycle = world.cycle(pod)
    plugin.pre_filter(cycle, pod)
    assert plugin.remark(cycle, pod, world.nodes[node]) == told


def test_a_remark_says_where_a_pod_has_anti_affinity_to_the_pod() -> None:
    world, plugin, pod = cluster_y([placed("b1", affinity=away(term()))]), InterPodAffinity(), pod_p()
    cycle = world.cycle(pod)
    plugin.pre_filter(cycle, pod)
    assert plugin.remark(cycle, pod, world.nodes[2]) == "a pod in zone=b has anti-affinity to it"
