"""The status of an ElasticQuota: what is used, by the scheduler's own numbers, and what is wrong with the quota."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.quota_accounting import QuotaTable, table_of
from pilotage.kinds.workloads import Namespace
from pilotage.model.pod import Pod
from pilotage.testing import make_pod
from pilotage.testing.quotas import make_namespace, make_quota
from pilotage_operator.controllers import elastic_quotas
from pilotage_operator.controllers.elastic_quotas import StoredElasticQuota, concerned, facts, status_events

GPU = "nvidia.com/gpu"
OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
RUNNING, PENDING = {"phase": "Running"}, {"phase": "Pending"}


def pod(namespace: str = "ns1", node: str | None = "n1", **fields: Any) -> Pod:
    return make_pod(namespace=namespace, node=node, **{"status": RUNNING, **fields})


def stored(quota: ElasticQuota, **status: Any) -> StoredElasticQuota:
    return msgspec.convert(msgspec.to_builtins(quota) | {"status": status}, StoredElasticQuota)


def status_of(
    quota: ElasticQuota,
    pods: Iterable[Pod] = (),
    namespaces: Iterable[Namespace] = (),
    quotas: Iterable[ElasticQuota] = (),
) -> dict[str, Any]:
    """The status among these quotas, of which this one is always one."""
    given = list(pods)
    table = table_of([*([] if quota in quotas else [quota]), *quotas], namespaces)
    return elastic_quotas.status_of(
        stored(quota), lambda namespace: [each for each in given if each.namespace == namespace], table, NOW
    )


def used(quota: ElasticQuota, *pods: Pod, namespaces: tuple[Namespace, ...] = ()) -> dict[str, str]:
    found: dict[str, str] = status_of(quota, pods, namespaces)["used"]
    return found


WITH_GPU = make_quota("ns1", {"cpu": 3, "memory": 5}, {"cpu": 5, "memory": 15, GPU: 10})
BOTH = make_quota("ns1", {"cpu": 3, "memory": 5}, {"cpu": 5, "memory": 15})


@pytest.mark.parametrize(
    ("quota", "pods", "expected"),
    [
        pytest.param(
            WITH_GPU,
            [pod(cpu=1, memory=2, requests={GPU: 1}), pod(node=None, cpu=9, status=PENDING)],
            {"cpu": "1", "memory": "2", GPU: "1"},
            id="vector: a pod that runs and one that has no node",
        ),
        pytest.param(
            BOTH,
            [
                pod(cpu=2, memory=4),
                pod(
                    init=[{"cpu": 2, "memory": 1}, {"cpu": 2, "memory": 3}],
                    cpu=2,
                    memory=1,
                    spec={
                        "containers": [
                            {"name": "a", "resources": {"requests": {"cpu": 2, "memory": 1}}},
                            {"name": "b", "resources": {"requests": {"cpu": 1, "memory": 1}}},
                        ]
                    },
                ),
            ],
            {"cpu": "5", "memory": "7"},
            id="vector: init containers count as the most of them",
        ),
        pytest.param(
            make_quota("ns1", {"cpu": 3, "memory": 5, GPU: 2}),
            [],
            {"cpu": "0", "memory": "0", GPU: "0"},
            id="vector: no pods",
        ),
        pytest.param(BOTH, [pod("ns2", cpu=1)], {"cpu": "0", "memory": "0"}, id="vector: a pod of another namespace"),
        pytest.param(
            BOTH, [pod(cpu=1, status=PENDING)], {"cpu": "1", "memory": "0"}, id="a pod counts as soon as it has a node"
        ),
        pytest.param(
            BOTH, [pod(cpu=1, status={"phase": "Failed"})], {"cpu": "0", "memory": "0"}, id="and until it has ended"
        ),
        pytest.param(
            BOTH,
            [pod(cpu="100m", sidecars=[{"cpu": 1}], overhead={"cpu": "50m"})],
            {"cpu": "1150m", "memory": "0"},
            id="sidecars and overhead count",
        ),
        pytest.param(
            make_quota("ns1", most={"memory": "4Gi", "pods": 9}),
            [pod(memory="1Gi", cpu=1), pod(memory="512Mi")],
            {"memory": "1536Mi", "pods": "2"},
            id="pods are counted, and what the quota does not name is not",
        ),
    ],
)
def test_used(quota: ElasticQuota, pods: list[Pod], expected: dict[str, str]) -> None:
    assert used(quota, *pods) == expected


def test_pods_of_all_namespaces_with_the_labels_count() -> None:
    quota = make_quota("ns1", most={"cpu": 9}, selector={"matchLabels": {"team": "x"}})
    namespaces = (make_namespace("a", team="x"), make_namespace("b", team="y"), make_namespace("ns1"))
    pods = [pod("a", cpu=1), pod("b", cpu=2), pod("ns1", cpu=4)]
    assert used(quota, *pods, namespaces=namespaces) == {"cpu": "5"}


def test_pods_of_its_classes_alone_count() -> None:
    urgent = make_quota("ns1", most={"cpu": 9}, name="urgent", classes="high,urgent", made=YOUNG)
    rest = make_quota("ns1", most={"cpu": 9}, name="rest", made=OLD)
    pods = [pod(cpu=1, priority_class="high"), pod(cpu=2, priority_class="low"), pod(cpu=4)]
    assert status_of(urgent, pods, quotas=[urgent, rest])["used"] == {"cpu": "1"}
    assert status_of(rest, pods, quotas=[urgent, rest])["used"] == {"cpu": "6"}
    assert status_of(rest, pods)["used"] == {"cpu": "7"}


def conditions(quota: ElasticQuota, *others: ElasticQuota, namespaces: tuple[Namespace, ...] = ()) -> dict[str, str]:
    found = status_of(quota, [], namespaces, [quota, *others])["conditions"]
    return {each["type"]: f"{each['status']} {each['reason']}: {each['message']}" for each in found}


def test_a_quota_without_fault() -> None:
    assert conditions(BOTH) == {
        "Conflict": "False NoConflict: it applies to ns1",
        "Valid": "True BoundsAreValid: min is not greater than max for any resource",
    }


def test_of_two_quotas_in_a_namespace_the_older_counts_and_the_other_tells() -> None:
    old = make_quota("ns1", most={"cpu": 9}, name="old", made=OLD)
    young = make_quota("ns1", most={"cpu": 9}, name="young", made=YOUNG)
    pods = [pod(cpu=1)]
    assert status_of(old, pods, [], [young, old])["used"] == {"cpu": "1"}
    assert status_of(young, pods, [], [young, old])["used"] == {"cpu": "0"}
    assert conditions(old, young)["Conflict"] == "False NoConflict: it applies to ns1"
    assert conditions(young, old)["Conflict"] == (
        "True OlderQuota: namespace ns1 is covered by the older quota ns1/old: "
        "delete one of them, or let it select other namespaces"
    )


def test_a_selector_that_reaches_for_a_namespace_with_a_quota() -> None:
    shared = make_quota("team", name="shared", made=YOUNG, selector={})
    own = make_quota("a", made=OLD)
    found = conditions(shared, own, namespaces=(make_namespace("a"), make_namespace("b")))
    assert found["Conflict"].startswith("True OlderQuota: namespace a is covered by the older quota a/quota: ")


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param(
            "high,urgent", "False NoConflict: it applies to pods of high, urgent in ns1", id="others than those"
        ),
        pytest.param(
            "high,low",
            "True OlderQuota: pods of low in namespace ns1 are covered by the older quota ns1/old: "
            "delete one of them, or let it select other namespaces or name other classes",
            id="one of those",
        ),
        pytest.param("", "False NoConflict: it applies to no pods", id="none"),
    ],
)
def test_quotas_of_a_namespace_that_name_classes(classes: str, expected: str) -> None:
    old = make_quota("ns1", name="old", made=OLD, classes="low")
    rest = make_quota("ns1", name="rest", made=OLD)
    assert conditions(make_quota("ns1", classes=classes, made=YOUNG), old, rest)["Conflict"] == expected
    assert conditions(old, rest)["Conflict"] == "False NoConflict: it applies to pods of low in ns1"
    assert conditions(rest, old)["Conflict"] == "False NoConflict: it applies to ns1"


def test_of_equal_age_the_name_decides() -> None:
    one, other = make_quota("ns1", name="a", made=OLD), make_quota("ns1", name="b", made=OLD)
    assert conditions(one, other)["Conflict"].startswith("False")
    assert conditions(other, one)["Conflict"].startswith("True")


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        pytest.param(
            make_quota("ns1", {"cpu": 4, "memory": 1}, {"cpu": "3500m", "memory": 1}),
            "False MinAboveMax: cpu: 4 in min, 3500m in max; max applies",
            id="more is guaranteed than allowed",
        ),
        pytest.param(
            make_quota("ns1", {"cpu": "four"}),
            "False NotReadable: it is ignored: spec.min.cpu: 'four' is not a quantity: "
            "write it like 2, 0.5, 500m, 1e3 or 4Gi",
            id="an amount that is none",
        ),
        pytest.param(
            make_quota("ns1", most={"gpu": 4}),
            "False NotReadable: it is ignored: spec.max.gpu: pods cannot request such a resource",
            id="a resource that is none",
        ),
        pytest.param(
            make_quota("ns1", selector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
            'False NotReadable: it is ignored: spec.namespaceSelector: "Like" is not a valid label selector operator',
            id="a selector that is none",
        ),
        pytest.param(
            make_quota("ns1", classes="high;urgent"),
            "False NotReadable: it is ignored: metadata.annotations.quota.pilotage.dev/priority-classes: "
            "'high;urgent' is not the name of a priority class: write them like high,urgent",
            id="classes that are none",
        ),
    ],
)
def test_bounds_that_are_wrong(quota: ElasticQuota, expected: str) -> None:
    assert conditions(quota)["Valid"] == expected


def test_conditions_keep_their_times_and_those_of_others_stay() -> None:
    theirs = {"type": "Theirs", "status": "Unknown", "reason": "R", "message": "", "lastTransitionTime": "x"}
    quota = stored(BOTH, conditions=[theirs])
    table = table_of([quota], [])
    first = elastic_quotas.status_of(quota, lambda _: (), table, NOW)
    again = elastic_quotas.status_of(stored(BOTH, **first), lambda _: (), table, NOW + timedelta(hours=1))
    assert again == first
    assert [each["type"] for each in first["conditions"]] == ["Theirs", "Conflict", "Valid"]
    assert first["conditions"][1]["lastTransitionTime"] == "2026-03-01T00:00:00Z"
    assert first["observedGeneration"] == first["conditions"][1]["observedGeneration"] == BOTH.metadata.generation


def test_what_is_wrong_is_told_once_and_that_it_is_right_again() -> None:
    old = make_quota("ns1", most={"cpu": 9}, name="old", made=OLD)
    young = make_quota("ns1", most={"cpu": 9}, name="young", made=YOUNG)
    alone, second = status_of(young), status_of(young, quotas=[old, young])
    assert status_events(stored(young), alone) == []
    (told,) = status_events(stored(young, **alone), second)
    assert (told.severity, told.reason) == ("Warning", "OlderQuota")
    assert status_events(stored(young, **second), second) == []
    (told,) = status_events(stored(young, **second), alone)
    assert (told.severity, told.reason) == ("Normal", "NoConflict")


@pytest.mark.parametrize(
    ("one", "other", "is_news"),
    [
        pytest.param(pod(cpu=1, node=None, status=PENDING), pod(cpu=1, status=PENDING), True, id="a pod gets a node"),
        pytest.param(pod(cpu=1, status=PENDING), pod(cpu=1), False, id="a pod begins to run"),
        pytest.param(pod(cpu=1), pod(cpu=1, status={"phase": "Failed"}), True, id="a pod ends"),
        pytest.param(pod(cpu=1), pod(cpu=2), True, id="a pod is resized"),
        pytest.param(pod(node=None, status=PENDING), pod(node=None, labels={"a": "b"}), False, id="a pod that waits"),
        pytest.param(make_namespace("a", team="x"), make_namespace("a", team="y"), True, id="a namespace gets labels"),
        pytest.param(make_namespace("a"), make_namespace("a"), False, id="a namespace gets anything else"),
        pytest.param(BOTH, stored(BOTH, used={"cpu": "1"}), False, id="a quota gets a status"),
        pytest.param(BOTH, WITH_GPU, True, id="a quota gets other bounds"),
        pytest.param(make_quota("ns1"), make_quota("ns1", classes="high"), True, id="a quota gets other classes"),
    ],
)
def test_news(one: Any, other: Any, is_news: bool) -> None:
    assert (facts(one) != facts(other)) is is_news


class Settled:
    def __init__(self, table: QuotaTable) -> None:
        self.summary = table


def test_a_pod_concerns_the_quota_that_serves_it_alone() -> None:
    shared = make_quota("team", name="shared", made=YOUNG, selector={"matchLabels": {"team": "x"}})
    own, lost = make_quota("a", made=OLD), make_quota("a", name="lost", made=YOUNG)
    namespaces = [make_namespace("a", team="x"), make_namespace("b", team="x"), make_namespace("c")]
    settled = Settled(table_of([shared, own, lost], namespaces))
    found = {name: concerned(pod(name), settled) for name in ("a", "b", "c", "team")}
    assert found == {"a": ("a/quota",), "b": ("team/shared",), "c": (), "team": ("team/shared",)}
    urgent = make_quota("a", name="urgent", classes="high")
    among_them = Settled(table_of([shared, own, urgent], namespaces))
    assert concerned(pod("a", priority_class="high"), among_them) == ("a/urgent",)
    assert concerned(pod("a", priority_class="low"), among_them) == ("a/quota",)
    assert concerned(namespaces[0], settled) is None
    assert concerned(own, settled) is None
