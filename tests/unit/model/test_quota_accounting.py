"""Elastic quotas in numbers."""

from typing import Any

import pytest

from pilotage.model.elastic_quota import ElasticQuota
from pilotage.model.objects import Namespace
from pilotage.model.quota_accounting import (
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
    return {namespace: quota.key for namespace, quota in table.serving.items()}


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
    assert {namespace: quota.key for namespace, quota in table.serving.items()} == dict.fromkeys("abc", "c/quota")
    assert table.contests == {"a/quota": (Contest("a", "c/quota"),)}
    assert table.in_force == {"c/quota": {"a", "b", "c"}}


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
    assert (ledger.used_in_all, ledger._by_namespace, ledger._by_quota) == ({}, {}, {"a/quota": {}})
