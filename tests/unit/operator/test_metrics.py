"""What the operator tells Prometheus."""

import re
from typing import Any

from pilotage_operator.metrics import CONDITION, LABELS, metrics_text
from pilotage_operator.profiles.world import Metadata, StoredProfile


def condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    when = {"lastTransitionTime": "2030-01-01T00:00:00Z", "observedGeneration": 1}
    return {"type": kind, "status": status, "reason": reason, "message": "m"} | when


def stored(name: str, instance: str, *conditions: dict[str, Any], **metadata: Any) -> StoredProfile:
    status = {"instance": instance, "conditions": list(conditions)}
    return StoredProfile(Metadata(name=name, **metadata), {}, status)


PROFILES = [
    stored("web", "sys/pilot", condition("Accepted", "True", "Accepted"), condition("Ready", "True", "Acknowledged")),
    stored("batch", "sys/pilot", condition("Accepted", "False", "UnknownPlugin")),
    stored("theirs", "sys/other", condition("Accepted", "False", "Invalid")),
    stored("going", "sys/pilot", condition("Accepted", "False", "Invalid"), deletion_timestamp="2030-01-01T00:00:00Z"),
    StoredProfile(Metadata(name="new")),
]


def test_conditions_of_the_releases_own_profiles() -> None:
    lines = [line for line in metrics_text(PROFILES, "sys/pilot", 1.5).splitlines() if line.startswith(CONDITION)]
    assert lines == [
        f'{CONDITION}{{profile="batch",condition="Accepted",status="False",reason="UnknownPlugin"}} 1',
        f'{CONDITION}{{profile="web",condition="Accepted",status="True",reason="Accepted"}} 1',
        f'{CONDITION}{{profile="web",condition="Ready",status="True",reason="Acknowledged"}} 1',
    ]


def test_that_it_works() -> None:
    text = metrics_text([], "sys/pilot", 1.5)
    assert 'pilotage_operator_build_info{version="' in text
    assert "\npilotage_operator_round_age_seconds 1.5\n" in text


def test_every_metric_is_described_and_has_the_labels_that_it_says() -> None:
    text = metrics_text(PROFILES, "sys/pilot", 0.0)
    assert re.findall(r"^# HELP (\S+) ", text, re.MULTILINE) == list(LABELS)
    assert set(re.findall(r"^(\w+)[{ ]", text, re.MULTILINE)) == set(LABELS)
    for name, labels in LABELS.items():
        assert f"# TYPE {name} gauge\n" in text
        line = next(line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{")))
        assert [part.partition("=")[0] for part in line.partition("{")[2].split(",") if "=" in part] == list(labels)
