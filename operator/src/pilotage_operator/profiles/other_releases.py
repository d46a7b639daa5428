"""Names that other releases serve: schedulers of the same name would race for pods, so the older profile keeps it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pilotage.scheduler_profiles.choosing import DUPLICATE
from pilotage.scheduler_profiles.judge import Complaint
from pilotage_operator.profiles.ownership import age
from pilotage_operator.profiles.past import past_of
from pilotage_operator.profiles.world import StoredProfile
from pilotage_operator.settings import Settings


@dataclass(frozen=True)
class Served:
    """A profile that another release serves."""

    profile: str
    instance: str
    age: tuple[str, str]


def served_elsewhere(profiles: Iterable[StoredProfile], settings: Settings) -> dict[str, Served]:
    """Return the owner of each schedulerName, by the statuses of other releases' profiles."""
    found: dict[str, Served] = {}
    for profile in sorted(profiles, key=age, reverse=True):  # the oldest of several wins
        instance = past_of(profile.status).instance
        if profile.metadata.deletion_timestamp or instance in ("", settings.instance):
            continue
        name, plugins = profile.status.get("schedulerName"), profile.status.get("pluginCount")
        if isinstance(name, str) and plugins is not None:
            found[name] = Served(profile.name, instance, age(profile))
    return found


def taken_from(profile: StoredProfile, elsewhere: Mapping[str, Served]) -> dict[str, Complaint]:
    """Return the names of this profile that older profiles of other releases have."""
    return {
        name: Complaint(
            DUPLICATE,
            f"spec.schedulerName: {name} is used by the older profile {other.profile} of the release "
            f"{other.instance}; choose another name, or delete that profile",
        )
        for name, other in elsewhere.items()
        if other.age < age(profile)
    }
