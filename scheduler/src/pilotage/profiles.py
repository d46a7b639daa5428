"""Constructs the plugins of a configuration's profiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.expansion import Expansion
from pilotage.config.load import Loaded
from pilotage.config.sharing import OwnNodes, Sharing, own_nodes_in, sharing_in
from pilotage.config.types import Profile as ProfileConfig
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.runtime.own_nodes import NodesOfProfile
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.plugins.catalogue import BrokenPlugin, PluginCatalogue

# The points of a plugin set; those for groups of pods run no plugins.
POINTS = {
    "pre_enqueue": ExtensionPoint.PRE_ENQUEUE,
    "queue_sort": ExtensionPoint.QUEUE_SORT,
    "pre_filter": ExtensionPoint.PRE_FILTER,
    "filter": ExtensionPoint.FILTER,
    "post_filter": ExtensionPoint.POST_FILTER,
    "pre_score": ExtensionPoint.PRE_SCORE,
    "score": ExtensionPoint.SCORE,
    "reserve": ExtensionPoint.RESERVE,
    "permit": ExtensionPoint.PERMIT,
    "pre_bind": ExtensionPoint.PRE_BIND,
    "bind": ExtensionPoint.BIND,
    "post_bind": ExtensionPoint.POST_BIND,
}


@dataclass(frozen=True)
class Profile:
    """A scheduler by name, its plugins, and how it shares the cluster."""

    scheduler_name: str
    plugin_set: PluginSet
    percentage_of_nodes_to_score: int
    sharing: Sharing = field(default_factory=Sharing)
    nodes: OwnNodes = field(default_factory=OwnNodes)


def build_profiles(
    loaded: Loaded,
    catalogue: PluginCatalogue,
    only: str | None = None,
    running: Mapping[str, Profile] | None = None,
) -> dict[str, Profile]:
    """Construct the plugins of all profiles, or of only one; profiles do not share plugins.

    If a profile of that name is already running, plugins with unchanged arguments are kept.
    """
    config = loaded.config
    profiles = zip(config.profiles, loaded.expansions, strict=True)
    return {
        profile.scheduler_name: Profile(
            profile.scheduler_name,
            _named_plugin_set(profile, expansion, catalogue, running or {}),
            _first_given(profile.percentage_of_nodes_to_score, config.percentage_of_nodes_to_score),
            sharing_in(profile.plugin_config),
            own_nodes_in(profile.plugin_config),
        )
        for profile, expansion in profiles
        if only in (None, profile.scheduler_name)
    }


def _named_plugin_set(
    profile: ProfileConfig, expansion: Expansion, catalogue: PluginCatalogue, running: Mapping[str, Profile]
) -> PluginSet:
    """Return the plugins of a profile; if one cannot be constructed, the error names the profile."""
    name = profile.scheduler_name
    try:
        return _plugin_set(profile, expansion, catalogue.of(name), running.get(name))
    except BrokenPlugin as error:
        error.profile = name
        raise


def _plugin_set(
    profile: ProfileConfig, expansion: Expansion, catalogue: PluginCatalogue, running: Profile | None
) -> PluginSet:
    arguments = {entry.name: entry.args for entry in profile.plugin_config}
    names = dict.fromkeys(name for point in POINTS.values() for name in expansion.points[point])
    made = {name: catalogue.construct(name, _given(arguments.get(name))) for name in names}
    before = {} if running is None else running.plugin_set.plugins()
    plugins = {name: _same_or_new(before.get(name), plugin) for name, plugin in made.items()}
    points: dict[str, Any] = {
        field: tuple(plugins[name] for name in expansion.points[point]) for field, point in POINTS.items()
    }
    points["filter"] = (*_own_nodes(profile, before), *points["filter"])  # before all that evaluate other nodes
    return PluginSet(**points, weights=dict(expansion.weights[ExtensionPoint.SCORE]))


def _own_nodes(profile: ProfileConfig, before: Mapping[str, Plugin]) -> list[Plugin]:
    """Return the filter for the profile's own nodes, if it has a selector."""
    nodes = own_nodes_in(profile.plugin_config)
    if nodes.matcher() is None:
        return []
    return [_same_or_new(before.get(NodesOfProfile.name), NodesOfProfile(nodes=nodes))]


def _same_or_new(before: Plugin | None, plugin: Plugin) -> Plugin:
    """Return the previous plugin, with its state, if its arguments are unchanged."""
    if before is None or type(before) is not type(plugin):
        return plugin
    return before if before.args.model_dump() == plugin.args.model_dump() else plugin


def _given(arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (arguments or {}).items() if key not in ("apiVersion", "kind")}


def _first_given(own: int | None, of_all: int) -> int:
    return of_all if own is None else own
