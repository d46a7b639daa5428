import json
from typing import Any

import pytest

from pilotage.cluster.write.status_patch import StatusChange, eviction_condition, patch_body, waiting_condition
from pilotage.model.pod_status import PodStatus
from pilotage.testing import make_pod

NOW = 1_700_000_000.9
SECOND = "2023-11-14T22:13:20Z"


def status_with(**condition: Any) -> PodStatus:
    return make_pod(status={"conditions": [{"type": "Other", "status": "True"}, condition]}).status


WAITS = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
POD = make_pod("web", uid="u1", metadata={"generation": 3})


def waits(reason: str = "Unschedulable", message: str = "no room", nominate: str | None = None) -> StatusChange:
    return StatusChange(waiting_condition(POD, reason, message), nominate)


@pytest.mark.parametrize(
    ("change", "status", "condition", "nominate"),
    [
        pytest.param(waits(), PodStatus(), True, None, id="a first condition is written"),
        pytest.param(waits(), status_with(**WAITS), False, None, id="the same again is not"),
        pytest.param(
            waits(),
            status_with(**WAITS, observedGeneration=1),
            False,
            None,
            id="trap 44: not even if it was said of an older generation",
        ),
        pytest.param(waits(message="less room"), status_with(**WAITS), True, None, id="another message is written"),
        pytest.param(waits("SchedulerError"), status_with(**WAITS), True, None, id="another reason is written"),
        pytest.param(waits(), status_with(**{**WAITS, "status": "True"}), True, None, id="another status is written"),
        pytest.param(waits(nominate="n1"), status_with(**WAITS), False, "n1", id="a nomination alone is written"),
        pytest.param(
            waits(nominate="n1"), PodStatus(nominated_node_name="n1"), True, None, id="the same nomination is not"
        ),
        pytest.param(waits(nominate=""), PodStatus(), True, None, id="no nomination is not taken back"),
        pytest.param(
            waits(nominate=""), PodStatus(nominated_node_name="n1"), True, "", id="a nomination is taken back"
        ),
        pytest.param(waits(), PodStatus(nominated_node_name="n1"), True, None, id="a nomination is left alone"),
    ],
)
def test_what_is_left_to_write(change: StatusChange, status: PodStatus, condition: bool, nominate: str | None) -> None:
    left = change.beyond(status)
    assert (left.condition is not None, left.nominate) == (condition, nominate)
    assert bool(left) is (condition or nominate is not None)


@pytest.mark.parametrize(
    ("older", "newer", "message", "nominate"),
    [
        pytest.param(waits(message="a"), waits(message="b"), "b", None, id="the newer condition wins"),
        pytest.param(
            waits(message="a", nominate="n1"), waits(message="b"), "b", "n1", id="an older nomination is kept"
        ),
        pytest.param(waits(message="a", nominate="n1"), waits(message="b", nominate=""), "b", "", id="or taken back"),
        pytest.param(waits(message="a"), StatusChange(nominate="n2"), "a", "n2", id="an older condition is kept"),
    ],
)
def test_a_change_over_another(older: StatusChange, newer: StatusChange, message: str, nominate: str | None) -> None:
    merged = newer.over(older)
    assert merged.condition is not None
    assert (merged.condition.message, merged.nominate) == (message, nominate)


@pytest.mark.parametrize(
    ("change", "status", "expected"),
    [
        pytest.param(
            waits(),
            PodStatus(),
            {"conditions": [{**WAITS, "observedGeneration": 3, "lastTransitionTime": SECOND}]},
            id="a first condition says since when",
        ),
        pytest.param(
            waits("SchedulerError"),
            status_with(**WAITS),
            {"conditions": [{**WAITS, "reason": "SchedulerError", "observedGeneration": 3}]},
            id="while the status stays, so does its time",
        ),
        pytest.param(
            waits(),
            status_with(**{**WAITS, "status": "True"}),
            {"conditions": [{**WAITS, "observedGeneration": 3, "lastTransitionTime": SECOND}]},
            id="a changed status says since when",
        ),
        pytest.param(
            waits(),
            status_with(type="Ready"),
            {
                "conditions": [{**WAITS, "observedGeneration": 3, "lastTransitionTime": SECOND}],
                "$setElementOrder/conditions": [{"type": "Other"}, {"type": "Ready"}, {"type": "PodScheduled"}],
            },
            id="a first condition comes after the others",
        ),
        pytest.param(StatusChange(nominate="n1"), PodStatus(), {"nominatedNodeName": "n1"}, id="a nomination"),
        pytest.param(StatusChange(nominate=""), PodStatus(), {"nominatedNodeName": None}, id="a nomination taken back"),
    ],
)
def test_the_patch(change: StatusChange, status: PodStatus, expected: Any) -> None:
    assert json.loads(patch_body("u1", change, status, NOW)) == {"metadata": {"uid": "u1"}, "status": expected}


def test_trap_9_the_message_is_not_cut() -> None:
    (condition,) = json.loads(patch_body("u1", waits(message="x" * 5000), PodStatus(), NOW))["status"]["conditions"]
    assert condition["message"] == "x" * 5000


def test_a_server_without_generations_gets_none() -> None:
    change = StatusChange(waiting_condition(make_pod(), "Unschedulable", "no room"))
    (condition,) = json.loads(patch_body("u1", change, PodStatus(), NOW))["status"]["conditions"]
    assert "observedGeneration" not in condition


@pytest.mark.parametrize("preemptor", ["pod", "podgroup"])
def test_a_victim_is_told_who_and_why(preemptor: str) -> None:
    condition = eviction_condition(POD, "batch", preemptor)
    assert condition.message == f"batch: preempting to accommodate a higher priority {preemptor}"
    assert (condition.type, condition.status, condition.reason) == (
        "DisruptionTarget",
        "True",
        "PreemptionByScheduler",
    )
