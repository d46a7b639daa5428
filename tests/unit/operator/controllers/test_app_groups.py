"""What the status of an AppGroup says, whatever its author wrote."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from pilotage.model.pod import Pod
from pilotage.testing import make_pod
from pilotage.testing.network import make_app_group, make_member
from pilotage_operator.controllers.app_groups import StoredAppGroup, status_of

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
LATER = datetime(2026, 5, 4, 13, 0, 0, tzinfo=UTC)
CHAIN: dict[str, list[str]] = {"p1": ["p2"], "p2": ["p3"], "p3": []}


def stored(talks: Any, algorithm: str = "KahnSort", status: Any = None) -> StoredAppGroup:
    plain = msgspec.to_builtins(make_app_group("basic", talks, algorithm=algorithm))
    plain["metadata"]["generation"] = 7
    plain["status"] = status or {}
    return msgspec.convert(plain, StoredAppGroup)


def running(name: str, group: str = "basic", phase: str = "Running", **fields: Any) -> Pod:
    return make_member(name, group, "p1", status={"phase": phase}, **fields)


def indices(status: dict[str, Any]) -> dict[str, int]:
    return {entry["workload"]["selector"]: entry["index"] for entry in status["topologyOrder"]}


def test_the_whole_status() -> None:
    assert status_of(stored({"b": ["a"], "a": []}), [running("one")], NOW) == {
        "runningWorkloads": 1,
        "topologyOrder": [
            {
                "workload": {
                    "kind": "Deployment",
                    "name": "a-deployment",
                    "selector": "a",
                    "apiVersion": "apps/v1",
                },
                "index": 2,
            },
            {
                "workload": {
                    "kind": "Deployment",
                    "name": "b-deployment",
                    "selector": "b",
                    "apiVersion": "apps/v1",
                },
                "index": 1,
            },
        ],
        "topologyCalculationTime": "2026-05-04T12:00:00Z",
        "observedGeneration": 7,
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "reason": "Sorted",
                "message": "every workload is in the topology order",
                "lastTransitionTime": "2026-05-04T12:00:00Z",
                "observedGeneration": 7,
            }
        ],
    }


@pytest.mark.parametrize(
    ("pods", "count"),
    [
        pytest.param([], 0, id="nobody"),
        pytest.param([running("a"), running("b")], 2, id="two that run"),
        pytest.param([running("a"), running("b", namespace="other")], 2, id="in any namespace"),
        pytest.param([running("a", phase="Pending"), running("b", phase="Succeeded")], 0, id="that do not run"),
        pytest.param([running("a", group="another"), make_pod("b", status={"phase": "Running"})], 0, id="of others"),
    ],
)
def test_pods_that_run_are_counted(pods: list[Pod], count: int) -> None:
    assert status_of(stored(CHAIN), pods, NOW)["runningWorkloads"] == count


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("KahnSort", {"cart": 2, "mail": 5, "pay": 3, "store": 4, "web": 1}),
        ("TarjanSort", {"cart": 2, "mail": 5, "pay": 4, "store": 3, "web": 1}),
        ("ReverseKahn", {"cart": 4, "mail": 1, "pay": 3, "store": 2, "web": 5}),
        ("ReverseTarjan", {"cart": 4, "mail": 1, "pay": 2, "store": 3, "web": 5}),
        ("AlternateKahn", {"cart": 3, "mail": 2, "pay": 5, "store": 4, "web": 1}),
        ("AlternateTarjan", {"cart": 3, "mail": 2, "pay": 4, "store": 5, "web": 1}),
    ],
)
def test_indices_by_algorithm_sorted_by_selector(algorithm: str, expected: dict[str, int]) -> None:
    shop: dict[str, list[str]] = {"web": ["cart", "pay"], "cart": ["store"], "pay": ["mail"], "store": [], "mail": []}
    found = indices(status_of(stored(shop, algorithm), [], NOW))
    assert found == expected
    assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("talks", "algorithm", "order", "reason", "told"),
    [
        pytest.param({}, "KahnSort", {}, "NoWorkloads", "spec.workloads is empty", id="no workloads"),
        pytest.param(
            {"b": ["a"], "a": ["b"]}, "TarjanSort", {"b": 1, "a": 2}, "DependencyCycle", "(b -> a -> b)", id="a circle"
        ),
        pytest.param(
            {"a": ["z"]}, "KahnSort", {"a": 1}, "UnknownDependency", '"a" depends on "z"', id="an unknown dependency"
        ),
        pytest.param({"a": ["a"]}, "KahnSort", {"a": 1}, "SelfDependency", '"a" depends on itself', id="itself"),
        pytest.param({"": []}, "KahnSort", {}, "MissingSelector", "spec.workloads[0]", id="no selector"),
        pytest.param({"a": []}, "Best", {"a": 1}, "UnknownAlgorithm", 'Algorithm "Best" is unknown', id="no algorithm"),
    ],
)
def test_a_bad_description_is_told_and_sorted_as_far_as_possible(
    talks: Any, algorithm: str, order: dict[str, int], reason: str, told: str
) -> None:
    status = status_of(stored(talks, algorithm), [], NOW)
    assert indices(status) == order
    (condition,) = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Accepted", "False", reason)
    assert told in condition["message"]


def test_an_empty_object_is_no_error() -> None:
    group = msgspec.convert({"metadata": {"name": "basic", "namespace": "default"}}, StoredAppGroup)
    status = status_of(group, [running("a")], NOW)
    assert (status["runningWorkloads"], status["topologyOrder"]) == (1, [])


def test_duplicate_selectors_have_one_place() -> None:
    group = stored({"a": ["b"], "b": []})
    group.spec = msgspec.structs.replace(group.spec, workloads=(*group.spec.workloads, *group.spec.workloads))
    status = status_of(group, [], NOW)
    assert indices(status) == {"a": 1, "b": 2}
    assert status["conditions"][0]["reason"] == "DuplicateSelector"


def test_many_complaints_are_cut_short() -> None:
    status = status_of(stored({"a": [f"z{i}" for i in range(500)]}), [], NOW)
    message = status["conditions"][0]["message"]
    assert message.endswith('depends on "z4", which spec.workloads does not have; and 495 more')


def test_the_same_again_changes_nothing() -> None:
    first = status_of(stored(CHAIN), [running("a")], NOW)
    assert status_of(stored(CHAIN, status=first), [running("b")], LATER) == first


def test_a_new_order_has_a_new_time_and_a_new_complaint_a_new_transition() -> None:
    first = status_of(stored(CHAIN), [], NOW)
    turned = status_of(stored(CHAIN, "ReverseKahn", first), [], LATER)
    assert turned["topologyCalculationTime"] == "2026-05-04T13:00:00Z"
    assert turned["conditions"] == first["conditions"]
    broken = status_of(stored(CHAIN, "Best", first), [], LATER)
    assert broken["topologyCalculationTime"] == "2026-05-04T12:00:00Z"
    assert broken["conditions"][0]["lastTransitionTime"] == "2026-05-04T13:00:00Z"


def test_conditions_of_others_stay() -> None:
    other = {"type": "Mine", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "x"}
    found = status_of(stored(CHAIN, status={"conditions": [other]}), [], NOW)["conditions"]
    assert found[0] == other
    assert [each["type"] for each in found] == ["Mine", "Accepted"]
