"""Builds the engines of profiles for a cluster."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields

from pilotage.app.handles import Handles
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.defaults import SCHEDULER_NAME
from pilotage.config.sharing import EVERYBODY
from pilotage.framework.api.events import Retry
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.remit import Remit
from pilotage.framework.runtime.plugin_guard import guard
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.framework.runtime.runner import Runner
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage.profiles import Profile
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.equivalence.equivalence_cache import EquivalenceCache
from pilotage.scheduling.sharing.held_nodes import HeldNodes


def engines(
    profiles: Mapping[str, Profile],
    cache: ClusterCache,
    running: Mapping[str, Engine] | None = None,
    handles: Handles | None = None,
    served: Collection[str] | None = None,
) -> dict[str, Engine]:
    """Build an engine for every profile; an unchanged one that already runs is kept.

    `handles` creates the plugins' handles; without it they have none. `served` are the names of all profiles, if
    `profiles` does not contain all of them.
    """
    served = profiles.keys() if served is None else served
    handles, before = Handles(cache) if handles is None else handles, running or {}
    try:
        return {
            name: _engine(profile, _remit(profile, served), handles, before.get(name))
            for name, profile in profiles.items()
        }
    except BrokenPlugin:
        _end(handles, (profile.plugin_set for profile in profiles.values()), before)
        raise


@contextmanager
def naming(scheduler_name: str) -> Iterator[None]:
    """Add the profile's name to a plugin's failure: every exception becomes BrokenPlugin."""
    try:
        yield
    except Exception as error:
        text = str(error) if isinstance(error, BrokenPlugin) else f"{type(error).__name__}: {error}"
        named = BrokenPlugin(f"profile {scheduler_name}: {text}")
        named.profile, named.plugin = scheduler_name, getattr(error, "plugin", "")
        raise named from error


def release_plugins(handles: Handles, ended: Iterable[Engine], running: Mapping[str, Engine]) -> None:
    """Disconnect plugins that no profile uses any more."""
    _end(handles, (engine.runner.plugin_set for engine in ended), running)


def _end(handles: Handles, plugin_sets: Iterable[PluginSet], running: Mapping[str, Engine]) -> None:
    kept = {id(plugin) for engine in running.values() for plugin in engine.runner.plugin_set.plugins().values()}
    for plugin_set in plugin_sets:
        handles.end([plugin for plugin in plugin_set.plugins().values() if id(plugin) not in kept])


def _remit(profile: Profile, served: Collection[str]) -> Remit:
    """Return which objects a profile may change; a stand-in for default-scheduler may evict the same pods as that."""
    named = profile.sharing.victims
    all_of_them = EVERYBODY in (named or ()) or (named is None and SCHEDULER_NAME in served)
    return Remit(None if all_of_them else frozenset((*served, *(named or ()))), profile.nodes.matcher())


def _engine(profile: Profile, remit: Remit, handles: Handles, running: Engine | None) -> Engine:
    """Build the engine of a profile; if that fails, BrokenPlugin names this profile."""
    plugin_set, percentage = profile.plugin_set, profile.percentage_of_nodes_to_score
    if running is not None and _runs_so(running, plugin_set, percentage, remit):
        running.guard, running.spread = profile.sharing.guard, profile.sharing.spread
        return running
    with naming(profile.scheduler_name):
        known = set() if running is None else {id(plugin) for plugin in running.runner.plugin_set.plugins().values()}
        guard(plugin_set.plugins().values())  # before any of their methods is called
        for plugin in plugin_set.plugins().values():
            if id(plugin) not in known:
                handles.start(plugin, profile.scheduler_name, remit)
            else:
                handles.move(plugin, remit)  # its nodes may have changed
        runner = Runner(plugin_set, None if running is None else running.runner.timings)  # counters continue
        rows, sharing = EquivalenceCache(runner, handles.cache.columns), profile.sharing
        return Engine(runner, rows, percentage, remit, sharing.guard, sharing.spread)


def _runs_so(running: Engine, plugin_set: PluginSet, percentage: int, remit: Remit) -> bool:
    same = running.percentage == percentage and running.remit.is_same(remit)
    return same and _is_same(running.runner.plugin_set, plugin_set)


def _is_same(one: PluginSet, other: PluginSet) -> bool:
    """Return whether the same plugins are enabled at the same points with the same weights."""
    points = (field.name for field in fields(PluginSet) if field.name != "weights")
    same = all([*map(id, getattr(one, point))] == [*map(id, getattr(other, point))] for point in points)
    return same and one.weights == other.weights


def retries(profile: Profile, *more: Plugin) -> list[tuple[Plugin, Retry]]:
    """Return which events each rejecting plugin of a profile waits for."""
    plugins = (*profile.plugin_set.rejecting().values(), HeldNodes(), *more)
    return [(plugin, retry) for plugin in plugins for retry in plugin.retry_on]
