from typing import Any

import pytest

from pilotage.framework.api.neighbours import NO_OWN_TERMS, DomainSums, Weighed, namespace_labels, own_terms
from pilotage.framework.api.pods import PodQuery
from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.objects import make_node, make_pod

TEAM = {"matchLabels": {"team": "one"}}


def wants(*terms: dict[str, Any]) -> Pod:
    given = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "w"}}, **term} for term in terms]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": given}
    return make_pod(namespace="d", affinity={"podAffinity": required})


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(Metadata(name=name, labels=labels))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param({}, {"d"}, id="the pod's own namespace by default"),
        pytest.param({"namespaces": ["e", "nowhere"]}, {"e", "nowhere"}, id="names"),
        pytest.param({"namespaceSelector": TEAM}, {"f", "g"}, id="a selector"),
        pytest.param({"namespaces": ["e"], "namespaceSelector": TEAM}, {"e", "f", "g"}, id="names and a selector"),
        pytest.param({"namespaces": ["e"], "namespaceSelector": {}}, None, id="the empty selector means all"),
    ],
)
def test_namespaces_become_names(term: dict[str, Any], expected: set[str] | None) -> None:
    cluster = FakeCluster(objects=[namespace("d"), namespace("f", team="one"), namespace("g", team="one")])
    (own,) = own_terms(wants(term), cluster.cache.objects).required
    assert own.namespaces == expected


def test_names_follow_the_namespaces_that_there_are() -> None:
    one, other = FakeCluster(objects=[namespace("f", team="one")]), FakeCluster(objects=[namespace("g", team="one")])
    pod = wants({"namespaceSelector": TEAM})
    assert own_terms(pod, one.cache.objects).required[0].namespaces == frozenset("f")
    assert own_terms(pod, other.cache.objects).required[0].namespaces == frozenset("g"), "as many changes elsewhere"
    other.cache.objects.put(namespace("h", team="one"))
    assert own_terms(pod, other.cache.objects).required[0].namespaces == frozenset("gh")
    assert own_terms(pod, other.cache.objects) is own_terms(pod, other.cache.objects), "not worked out anew"


def test_terms_that_differ_in_their_topology_alone_are_one_question() -> None:
    objects = FakeCluster().cache.objects
    selector = (("app", "In", ("w",)),)
    assert own_terms(wants({}, {"topologyKey": "rack"}), objects).required_query == PodQuery(
        ((frozenset({"d"}), selector),)
    )


def test_a_pod_without_terms_meets_nothing_and_asks_for_nothing() -> None:
    pod = make_pod(affinity={"nodeAffinity": {}})
    assert own_terms(pod, FakeCluster().cache.objects) is NO_OWN_TERMS
    assert not NO_OWN_TERMS.required_match(pod)


def test_labels_of_a_namespace_that_is_not_known() -> None:
    objects = FakeCluster(objects=[namespace("f", team="one")]).cache.objects
    assert namespace_labels(objects, "f") == {"team": "one"}
    assert namespace_labels(objects, "nowhere") == {}


def test_sums_by_domain() -> None:
    zones = {"a1": "a", "a2": "a", "b1": "b"}
    nodes = [make_node(name, labels={"zone": zone}) for name, zone in zones.items()]
    pods = [make_pod(f"{name}-{i}", node=name) for name in ("a1", "a1", "a2", "x") for i in range(2)]
    cluster = FakeCluster([*nodes, make_node("x")], pods)
    everybody = cluster.cache.placed.counts(PodQuery(((None, ()),)))
    sums = DomainSums.of(cluster.nodes, [Weighed("zone", everybody, 10), Weighed("zone", everybody, -3)])
    a1, x = cluster.nodes.find("a1"), cluster.nodes.find("x")
    assert a1 is not None
    assert x is not None
    assert [each.tolist() for each in sums.over(cluster.nodes)] == [[42, 42, 0, 0]]
    assert (sums.at(a1), sums.at(x)) == ([42], [0])
    assert (sums.has_domains(a1), sums.has_domains(x)) == (True, False)
    changed = sums.clone()
    changed.change("zone", a1, -42)
    changed.change("zone", x, 7)  # in no domain
    assert changed.empty
    assert sums.at(a1) == [42]
