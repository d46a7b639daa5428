"""Checks whether the profiles of a release are Ready."""

from collections.abc import Iterator, Mapping, Sequence

from pilotage.scheduler_profiles.resource import Condition
from pilotage_operator.profiles.kept import is_ours, second_name
from pilotage_operator.profiles.past import Past, past_of
from pilotage_operator.profiles.world import KeptProfile, StoredProfile
from pilotage_operator.settings import Settings
from pilotage_operator.verification.findings import Finding, remedy, well

# Reasons of a validated spec, which waiting does not change.
_FINAL = frozenset({"NotAccepted", "RolledBack"})


def about_profiles(
    stored: Sequence[StoredProfile], kept: Sequence[KeptProfile], settings: Settings
) -> dict[str, Finding]:
    """Return a finding for each profile that the release serves or should serve, by its name."""
    existing = {profile.name: profile for profile in stored}
    found = dict(_of_the_values(existing, kept, settings))
    for profile in stored:
        if profile.name not in found and past_of(profile.status).instance == settings.instance:
            found[profile.name] = _about(profile, settings)
    return found


def _of_the_values(
    existing: Mapping[str, StoredProfile], kept: Sequence[KeptProfile], settings: Settings
) -> Iterator[tuple[str, Finding]]:
    for wanted in kept:
        for name in (wanted.name, second_name(wanted.name, settings)):
            if name in existing and is_ours(existing[name], settings):
                yield name, _about(existing[name], settings)
                break
        else:
            text = f"profile {wanted.name} of the values has not been created yet"
            if wanted.name in existing:
                text = (
                    f"profile {wanted.name} belongs to another release, and that of the values has not been created yet"
                )
            yield wanted.name, Finding(False, text, _see_operator(settings), may_pass=True)


def _about(profile: StoredProfile, settings: Settings) -> Finding:
    past, generation = past_of(profile.status), profile.metadata.generation
    ready = past.conditions.get("Ready")
    if past.instance not in ("", settings.instance):
        text = f"profile {profile.name} is served by the release {past.instance}, not by {settings.instance}"
        return Finding(False, text, "Set its spec.instance to this release, or remove it from the values.")
    if ready is None or (ready.observed_generation or 0) < generation or _observed(profile) < generation:
        text = f"profile {profile.name}: the operator has not processed generation {generation} yet"
        return Finding(False, text, _see_operator(settings), may_pass=True)
    if ready.status == "True":
        return well(f"profile {profile.name} is Ready at generation {generation}: {ready.message}")
    text = f"profile {profile.name}, generation {generation}: Ready={ready.status}, {ready.reason}: {ready.message}"
    return Finding(False, text, _remedy(past, ready), may_pass=ready.reason not in _FINAL)


def _observed(profile: StoredProfile) -> int:
    found = profile.status.get("observedGeneration") if isinstance(profile.status, dict) else None
    return found if isinstance(found, int) else 0


def _remedy(past: Past, ready: Condition) -> str:
    """Return the fix for the condition that explains why the profile is not Ready."""
    accepted, rolled_back = past.conditions.get("Accepted"), past.conditions.get("RolledBack")
    if accepted is not None and accepted.status != "True":
        return remedy("Accepted", accepted.reason)
    if rolled_back is not None and rolled_back.status == "True":
        return remedy("RolledBack", rolled_back.reason)
    return remedy("Ready", ready.reason)


def _see_operator(settings: Settings) -> str:
    return f"See the operator's log: kubectl -n {settings.namespace} logs deployment/{settings.fullname}-operator"
