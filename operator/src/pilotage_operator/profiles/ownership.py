"""Which profiles this release serves: those that name it, and those without an instance that it claimed first."""

from pilotage_operator.profiles.past import Past
from pilotage_operator.profiles.world import StoredProfile
from pilotage_operator.settings import Settings


def serves(profile: StoredProfile, past: Past, settings: Settings) -> bool:
    """Return whether this release serves a profile."""
    if profile.metadata.deletion_timestamp:
        return False
    named = profile.spec.get("instance") if isinstance(profile.spec, dict) else None
    wanted = named if isinstance(named, str) else ""
    if wanted == settings.instance:
        return True
    # Several releases may see the same profile: the first claim wins.
    return (not wanted or wanted == settings.release) and past.instance in ("", settings.instance)


def gives_up(profile: StoredProfile, past: Past, settings: Settings) -> bool:
    """Return whether this release served a profile that names another release now."""
    is_there = not profile.metadata.deletion_timestamp
    return is_there and past.instance == settings.instance and not serves(profile, past, settings)


def age(profile: StoredProfile) -> tuple[str, str]:
    """Return the sort key with the oldest profile first."""
    return profile.metadata.creation_timestamp, profile.name
