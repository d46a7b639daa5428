"""InterPodAffinity against a scan of all nodes and pods, written down as the rules are told."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.verdicts import SKIP, Rejection, Skip
from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.objects import decode_node, make_pod
from pilotage.testing.plugins import raw_scores, score_all, verdicts_of

Labels = dict[str, str]
Selector = dict[str, Any] | None
Pairs = Counter[tuple[str, str]]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
AFFINITY = Rejection("node(s) didn't match pod affinity rules", preemption_helps=False)
ANTI_AFFINITY = Rejection("node(s) didn't match pod anti-affinity rules")
EXISTING = Rejection("node(s) didn't satisfy existing pods anti-affinity rules")


@dataclass(frozen=True)
class Term:
    key: str
    selector: Selector
    namespaces: tuple[str, ...]
    namespace_selector: Selector
    weight: int

    def manifest(self) -> dict[str, Any]:
        fields = {"labelSelector": self.selector, "namespaceSelector": self.namespace_selector}
        given = {name: value for name, value in fields.items() if value is not None}
        return {"topologyKey": self.key, "namespaces": list(self.namespaces), **given}

    def weighed(self) -> dict[str, Any]:
        return {"weight": self.weight, "podAffinityTerm": self.manifest()}


@dataclass(frozen=True)
class Some:
    """A pod as it was drawn."""

    namespace: str
    labels: Labels
    required: list[Term]
    required_anti: list[Term]
    preferred: list[Term]
    preferred_anti: list[Term]
    node: int

    def pod(self, number: int, node: str | None = None) -> Pod:
        near = {REQUIRED: [t.manifest() for t in self.required], PREFERRED: [t.weighed() for t in self.preferred]}
        away = {
            REQUIRED: [t.manifest() for t in self.required_anti],
            PREFERRED: [t.weighed() for t in self.preferred_anti],
        }
        affinity = {"podAffinity": near, "podAntiAffinity": away}
        return make_pod(f"p{number}", namespace=self.namespace, labels=self.labels, affinity=affinity, node=node)


@dataclass
class Drawn:
    """A cluster as it was drawn: labels of nodes and namespaces, and pods on nodes."""

    nodes: list[Labels]
    namespaces: dict[str, Labels]
    placed: list[tuple[Some, int]] = field(default_factory=list)

    def own_match(self, term: Term, owner: Some, other: Some) -> bool:
        """A term of the incoming pod: its namespace selector stands for the namespaces that exist."""
        names = set(term.namespaces)
        if not term.namespaces and term.namespace_selector is None:
            names = {owner.namespace}
        names |= {name for name, labels in self.namespaces.items() if selects(term.namespace_selector, labels)}
        everywhere = term.namespace_selector == {}
        return (everywhere or other.namespace in names) and selects(term.selector, other.labels)

    def carried_match(self, term: Term, owner: Some, incoming: Some) -> bool:
        """A term of an existing pod: its namespace selector sees the labels of the incoming pod's namespace."""
        names = term.namespaces
        if not term.namespaces and term.namespace_selector is None:
            names = (owner.namespace,)
        labels = self.namespaces.get(incoming.namespace, {})
        fits = incoming.namespace in names or selects(term.namespace_selector, labels)
        return fits and selects(term.selector, incoming.labels)

    def maps(self, pod: Some) -> tuple[Pairs, Pairs, Pairs]:
        existing, affinity, anti = Pairs(), Pairs(), Pairs()
        for other, place in self.placed:
            labels = self.nodes[place]
            for term in other.required_anti:
                if self.carried_match(term, other, pod) and term.key in labels:
                    existing[term.key, labels[term.key]] += 1
            if pod.required and all(self.own_match(term, pod, other) for term in pod.required):
                for term in pod.required:
                    if term.key in labels:
                        affinity[term.key, labels[term.key]] += 1
            for term in pod.required_anti:
                if self.own_match(term, pod, other) and term.key in labels:
                    anti[term.key, labels[term.key]] += 1
        return existing, affinity, anti

    def verdict(self, pod: Some, labels: Labels, maps: tuple[Pairs, Pairs, Pairs]) -> Rejection | None:
        existing, affinity, anti = maps
        if any(term.key not in labels for term in pod.required):
            return AFFINITY
        if any(affinity[term.key, labels[term.key]] <= 0 for term in pod.required):
            itself = all(self.own_match(term, pod, pod) for term in pod.required)
            if affinity.total() or not itself:
                return AFFINITY
        if any(term.key in labels and anti[term.key, labels[term.key]] > 0 for term in pod.required_anti):
            return ANTI_AFFINITY
        return EXISTING if any(existing[pair] > 0 for pair in labels.items()) else None

    def verdicts(self, pod: Some) -> dict[str, Rejection | None]:
        maps = self.maps(pod)
        return {f"n{i}": self.verdict(pod, labels, maps) for i, labels in enumerate(self.nodes)}

    def weights(self, pod: Some, hard: int) -> Iterator[tuple[str, Labels, int]]:
        for other, place in self.placed:
            labels = self.nodes[place]
            yield from ((t.key, labels, t.weight) for t in pod.preferred if self.own_match(t, pod, other))
            yield from ((t.key, labels, -t.weight) for t in pod.preferred_anti if self.own_match(t, pod, other))
            if hard:
                yield from ((t.key, labels, hard) for t in other.required if self.carried_match(t, other, pod))
            yield from ((t.key, labels, t.weight) for t in other.preferred if self.carried_match(t, other, pod))
            yield from ((t.key, labels, -t.weight) for t in other.preferred_anti if self.carried_match(t, other, pod))

    def scores(self, pod: Some, hard: int, ignore: bool) -> Skip | dict[str, int]:
        if ignore and not pod.preferred and not pod.preferred_anti:
            return SKIP
        sums = Pairs()
        for key, labels, weight in self.weights(pod, hard):
            if key in labels:
                sums[key, labels[key]] += weight
        if not sums:
            return SKIP
        return {f"n{i}": sum(sums[pair] for pair in labels.items()) for i, labels in enumerate(self.nodes)}

    def cluster(self) -> FakeCluster:
        return FakeCluster(
            nodes=[node(i, labels) for i, labels in enumerate(self.nodes)],
            pods=[some.pod(number, f"n{place}") for number, (some, place) in enumerate(self.placed)],
            objects=[Namespace(Metadata(name=name, labels=labels)) for name, labels in self.namespaces.items()],
        )


def node(number: int, labels: Labels) -> Node:
    return decode_node({"metadata": {"name": f"n{number}", "labels": labels}})


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    exact = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return exact and all(
        {
            "In": labels.get(each["key"]) in each.get("values", ()),
            "NotIn": labels.get(each["key"]) not in each.get("values", ()),
            "Exists": each["key"] in labels,
            "DoesNotExist": each["key"] not in labels,
        }[each["operator"]]
        for each in selector.get("matchExpressions", ())
    )


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


KEYS = st.sampled_from(["zone", "zone", "rack", "host"])
SELECTORS = st.sampled_from(
    [
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "b"}},
        {"matchLabels": {"app": "a", "tier": "1"}},
        expression("app", "Exists"),
        expression("tier", "NotIn", "1"),
        expression("app", "In", "a", "b"),
        {},
        None,
    ]
)
NAMESPACE_SELECTORS = st.sampled_from(
    [None, None, None, {}, {"matchLabels": {"team": "one"}}, expression("team", "DoesNotExist")]
)
NAMESPACES = st.sampled_from([(), (), ("x",), ("y", "z")])
TERMS = st.builds(Term, KEYS, SELECTORS, NAMESPACES, NAMESPACE_SELECTORS, st.sampled_from([1, 1, 7, 100]))
FEW = st.lists(TERMS, max_size=2)
OFTEN_NONE: st.SearchStrategy[list[Term]] = st.one_of(st.just([]), FEW)
POD_LABELS = st.fixed_dictionaries({"app": st.sampled_from("aab")}, optional={"tier": st.sampled_from("12")})
INCOMING = st.builds(Some, st.sampled_from("xxyz"), POD_LABELS, OFTEN_NONE, FEW, OFTEN_NONE, FEW, st.just(0))
PLACED = st.builds(
    Some,
    st.sampled_from("xxyz"),
    POD_LABELS,
    OFTEN_NONE,
    OFTEN_NONE,
    OFTEN_NONE,
    OFTEN_NONE,
    st.integers(0, 4),
)
NODE_LABELS = st.one_of(
    st.fixed_dictionaries({"zone": st.sampled_from("ab")}, optional={"rack": st.sampled_from("rs")}),
    st.fixed_dictionaries({}, optional={"rack": st.sampled_from("rs"), "other": st.just("a")}),
)


@st.composite
def clusters(draw: st.DrawFn) -> Drawn:
    # A host of its own for every node, or no host label at all: also a node without any label.
    nodes = [labels | draw(st.sampled_from([{}, {"host": f"h{i}"}])) for i, labels in enumerate(draw(_NODES))]
    known = draw(st.sampled_from([{"x": {"team": "one"}, "y": {}}, {"x": {}, "z": {"team": "one"}}, {}]))
    placed = [(some, some.node % len(nodes)) for some in draw(st.lists(PLACED, max_size=8))]
    return Drawn(nodes, known, placed)


_NODES = st.lists(NODE_LABELS, min_size=1, max_size=5)


@given(clusters(), INCOMING)
def test_filter_says_what_a_scan_says(drawn: Drawn, some: Some) -> None:
    cluster, pod, plugin = drawn.cluster(), some.pod(99), InterPodAffinity()
    cycle = cluster.cycle(pod)
    before = plugin.pre_filter(cycle, pod)
    nothing = not some.required and not some.required_anti and not drawn.maps(some)[0]
    assert before == (SKIP if nothing else None)
    if before is None:
        assert verdicts_of(plugin, cycle, pod) == drawn.verdicts(some)


@given(clusters(), INCOMING, st.lists(PLACED, max_size=3), st.sets(st.integers(0, 6)))
def test_a_what_if_says_what_a_scan_of_it_says(drawn: Drawn, some: Some, added: list[Some], gone: set[int]) -> None:
    cluster, pod, plugin = drawn.cluster(), some.pod(99), InterPodAffinity()
    cycle = cluster.cycle(pod)
    if plugin.pre_filter(cycle, pod) == SKIP:
        return
    what_if = cycle.what_if()
    stay = [each for number, each in enumerate(drawn.placed) if number not in gone]
    for number in sorted(gone & set(range(len(drawn.placed)))):
        other, place = drawn.placed[number]
        plugin.remove_pod(what_if, pod, other.pod(number), cycle.nodes[place])
    come = [(other, other.node % len(drawn.nodes)) for other in added]
    for number, (other, place) in enumerate(come):
        plugin.add_pod(what_if, pod, other.pod(50 + number), cycle.nodes[place])
    changed = Drawn(drawn.nodes, drawn.namespaces, stay + come)
    assert verdicts_of(plugin, what_if, pod) == changed.verdicts(some)
    assert verdicts_of(plugin, cycle, pod) == drawn.verdicts(some), "a what-if changed what is"


@given(clusters(), INCOMING, st.sampled_from([0, 1, 40]), st.booleans(), st.sets(st.integers(0, 4), min_size=1))
def test_scores_are_those_of_a_scan(drawn: Drawn, some: Some, hard: int, ignore: bool, left: set[int]) -> None:
    plugin = InterPodAffinity.of({"hardPodAffinityWeight": hard, "ignorePreferredTermsOfExistingPods": ignore})
    cluster, pod = drawn.cluster(), some.pod(99)
    feasible = {f"n{i % len(drawn.nodes)}" for i in left}
    expected = drawn.scores(some, hard, ignore)
    if isinstance(expected, Skip):
        assert raw_scores(plugin, cluster, pod, feasible) is SKIP
        return
    raw = {name: score for name, score in expected.items() if name in feasible}
    lowest, highest = min(raw.values()), max(raw.values())
    span = highest - lowest
    normal = {name: int(100 * ((score - lowest) / span)) if span else 0 for name, score in raw.items()}
    assert raw_scores(plugin, cluster, pod, feasible) == raw
    assert score_all(plugin, cluster, pod, feasible) == normal
