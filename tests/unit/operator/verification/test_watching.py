"""For how long a release is looked at, and what is said when it cannot be."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest

from pilotage.scheduler_profiles.resource import PATH as PROFILES
from pilotage_operator.cluster import NotReachable, Refused, WorldChanged
from pilotage_operator.settings import settings_for
from pilotage_operator.verification import watching
from pilotage_operator.verification.watching import Verification, verify

LABELS = {"app.kubernetes.io/managed-by": "pilotage-operator", "pilotage.dev/release": "team.mine"}
POD = {
    "metadata": {"name": "mine-test-0-x", "uid": "1"},
    "spec": {"schedulerName": "batch", "nodeName": "n1"},
}
EVENT = {"reason": "Scheduled", "reportingInstance": "batch-mine-scheduler-a", "regarding": {"uid": "1"}}


def profile(status: str, reason: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "reason": reason, "message": "m", "observedGeneration": 1}
    condition["lastTransitionTime"] = "2030-01-01T00:00:00Z"
    metadata = {"name": "batch", "generation": 1, "labels": LABELS}
    return {
        "metadata": metadata,
        "spec": {},
        "status": {"instance": "team/mine", "observedGeneration": 1, "conditions": [condition]},
    }


class Playing:
    """A cluster whose profile has one state after the other; what is an exception is raised."""

    def __init__(self, *states: dict[str, Any] | Exception) -> None:
        self.states, self.looks, self.client = list(states), 0, self

    async def get(self, path: str, query: dict[str, str] | None = None) -> bytes:
        if path == PROFILES:
            state = self.states[min(self.looks, len(self.states) - 1)]
            self.looks += 1
            if isinstance(state, Exception):
                raise state
            return msgspec.json.encode({"items": [state]})
        if path.endswith("/events"):
            return msgspec.json.encode({"items": [EVENT]})
        items = [POD] if query == {"labelSelector": "tests"} else [{"metadata": {"name": "mine-scheduler-a"}}]
        return msgspec.json.encode({"items": items})

    async def asked(self, request: Awaitable[bytes]) -> bytes:
        return await request


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(watching, "PATIENCE_WITH_VERDICTS", 0.05)


@pytest.fixture
def values(tmp_path: Path) -> Path:
    file = tmp_path / "profiles.yaml"
    file.write_text("[{name: batch, spec: {}}]")
    return file


def found(playing: Playing, values: Path, seconds: float) -> list[str]:
    settings = settings_for("team", "mine", values_file=values)
    given = Verification(settings, "tests", seconds)
    return [str(each) for each in asyncio.run(verify(playing, given))]  # type: ignore[arg-type] # as far as is asked


def test_what_is_under_way_is_waited_for(values: Path) -> None:
    playing = Playing(profile("False", "Waiting"), NotReachable("busy"), profile("True", "Acknowledged"))
    assert found(playing, values, 30) == [
        "ok: profile batch is Ready at generation 1: m",
        "ok: pod mine-test-0-x of scheduler batch was placed on n1 by mine-scheduler-a",
    ]
    assert playing.looks == 3


@pytest.mark.parametrize("reason", ["NotAccepted", "RolledBack"])
def test_a_verdict_is_not_waited_for_to_the_end(values: Path, reason: str) -> None:
    started = monotonic()
    said = found(Playing(profile("False", reason)), values, 30)
    assert monotonic() - started < 10
    assert [line.splitlines()[0] for line in said] == [f"FAILED: profile batch, generation 1: Ready=False, {reason}: m"]


def test_time_is_up(values: Path) -> None:
    playing = Playing(profile("False", "Waiting"))
    assert "Ready=False, Waiting: m" in found(playing, values, 0.2)[0]
    assert playing.looks > 3


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        pytest.param(Refused("no"), "the test is not allowed to read: no", id="no right"),
        pytest.param(WorldChanged("404"), "SchedulerProfiles are not served: 404", id="no CRD"),
        pytest.param(NotReachable("busy"), "the API server does not respond: busy", id="no answer"),
    ],
)
def test_what_keeps_it_from_looking_is_said(values: Path, failure: Exception, expected: str) -> None:
    (said,) = found(Playing(failure), values, 0.1)
    assert said.startswith(f"FAILED: {expected}\n    fix: ")


def test_a_profile_that_the_values_give_to_another_release_is_its_business(values: Path) -> None:
    values.write_text("[{name: batch, spec: {}}, {name: theirs, spec: {instance: team/other}}]")
    assert all(line.startswith("ok: ") for line in found(Playing(profile("True", "Acknowledged")), values, 0.1))


def test_a_release_that_serves_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "profiles.yaml"
    empty.write_text("[]")
    foreign = profile("True", "Acknowledged")
    foreign["status"]["instance"] = "team/other"
    (said,) = found(Playing(foreign), empty, 0.05)
    assert said.startswith("FAILED: the release team/mine serves no profile")
