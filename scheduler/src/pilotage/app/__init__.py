"""Construction and wiring, nowhere else."""

import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pilotage.app.handles import NO_SUBSCRIPTIONS, Handles, Subscriptions
from pilotage.app.profile_engines import engines, release_plugins, retries
from pilotage.app.profile_files import Source, configuration_of, read_source
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.handshake import Unit
from pilotage.config.load import Loaded, load
from pilotage.config.types import API_VERSION, KIND
from pilotage.offline.manifest_entries import WrittenProfile
from pilotage.offline.simulation import Clock, Simulation
from pilotage.plugins.catalogue import PluginCatalogue, built_in
from pilotage.profiles import Profile, build_profiles
from pilotage.queue.scheduling_queue import SchedulingQueue

EMULATES = "v1.37.1"  # the release whose scheduler this one behaves like
DEFAULT_CONFIGURATION = f"apiVersion: {API_VERSION}\nkind: {KIND}\n"


@dataclass(frozen=True)
class Configured:
    """A valid configuration, and all known plugins."""

    loaded: Loaded
    catalogue: PluginCatalogue

    def profiles(self) -> dict[str, Profile]:
        """Construct the plugins of every profile."""
        return build_profiles(self.loaded, self.catalogue)


def configured(source: Path | str | None, plugin_folders: Iterable[str] = (), *, enable: bool = True) -> Configured:
    """Load a configuration, or the default one, as `configured_with` all plugins."""
    read = read_source(DEFAULT_CONFIGURATION if source is None else source)
    return _configured(read, *plugins(plugin_folders), enable=enable)


def configured_with(source: Path | str | None, catalogue: PluginCatalogue, added: Sequence[str]) -> Configured:
    """Load a configuration, or the default one, and enable the added plugins that it does not name.

    If the source contains SchedulerProfiles, they are the configuration and list all of their plugins.
    """
    return _configured(read_source(DEFAULT_CONFIGURATION if source is None else source), catalogue, added)


def _configured(read: Source, catalogue: PluginCatalogue, added: Sequence[str], *, enable: bool = True) -> Configured:
    if read.profiles:
        return profiles_configured(read.profiles, catalogue)
    return Configured(load(read.text, catalogue, added if enable else (), read.name), catalogue)


def profiles_configured(profiles: Sequence[WrittenProfile], catalogue: PluginCatalogue) -> Configured:
    """Load the configuration that the operator renders from SchedulerProfiles; UnusableProfiles if they cannot run."""
    return Configured(load(configuration_of(profiles, catalogue), catalogue), catalogue)


def unit_configured(unit: Unit, catalogue: PluginCatalogue) -> Configured:
    """Load the configuration of a unit, with the plugin files of its profiles."""
    found = catalogue.with_files(unit.files)
    return Configured(load(unit.configuration, found), found)


def plugins(folders: Iterable[str] = ()) -> tuple[PluginCatalogue, list[str]]:
    """Return all plugins, and the names of those from these folders."""
    catalogue = built_in()
    return catalogue, [name for folder in folders for name in catalogue.add_folder(Path(folder))]


def calm_garbage_collection() -> None:
    """Freeze the long-lived objects, and collect garbage less often: hardly any object is in a reference cycle."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def simulation(
    profiles: Mapping[str, Profile],
    *,
    seed: int = 0,
    initial_backoff: float = 1.0,
    max_backoff: float = 10.0,
    with_scores: bool = False,
    explain_pod: str | None = None,
    cache: ClusterCache | None = None,
    load: Subscriptions = NO_SUBSCRIPTIONS,
    with_remedies: bool = True,
) -> Simulation:
    """Create an engine for a cluster in memory, which is empty unless one is given."""
    cache, clock = ClusterCache() if cache is None else cache, Clock()
    first = next(iter(profiles.values()))
    queue = SchedulingQueue(
        first.plugin_set.queue_sort[0],
        lambda pod: profiles[pod.scheduler_name].plugin_set.pre_enqueue,
        {name: retries(profile) for name, profile in profiles.items()},
        clock,
        initial_backoff=initial_backoff,
        max_backoff=max_backoff,
    )
    handles = Handles(cache, nominations=queue.nominator, load=load)
    ready = engines(profiles, cache, handles=handles)
    tie_break = Random(seed)  # noqa: S311 - no secret
    made = Simulation(
        cache,
        ready,
        queue,
        clock,
        tie_break,
        with_scores=with_scores,
        explain_pod=explain_pod,
        with_remedies=with_remedies,
        changes=handles.changes,
        close=lambda: release_plugins(handles, ready.values(), {}),
    )
    handles.announce = made.objects.announce
    return made
