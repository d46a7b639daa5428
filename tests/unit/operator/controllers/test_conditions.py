"""A condition keeps the time at which its status changed, whoever says it and however often."""

from datetime import UTC, datetime
from typing import Any

import pytest

from pilotage_operator.controllers.conditions import with_times

NOW = datetime(2030, 1, 10, tzinfo=UTC)
KNOWN = {"conditions": [{"type": "Ready", "status": "True", "reason": "A", "lastTransitionTime": "then"}]}


@pytest.mark.parametrize(
    ("wanted", "time"),
    [
        pytest.param({"status": "True", "reason": "B"}, "then", id="another reason is no change of the status"),
        pytest.param({"status": "True", "lastTransitionTime": "now"}, "then", id="whatever time it comes with"),
        pytest.param({"status": "False"}, "2030-01-10T00:00:00Z", id="another status"),
        pytest.param({"status": "False", "lastTransitionTime": "soon"}, "soon", id="another status with its time"),
    ],
)
def test_times(wanted: dict[str, Any], time: str) -> None:
    (found,) = with_times(KNOWN, {"conditions": [{"type": "Ready", **wanted}]}, NOW)["conditions"]
    assert found == {"type": "Ready", **wanted, "lastTransitionTime": time}


def test_a_status_without_conditions_is_left_alone() -> None:
    assert with_times(KNOWN, {"phase": "x"}, NOW) == {"phase": "x"}
