"""Elastic quotas in numbers."""

from typing import Any

import pytest

from pilotage.kinds.elastic_quota import PRIORITY_CLASSES, ElasticQuota
from pilotage.kinds.quota_accounting import (
    Cohort,
    Contest,
    Excess,
    QuotaLedger,
    beyond,
    counts_as,
    is_charged,
    quantity_text,
    read_quota,
    table_of,
    told,
)
from pilotage.kinds.workloads import Namespace
from pilotage.testing import make_pod
from pilotage.testing.quotas import make_namespace, make_quota

GPU = "nvidia.com/gpu"
OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
USED, REQUEST = {"cpu": 10, "memory": 10}, {"cpu": 10, "memory": 10, GPU: 5}


def test_vector_6_a_resource_that_min_leaves_out_is_not_over_it() -> None:
    """The original takes what is missing in min for 0; in max it has no limit, as here."""
    bounds = {"cpu": 3000, "memory": 100}
    assert beyond(REQUEST, USED, bounds) == []
    assert beyond(REQUEST, USED, bounds | {GPU: 0}) == [Excess(GPU, 5, 0)]


@pytest.mark.parametrize(
    ("request_of_pod", "used", "expected"),
    [
        pytest.param({"cpu": 1}, {"cpu": 3}, [], id="as much as the bound is not over it"),
        pytest.param({"cpu": 2}, {"cpu": 3}, [Excess("cpu", 5, 4)], id="more than the bound is"),
        pytest.param({"cpu": 0}, {"cpu": 9}, [], id="who asks for nothing is not over"),
        pytest.param({"memory": 9}, {}, [], id="what has no bound is not over"),
    ],
)
def test_beyond(request_of_pod: dict[str, int], used: dict[str, int], expected: list[Excess]) -> None:
    assert beyond(request_of_pod, used, {"cpu": 4}) == expected


def test_what_is_over_is_told() -> None:
    line = told([Excess("cpu", 7000, 6000), Excess("memory", 3 << 30, 1 << 31)], "used", "allowed")
    assert line == "cpu: 7 used, 6 allowed; memory: 3Gi used, 2Gi allowed"


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 0, "0"),
        ("memory", 1 << 30, "1Gi"),
        ("ephemeral-storage", 1000, "1k"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        (GPU, 1024, "1024"),
        ("pods", 3, "3"),
    ],
)
def test_amounts_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert quantity_text(resource, amount) == text


def test_what_a_pod_counts_as() -> None:
    pod = make_pod(cpu=1, sidecars=[{"cpu": "200m"}], init=[{"memory": 7}], overhead={"memory": 1})
    assert counts_as(pod) == {"cpu": 1200, "memory": 8, "pods": 1}


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        pytest.param({}, False, id="a pod without a node"),
        pytest.param({"node": "n1"}, True, id="a pod with one, though it has not begun"),
        pytest.param({"node": "n1", "metadata": {"deletionTimestamp": OLD}}, True, id="a pod that is leaving"),
        pytest.param({"node": "n1", "status": {"phase": "Succeeded"}}, False, id="a pod that has ended"),
        pytest.param({"node": "n1", "status": {"phase": "Failed"}}, False, id="a pod that has failed"),
    ],
)
def test_who_counts(fields: dict[str, Any], counts: bool) -> None:
    assert is_charged(make_pod(**fields)) is counts


def test_bounds() -> None:
    quota = read_quota(make_quota("ns", {"cpu": "500m", "memory": -1}, {"cpu": 1.5, GPU: 2, "pods": "1e1"}))
    assert quota.min == {"cpu": 500, "memory": 0}
    assert quota.max == {"cpu": 1500, GPU: 2, "pods": 10}
    assert quota.named == {"cpu", "memory", GPU, "pods"}
    assert quota.faults == ()


def test_bounds_past_64_bits_are_bounds_all_the_same() -> None:
    quota = read_quota(make_quota("ns", most={"memory": "999E", "cpu": "1e99"}))
    assert beyond({"memory": 1, "cpu": 1}, {"memory": 1 << 62, "cpu": 1 << 62}, quota.max) == []


def serving(*quotas: ElasticQuota, namespaces: tuple[Namespace, ...] = ()) -> dict[str, str]:
    table = table_of(quotas, namespaces)
    return {cohort.namespace: quota.key for cohort, quota in table.serving.items()}


TEAM = {"matchLabels": {"team": "x"}}
SPACES = (make_namespace("a", team="x"), make_namespace("b", team="x"), make_namespace("c"))


def test_a_quota_serves_its_namespace_and_those_with_its_labels() -> None:
    shared = make_quota("c", selector=TEAM)
    assert serving(shared, namespaces=SPACES) == {"a": "c/quota", "b": "c/quota", "c": "c/quota"}


def test_an_empty_selector_serves_all() -> None:
    assert serving(make_quota("zoo", selector={}), namespaces=SPACES).keys() == {"a", "b", "c", "zoo"}


def test_of_several_the_oldest_serves() -> None:
    own, shared = make_quota("a", made=YOUNG), make_quota("c", made=OLD, selector=TEAM)
    table = table_of([own, shared], SPACES)
    assert {cohort.namespace: quota.key for cohort, quota in table.serving.items()} == dict.fromkeys("abc", "c/quota")
    assert table.contests == {"a/quota": (Contest(Cohort("a"), "c/quota"),)}
    assert table.in_force == {"c/quota": {"a", "b", "c"}}


URGENT = make_quota("a", name="urgent", made=YOUNG, classes="high, urgent")
REST = make_quota("a", name="rest", made=OLD)


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        pytest.param([URGENT], {"high": "a/urgent", "urgent": "a/urgent"}, id="those of its classes alone"),
        pytest.param(
            [URGENT, REST],
            {"high": "a/urgent", "urgent": "a/urgent", "low": "a/rest", "": "a/rest"},
            id="before an older one that names no class",
        ),
        pytest.param(
            [URGENT, make_quota("b", made=OLD, classes="urgent,low", selector=TEAM)],
            {"high": "a/urgent", "urgent": "b/quota", "low": "b/quota"},
            id="of two that name a class the older",
        ),
        pytest.param([make_quota("a", classes="high,,High")], {"high": "a/quota"}, id="what can be read counts"),
        pytest.param([make_quota("a", classes="")], {}, id="one that names nobody is not for everybody"),
    ],
)
def test_which_quota_serves_the_pods_of_a_class(quotas: list[ElasticQuota], expected: dict[str, str]) -> None:
    table = table_of(quotas, SPACES)
    found = {name: table.quota_of(Cohort("a", name)) for name in ("", "low", "high", "urgent")}
    assert {name: quota.key for name, quota in found.items() if quota is not None} == expected


def test_quotas_that_name_the_same_class_are_at_odds() -> None:
    table = table_of([URGENT, REST, make_quota("b", made=OLD, classes="urgent,low", selector=TEAM)], SPACES)
    assert table.contests == {"a/urgent": (Contest(Cohort("a", "urgent"), "b/quota"),)}
    assert table.in_force == {"a/rest": {"a"}, "a/urgent": {"a"}, "b/quota": {"a", "b"}}


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        pytest.param("high,urgent", [], id="names"),
        pytest.param(" high , high", [], id="spaces, and a name twice"),
        pytest.param("", [""], id="nothing"),
        pytest.param("high,", [""], id="nothing after a comma"),
        pytest.param("high;urgent,Top", ["high;urgent", "Top"], id="no names"),
        pytest.param("x" * 300, ["x" * 80], id="one that is too long"),
    ],
)
def test_classes_that_cannot_be_read_are_told(written: str, wrong: list[str]) -> None:
    assert read_quota(make_quota("a", classes=written)).faults == tuple(
        f"metadata.annotations.{PRIORITY_CLASSES}: '{name}' is not the name of a priority class: "
        "write them like high,urgent"
        for name in wrong
    )


def test_pods_count_for_their_class_whichever_quota_comes_first() -> None:
    ledger = QuotaLedger()
    for name in ("high", "low", "high"):
        ledger.place(make_pod(namespace="a", cpu=1, node="n1", priority_class=name))
    both = [make_quota("a", {"cpu": 1}, classes="high", name="h"), make_quota("a", {"cpu": 1}, name="rest")]
    for quotas, expected in (([both[1]], {"a/rest": 3}), (both, {"a/h": 2, "a/rest": 1}), ([both[0]], {"a/h": 2})):
        table = table_of(quotas, ())
        ledger.settle(table)
        assert {quota.key: ledger.used(quota)["cpu"] for quota in table.quotas} == {
            key: cores * 1000 for key, cores in expected.items()
        }
        assert ledger.used_in_all == {"cpu": sum(expected.values()) * 1000}


def test_a_quota_that_serves_nobody_guarantees_nothing() -> None:
    ledger = QuotaLedger()
    ledger.settle(table_of([make_quota("a", {"cpu": 1}, made=OLD), make_quota("a", {"cpu": 2}, name="late")], ()))
    assert ledger.guaranteed_in_all == {"cpu": 1000}


def test_a_quota_without_a_time_comes_after_those_with_one() -> None:
    assert serving(make_quota("a", name="a"), make_quota("a", name="b", made=YOUNG)) == {"a": "a/b"}


def test_nothing_is_left_of_pods_that_are_gone() -> None:
    ledger, pod = QuotaLedger(), make_pod(namespace="a", cpu=1, node="n1")
    ledger.settle(table_of([make_quota("a", {"cpu": 1})], ()))
    ledger.place(pod)
    assert ledger.used_in_all == {"cpu": 1000}
    ledger.take_away(pod)
    assert (ledger.used_in_all, ledger._by_cohort, ledger._by_quota) == ({}, {}, {"a/quota": {}})
