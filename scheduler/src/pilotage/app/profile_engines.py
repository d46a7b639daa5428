"""Profiles made ready to run on a cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import fields

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.events import Retry
from pilotage.framework.gangs import FormsGangs
from pilotage.framework.lineup import Lineup
from pilotage.framework.plugin import FollowsPods, Plugin
from pilotage.framework.plugin_guard import guard
from pilotage.framework.runner import Runner, failure
from pilotage.framework.waiting import WaitingPods
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage.profiles import Profile
from pilotage.scheduling.class_rows import ClassRows
from pilotage.scheduling.engine import Engine


def engines(
    profiles: Mapping[str, Profile],
    cache: ClusterCache,
    running: Mapping[str, Engine] | None = None,
    waiting: WaitingPods | None = None,
) -> dict[str, Engine]:
    """Make every profile ready to run on a cluster; one that runs already as it should goes on.

    `waiting` are the pods that wait for a permission; without it none ever does.
    """
    waiting, before = WaitingPods() if waiting is None else waiting, running or {}
    try:
        return {name: _engine(profile, cache, waiting, before.get(name)) for name, profile in profiles.items()}
    except BrokenPlugin:
        _unfollow(cache, (profile.lineup for profile in profiles.values()), before)
        raise


def attach(plugin: Plugin, cache: ClusterCache, waiting: WaitingPods) -> None:
    """Give a plugin what it looks at outside of a cycle; BrokenPlugin if it cannot take it."""
    try:
        plugin.attach(cache.objects)
        if isinstance(plugin, FormsGangs):
            plugin.see(cache.nodes, waiting)
    except Exception as error:
        raise BrokenPlugin(str(failure("{} cannot begin: {}", plugin, error))) from error
    if isinstance(plugin, FollowsPods):
        cache.follow(plugin)


def let_go(cache: ClusterCache, ended: Iterable[Engine], running: Mapping[str, Engine]) -> None:
    """Tell nothing more to plugins that only profiles had that have ended."""
    _unfollow(cache, (engine.runner.lineup for engine in ended), running)


def _unfollow(cache: ClusterCache, lineups: Iterable[Lineup], running: Mapping[str, Engine]) -> None:
    kept = {id(plugin) for engine in running.values() for plugin in engine.runner.lineup.plugins().values()}
    for lineup in lineups:
        for plugin in lineup.plugins().values():
            if isinstance(plugin, FollowsPods) and id(plugin) not in kept:
                cache.unfollow(plugin)


def _engine(profile: Profile, cache: ClusterCache, waiting: WaitingPods, running: Engine | None) -> Engine:
    lineup, percentage = profile.lineup, profile.percentage_of_nodes_to_score
    if running is not None and running.percentage == percentage and _is_same(running.runner.lineup, lineup):
        return running
    known = set() if running is None else {id(plugin) for plugin in running.runner.lineup.plugins().values()}
    guard(lineup.plugins().values())  # before anything of them is called
    for plugin in lineup.plugins().values():
        if id(plugin) not in known:
            attach(plugin, cache, waiting)
    runner = Runner(lineup, None if running is None else running.runner.timings)  # counters go on
    return Engine(runner, ClassRows(runner, cache.columns), percentage)


def _is_same(one: Lineup, other: Lineup) -> bool:
    """Tell whether the very same plugins take part in the same places, with the same weights."""
    points = (field.name for field in fields(Lineup) if field.name != "weights")
    same = all([*map(id, getattr(one, point))] == [*map(id, getattr(other, point))] for point in points)
    return same and one.weights == other.weights


def retries(profile: Profile, *more: Plugin) -> list[tuple[Plugin, Retry]]:
    """Return what each plugin of a profile that can reject a pod waits for after it did."""
    plugins = (*profile.lineup.rejecting().values(), *more)
    return [(plugin, retry) for plugin in plugins for retry in plugin.retry_on]
