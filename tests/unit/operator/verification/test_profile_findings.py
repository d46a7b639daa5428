"""helm test is green only if every profile of the release is Ready as it is stored now."""

from typing import Any

import pytest

from pilotage_operator.profiles.world import KeptProfile, Metadata, StoredProfile
from pilotage_operator.settings import settings_for
from pilotage_operator.verification.profiles import about_profiles

SETTINGS = settings_for("team", "mine")
OURS = {"app.kubernetes.io/managed-by": "pilotage-operator", "pilotage.dev/release": "team.mine"}
THEIRS = OURS | {"pilotage.dev/release": "team.other"}
KEPT = (KeptProfile("batch", {}),)


def condition(kind: str, status: str, reason: str, message: str, generation: int = 3) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2030-01-01T00:00:00Z",
        "observedGeneration": generation,
    }


def stored(
    name: str = "batch",
    *conditions: dict[str, Any],
    labels: dict[str, str] = OURS,
    instance: str = "team/mine",
    observed: int = 3,
) -> StoredProfile:
    status = {"instance": instance, "observedGeneration": observed, "conditions": list(conditions)}
    return StoredProfile(Metadata(name=name, generation=3, labels=labels), {}, status if instance else None)


READY = condition("Ready", "True", "Acknowledged", "all replicas run it")
NOT_ACCEPTED = (
    condition("Accepted", "False", "UnknownPlugin", "unknown plugin"),
    condition("Ready", "False", "NotAccepted", "UnknownPlugin: unknown plugin"),
)
ROLLED_BACK = (
    condition("Accepted", "True", "Accepted", "it can run"),
    condition("Ready", "False", "RolledBack", "Refused: no"),
    condition("RolledBack", "True", "Refused", "no"),
)


@pytest.mark.parametrize(
    ("profiles", "expected", "remedy", "may_pass"),
    [
        pytest.param(
            [stored("batch", *NOT_ACCEPTED)],
            "profile batch, generation 3: Ready=False, NotAccepted: UnknownPlugin: unknown plugin",
            "Correct the name as the message suggests",
            False,
            id="a spec that cannot run",
        ),
        pytest.param(
            [stored("batch", *ROLLED_BACK)],
            "profile batch, generation 3: Ready=False, RolledBack: Refused: no",
            "Correct the spec.",
            False,
            id="a spec that was taken back",
        ),
        pytest.param(
            [stored("batch", condition("Ready", "False", "Waiting", "not all replicas run it yet"))],
            "profile batch, generation 3: Ready=False, Waiting: not all replicas run it yet",
            "Wait;",
            True,
            id="a replica that is late",
        ),
        pytest.param(
            [stored("batch", condition("Ready", "True", "Acknowledged", "", generation=2))],
            "profile batch: the operator has not processed generation 3 yet",
            "kubectl -n team logs deployment/mine-operator",
            True,
            id="an edit that nobody has seen",
        ),
        pytest.param(
            [stored("batch", READY, observed=2)],
            "profile batch: the operator has not processed generation 3 yet",
            "kubectl -n team logs deployment/mine-operator",
            True,
            id="a status of an earlier generation",
        ),
        pytest.param(
            [stored("batch", instance="")],
            "profile batch: the operator has not processed generation 3 yet",
            "kubectl -n team logs deployment/mine-operator",
            True,
            id="no status at all",
        ),
        pytest.param(
            [],
            "profile batch of the values has not been created yet",
            "kubectl -n team logs deployment/mine-operator",
            True,
            id="a profile that nobody made",
        ),
        pytest.param(
            [stored("batch", READY, labels=THEIRS, instance="team/other")],
            "profile batch belongs to another release, and that of the values has not been created yet",
            "kubectl -n team logs deployment/mine-operator",
            True,
            id="a profile of another release, which is Ready",
        ),
        pytest.param(
            [stored("batch", READY, instance="team/other")],
            "profile batch is served by the release team/other, not by team/mine",
            "Set its spec.instance to this release",
            False,
            id="our profile, which another release serves",
        ),
        pytest.param(
            [stored("batch", READY), stored("applied", *ROLLED_BACK, labels={})],
            "profile applied, generation 3: Ready=False, RolledBack: Refused: no",
            "Correct the spec.",
            False,
            id="a profile that somebody applied and this release serves",
        ),
    ],
)
def test_what_is_not_well(profiles: list[StoredProfile], expected: str, remedy: str, may_pass: bool) -> None:
    (bad,) = [each for each in about_profiles(profiles, KEPT, SETTINGS).values() if not each.is_well]
    assert bad.sentence == expected
    assert remedy in bad.remedy
    assert bad.may_pass is may_pass
    assert str(bad) == f"FAILED: {bad.sentence}\n    fix: {bad.remedy}"


def test_a_profile_under_its_second_name_counts_for_the_values() -> None:
    duplicate = condition("Accepted", "False", "DuplicateSchedulerName", "taken")
    ready = condition("Ready", "False", "NotAccepted", "DuplicateSchedulerName: taken")
    profiles = [
        stored("batch", READY, labels=THEIRS, instance="team/other"),
        stored("batch.team.mine", duplicate, ready),
    ]
    (found,) = about_profiles(profiles, KEPT, SETTINGS).values()
    assert (
        found.sentence
        == "profile batch.team.mine, generation 3: Ready=False, NotAccepted: DuplicateSchedulerName: taken"
    )
    assert "scheduler.name" in found.remedy


def test_everything_is_well() -> None:
    profiles = [
        stored("batch", READY),
        stored("applied", READY, labels={}),
        stored("foreign", *NOT_ACCEPTED, labels={}, instance="team/other"),
    ]
    assert [str(each) for each in about_profiles(profiles, KEPT, SETTINGS).values()] == [
        "ok: profile batch is Ready at generation 3: all replicas run it",
        "ok: profile applied is Ready at generation 3: all replicas run it",
    ]
