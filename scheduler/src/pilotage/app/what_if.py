"""What decides in a what-if: new instances of the running profiles, or the profiles that the question names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pilotage.app import Configured, profiles_configured, simulation
from pilotage.app.handles import NO_SUBSCRIPTIONS, Subscriptions
from pilotage.app.profile_files import UnusableProfiles
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.faults import InvalidConfiguration
from pilotage.framework.api.handle import LoadQuery, LoadSource
from pilotage.kinds.every import KindTable
from pilotage.offline.manifest_entries import Place, WrittenProfile
from pilotage.offline.simulation import Simulation
from pilotage.offline.what_if.request import WrongRequest
from pilotage.offline.what_if.world import Scheduling
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage.profiles import Profile
from pilotage.scheduler_profiles.resource import API_VERSION, KIND


class Collected(Protocol):
    """Has figures of how busy nodes are."""

    def as_of_now(self, query: LoadQuery) -> LoadSource | None:
        """Return the latest figures, which stay as they are."""


class LoadOfNow:
    """The latest figures: no new ones are fetched for a what-if."""

    def __init__(self, collected: Collected) -> None:
        self._collected = collected

    def subscribe(self, query: LoadQuery) -> LoadSource | None:
        """Return the latest figures, if there are any."""
        return self._collected.as_of_now(query)

    def unsubscribe(self, query: LoadQuery) -> None:
        """Do nothing."""


def scheduling_of(
    ready: Callable[[], Configured],
    load: Subscriptions = NO_SUBSCRIPTIONS,
    profile_hash: str = "",
    others: Sequence[Configured] = (),
) -> Scheduling:
    """Return what decides: the current configuration, and others for schedulerNames that it lacks."""

    def made(cache: ClusterCache, specs: Mapping[str, Mapping[str, Any]], evicting: bool) -> Simulation:
        found, profiles = ready(), dict[str, Profile]()
        for each in (*others, found):
            profiles |= each.profiles()
        profiles |= _by_specs(specs, found)
        if not evicting:
            profiles = {name: _without_evictions(profile) for name, profile in profiles.items()}
        config = found.loaded.config
        backoff = (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)
        return simulation(profiles, initial_backoff=backoff[0], max_backoff=backoff[1], cache=cache, load=load)

    now = ready()
    kinds = KindTable(now.catalogue.kinds())
    return Scheduling(made, kinds, bool(now.loaded.config.extenders), profile_hash)


def _by_specs(specs: Mapping[str, Mapping[str, Any]], ready: Configured) -> dict[str, Profile]:
    """Return profiles as they would be; WrongRequest if they cannot run."""
    if not specs:
        return {}
    written = [
        {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": f"profile-{number}"}, "spec": _named(spec, name)}
        for number, (name, spec) in enumerate(specs.items(), start=1)
    ]
    places = [Place("profile", number) for number in range(1, len(written) + 1)]
    try:
        found = [WrittenProfile(manifest, place) for manifest, place in zip(written, places, strict=True)]
        return profiles_configured(found, ready.catalogue).profiles()
    except (UnusableProfiles, InvalidConfiguration, BrokenPlugin) as error:
        raise WrongRequest(*str(error).splitlines()) from None


def _named(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**spec, "schedulerName": name}


def _without_evictions(profile: Profile) -> Profile:
    return replace(profile, plugin_set=replace(profile.plugin_set, post_filter=()))
