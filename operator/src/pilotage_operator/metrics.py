"""The operator's metrics: its health, and the conditions of the profiles that its release serves."""

from collections.abc import Iterable, Iterator
from importlib.metadata import version

from pilotage.telemetry.exposition import header, labels_text, sample
from pilotage_operator.profiles.past import past_of
from pilotage_operator.profiles.world import StoredProfile

BUILD_INFO, ROUND_AGE = "pilotage_operator_build_info", "pilotage_operator_round_age_seconds"
CONDITION = "pilotage_operator_profile_condition"
# Alerts and dashboards use these; a test compares them.
LABELS = {
    BUILD_INFO: ("version",),
    ROUND_AGE: (),
    CONDITION: ("profile", "condition", "status", "reason"),
}
_KINDS = {
    BUILD_INFO: "The version; always 1.",
    ROUND_AGE: "Seconds since the last completed reconciliation.",
    CONDITION: "The conditions of each profile of the release, by status and reason; always 1.",
}


def metrics_text(profiles: Iterable[StoredProfile], instance: str, round_age: float) -> str:
    """Return all metrics in Prometheus' format."""
    samples: dict[str, list[tuple[tuple[str, ...], float]]] = {
        BUILD_INFO: [((version("pilotage-operator"),), 1.0)],
        ROUND_AGE: [((), round_age)],
        CONDITION: [(labels, 1.0) for labels in _conditions(profiles, instance)],
    }
    return "".join(
        header(name, "gauge", _KINDS[name])
        + "".join(sample(name, labels_text(LABELS[name], labels), value) for labels, value in found)
        for name, found in samples.items()
    )


def _conditions(profiles: Iterable[StoredProfile], instance: str) -> Iterator[tuple[str, ...]]:
    for profile in sorted(profiles, key=lambda profile: profile.name):
        past = past_of(profile.status)
        if past.instance == instance and not profile.metadata.deletion_timestamp:
            for condition in past.conditions.values():
                yield profile.name, condition.type, condition.status, condition.reason
