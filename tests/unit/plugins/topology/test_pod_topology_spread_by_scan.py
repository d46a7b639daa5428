"""PodTopologySpread against a slow one that loops over nodes and pods, as the specification tells it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.verdicts import SKIP, Rejection, Skip
from pilotage.kinds.workloads import ExactSelectorSpec, LabelSelectorSpec, ReplicaSet, Service
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import SpreadConstraint
from pilotage.model.selectors import LabelSelector, RequiredNodeAffinity, Test, compile_label_selector, compile_labels
from pilotage.model.tolerations import first_untolerated
from pilotage.plugins.topology.pod_topology_spread import PodTopologySpread
from pilotage.testing import FakeCluster, Manifest, decode_node, filter_all, make_pod, node_manifest
from pilotage.testing.plugins import raw_scores, score_all, verdicts_of

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
UNEVEN = Rejection("node(s) didn't match pod topology spread constraints")
MISSING = Rejection(f"{UNEVEN.message} (missing required label)", preemption_helps=False)
Change = tuple[Pod, NodeInfo, int]


# The book.


@dataclass
class Rule:
    """A constraint and what it selects."""

    constraint: SpreadConstraint
    selects: Test
    empty: bool

    @property
    def key(self) -> str:
        return self.constraint.topology_key

    def count(self, node: NodeInfo, namespace: str) -> int:
        there = [other for other in node.pods.values() if other.namespace == namespace and not other.is_terminating]
        return 0 if self.empty else sum(self.selects(other.labels) for other in there)

    def includes(self, pod: Pod, node: NodeInfo) -> bool:
        spec, affinity = pod.spec, pod.spec.affinity and pod.spec.affinity.node_affinity
        required = RequiredNodeAffinity(spec.node_selector, affinity.required if affinity else None)
        suits = self.constraint.node_affinity_policy == "Ignore" or required.matches(node.labels, node.name)
        tolerated = first_untolerated(node.taints, spec.tolerations) is None
        return suits and (self.constraint.node_taints_policy != "Honor" or tolerated)


def rules(cluster: FakeCluster, plugin: PodTopologySpread, pod: Pod, action: str) -> list[Rule]:
    own = pod.spec.topology_spread_constraints
    if own:
        return [own_rule(each, pod) for each in own if each.when_unsatisfiable == action]
    system = [SpreadConstraint(3, HOSTNAME, "ScheduleAnyway"), SpreadConstraint(5, ZONE, "ScheduleAnyway")]
    listed = [each.as_model() for each in plugin.default_constraints]
    defaults = system if plugin.defaulting_type == "System" else listed
    parts = deduced(cluster, pod)
    if not parts:
        return []
    return [
        Rule(each, lambda labels: all(part(labels) for part in parts), empty=False)
        for each in defaults
        if each.when_unsatisfiable == action
    ]


def own_rule(constraint: SpreadConstraint, pod: Pod) -> Rule:
    if constraint.label_selector is None:
        return Rule(constraint, lambda _: False, empty=False)
    selector = compile_label_selector(constraint.label_selector)
    taken = [(key, pod.labels[key]) for key in constraint.match_label_keys if key in pod.labels]
    return Rule(
        constraint,
        lambda labels: selector.matches(labels) and all(labels.get(key) == value for key, value in taken),
        empty=selector.empty and not taken,
    )


def deduced(cluster: FakeCluster, pod: Pod) -> list[Test]:
    parts: list[Test] = []
    for service in cluster.cache.objects.all(Service, pod.namespace):
        selector = service.spec.selector
        if selector and all(pod.labels.get(key) == value for key, value in selector.items()):
            parts.append(compile_labels(selector).matches)
    owner = pod.metadata.controller
    controller = cluster.cache.objects.get(ReplicaSet, owner.name, pod.namespace) if owner else None
    if controller is not None and controller.spec.selector is not None:
        matcher = compile_label_selector(controller.spec.selector)
        parts += [] if matcher.empty else [matcher.matches]
    return parts


def has_all(node: NodeInfo, hard: Sequence[Rule]) -> bool:
    return all(rule.key in node.labels for rule in hard)


def domain_counts(nodes: Sequence[NodeInfo], hard: Sequence[Rule], rule: Rule, pod: Pod) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in nodes:
        if has_all(node, hard) and rule.includes(pod, node):
            value = node.labels[rule.key]
            counts[value] = counts.get(value, 0) + rule.count(node, pod.namespace)
    return counts


def verdict(
    nodes: Sequence[NodeInfo], hard: Sequence[Rule], pod: Pod, node: NodeInfo, changes: Iterable[Change]
) -> Rejection | None:
    for rule in hard:
        if rule.key not in node.labels:
            return MISSING
        counts = domain_counts(nodes, hard, rule, pod)
        for other, where, difference in changes:
            counted = has_all(where, hard) and rule.includes(pod, where)
            if other.namespace == pod.namespace and counted and rule.selects(other.labels):
                counts[where.labels[rule.key]] += difference
        minimum = min(counts.values(), default=0)
        if len(counts) < (rule.constraint.min_domains or 1):
            minimum = 0
        itself = 1 if rule.selects(pod.labels) else 0
        if counts.get(node.labels[rule.key], 0) + itself - minimum > rule.constraint.max_skew:
            return UNEVEN
    return None


def expected_scores(
    nodes: Sequence[NodeInfo], left: Sequence[NodeInfo], soft: Sequence[Rule], pod: Pod, *, require_all: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the raw and the final scores."""
    ignored = {node.name for node in left if require_all and not has_all(node, soft)}
    totals = {node.name: 0.0 for node in left}
    for rule in soft:
        known = {node.labels.get(rule.key, "") for node in left if node.name not in ignored}
        size = len(left) - len(ignored) if rule.key == HOSTNAME else len(known)
        weight = math.log(size + 2)
        counts = dict.fromkeys(known, 0)
        for node in nodes:
            value = node.labels.get(rule.key, "")
            if value in known and rule.includes(pod, node) and (not require_all or has_all(node, soft)):
                counts[value] += rule.count(node, pod.namespace)
        for node in left:
            if node.name not in ignored and rule.key in node.labels:
                there = rule.count(node, pod.namespace) if rule.key == HOSTNAME else counts[node.labels[rule.key]]
                totals[node.name] += there * weight + (rule.constraint.max_skew - 1)
    raw = {name: math.floor(total + 0.5) for name, total in totals.items()}
    scored = [raw[name] for name in raw if name not in ignored]
    low, high = min(scored, default=0), max(scored, default=0)
    final = {name: 100 * (high + low - score) // high if high else 100 for name, score in raw.items()}
    return raw, {name: 0 if name in ignored else score for name, score in final.items()}


# Clusters.

LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["w", "v"]))
SELECTORS: st.SearchStrategy[Manifest | None] = st.one_of(
    st.just({"matchLabels": {"app": "w"}}),
    st.just({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
    st.just({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["v"]}]}),
    st.just({}),
    st.none(),
)
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
OWNED = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}]}


def node_of(name: str, labels: dict[str, str], tainted: bool) -> Node:
    manifest = node_manifest(name, taints=[TAINT] if tainted else [], fake=False)
    manifest["metadata"]["labels"] = labels
    return decode_node(manifest)


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    found = []
    for number in range(draw(st.integers(1, 7))):
        name = f"n{number}"
        maybe = {
            HOSTNAME: draw(st.sampled_from([name, name, name, None, "shared"])),
            ZONE: draw(st.sampled_from(["a", "b", "c", "", None])),
            "pool": draw(st.sampled_from(["p", "q", None])),
        }
        labels = {key: value for key, value in maybe.items() if value is not None}
        found.append(node_of(name, labels, draw(st.booleans())))
    return found


@st.composite
def other_pods(draw: st.DrawFn, most: int = 14) -> list[dict[str, Any]]:
    return [
        {
            "name": f"other-{number}",
            "labels": draw(LABELS),
            "namespace": draw(st.sampled_from(["d", "d", "d", "e"])),
            "metadata": draw(st.sampled_from([{}, {}, {}, {"deletionTimestamp": "2020-01-01T00:00:00Z"}])),
            "node": f"n{draw(st.integers(0, 6))}",
        }
        for number in range(draw(st.integers(0, most)))
    ]


@st.composite
def constraints(draw: st.DrawFn, *, selector: bool = True) -> Manifest:
    fields = {
        "maxSkew": draw(st.integers(1, 3)),
        "topologyKey": draw(st.sampled_from([HOSTNAME, ZONE, "pool"])),
        "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])),
        "labelSelector": draw(SELECTORS) if selector else None,
        "minDomains": draw(st.sampled_from([None, None, 1, 2, 4])),
        "nodeAffinityPolicy": draw(st.sampled_from([None, "Honor", "Ignore"])),
        "nodeTaintsPolicy": draw(st.sampled_from([None, "Honor", "Ignore"])),
        "matchLabelKeys": draw(st.sampled_from([None, None, ["tier"], ["tier", "absent"]])),
    }
    return {key: value for key, value in fields.items() if value is not None}


@st.composite
def pending(draw: st.DrawFn) -> Pod:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["p"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return make_pod(
        "pending",
        namespace="d",
        labels=draw(LABELS),
        node_selector=draw(st.sampled_from([None, None, {"pool": "q"}])),
        affinity=draw(st.sampled_from([None, None, affinity])),
        tolerations=draw(st.sampled_from([[], [{"key": "dedicated", "operator": "Exists"}]])),
        metadata=draw(st.sampled_from([{}, OWNED])),
        spec={"topologySpreadConstraints": draw(st.lists(constraints(), max_size=3))},
    )


@st.composite
def plugins(draw: st.DrawFn) -> PodTopologySpread:
    if draw(st.booleans()):
        return PodTopologySpread()
    return PodTopologySpread.of(
        {"defaultingType": "List", "defaultConstraints": draw(st.lists(constraints(selector=False), max_size=2))}
    )


@st.composite
def clusters(draw: st.DrawFn) -> FakeCluster:
    wanted = [draw(st.sampled_from([None, {}, {"app": "w"}, {"app": "v"}, {"tier": "w"}])) for _ in range(2)]
    objects: list[Service | ReplicaSet] = [
        Service(Metadata(name=f"s{number}", namespace=draw(st.sampled_from(["d", "e"]))), ExactSelectorSpec(selector))
        for number, selector in enumerate(wanted)
    ]
    if draw(st.booleans()):
        selector = msgspec.convert(draw(SELECTORS), LabelSelector | None)
        objects.append(ReplicaSet(Metadata(name="rs", namespace="d"), LabelSelectorSpec(selector)))
    return FakeCluster(draw(nodes()), [make_pod(**fields) for fields in draw(other_pods())], objects)


# The comparison; `filter_all` and `score_all` themselves compare one node at a time with all at once.


@given(clusters(), plugins(), pending())
def test_filtering_is_by_the_book(cluster: FakeCluster, plugin: PodTopologySpread, pod: Pod) -> None:
    hard, infos = rules(cluster, plugin, pod, "DoNotSchedule"), list(cluster.nodes)
    expected = {node.name: verdict(infos, hard, pod, node, ()) for node in infos} if hard else SKIP
    assert filter_all(plugin, cluster, pod) == expected


@given(clusters(), plugins(), pending(), other_pods(5), st.lists(st.integers(0, 30), max_size=4))
def test_what_ifs_are_by_the_book(
    cluster: FakeCluster, plugin: PodTopologySpread, pod: Pod, added: list[dict[str, Any]], removed: list[int]
) -> None:
    cycle, infos = cluster.cycle(pod), list(cluster.nodes)
    if isinstance(plugin.pre_filter(cycle, pod), Skip):
        return
    before = verdicts_of(plugin, cycle, pod)
    coming = [(make_pod(**fields), cluster.nodes.find(fields["node"])) for fields in added]
    changes: list[Change] = [(other, node, 1) for other, node in coming if node is not None]
    there = [(other, node) for node in infos for other in node.pods.values()]
    changes += [(*there[place], -1) for place in dict.fromkeys(removed) if place < len(there)]
    what_if, hard = cycle.what_if(), rules(cluster, plugin, pod, "DoNotSchedule")
    for number, (other, node, difference) in enumerate(changes, start=1):
        (plugin.add_pod if difference > 0 else plugin.remove_pod)(what_if, pod, other, node)
        expected = {node.name: verdict(infos, hard, pod, node, changes[:number]) for node in infos}
        assert verdicts_of(plugin, what_if, pod) == expected
    assert verdicts_of(plugin, cycle, pod) == before  # nothing outside of the what-if changed


@given(clusters(), plugins(), pending(), other_pods(5))
def test_a_what_if_comes_true(
    cluster: FakeCluster, plugin: PodTopologySpread, pod: Pod, added: list[dict[str, Any]]
) -> None:
    cycle = cluster.cycle(pod)
    if isinstance(plugin.pre_filter(cycle, pod), Skip) or any(
        rule.empty for rule in rules(cluster, plugin, pod, "DoNotSchedule")
    ):
        return
    what_if = cycle.what_if()
    others = [make_pod(**fields) for fields in added if not fields["metadata"]]
    for other in others:
        if (node := cluster.nodes.find(other.node_name)) is not None:
            plugin.add_pod(what_if, pod, other, node)
    told = verdicts_of(plugin, what_if, pod)
    for other in others:
        cluster.add_pod(other)
    assert filter_all(plugin, cluster, pod) == told
    for other in others:
        cluster.remove_pod(other)
    assert filter_all(plugin, cluster, pod) == verdicts_of(plugin, cycle, pod)


@given(clusters(), plugins(), pending(), st.sets(st.integers(0, 6), min_size=1))
def test_scoring_is_by_the_book(cluster: FakeCluster, plugin: PodTopologySpread, pod: Pod, feasible: set[int]) -> None:
    soft, infos = rules(cluster, plugin, pod, "ScheduleAnyway"), list(cluster.nodes)
    left = [node for place, node in enumerate(infos) if place in feasible] or infos
    require_all = bool(pod.spec.topology_spread_constraints) or plugin.defaulting_type != "System"
    names = {node.name for node in left}
    if not soft:
        assert score_all(plugin, cluster, pod, names) is SKIP
        return
    raw, final = expected_scores(infos, left, soft, pod, require_all=require_all)
    assert raw_scores(plugin, cluster, pod, names) == raw
    assert score_all(plugin, cluster, pod, names) == final


@given(clusters(), plugins(), pending(), nodes(), st.integers(0, 6))
def test_what_was_remembered_about_nodes_is_forgotten_when_they_change(
    cluster: FakeCluster, plugin: PodTopologySpread, pod: Pod, changed: list[Node], gone: int
) -> None:
    filter_all(plugin, cluster, pod), score_all(plugin, cluster, pod)
    for node in changed:
        cluster.cache.put_node(node)
    if len(cluster.nodes) > 1:
        cluster.cache.remove_node(f"n{gone}")
    anew = PodTopologySpread.of(plugin.args.model_dump(by_alias=True))
    assert filter_all(plugin, cluster, pod) == filter_all(anew, cluster, pod)
    assert score_all(plugin, cluster, pod) == score_all(anew, cluster, pod)
