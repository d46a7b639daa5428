"""The effective plugins of a profile at each extension point."""

from collections.abc import Mapping
from dataclasses import dataclass

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.expansion import Expansion, expand, merged
from pilotage.config.types import Plugins, PluginSet, Profile
from pilotage.scheduler_profiles.resource import Point

SCORE, SORT = ExtensionPoint.SCORE, ExtensionPoint.QUEUE_SORT
DEFAULTS = {plugin.name: plugin.weight or 1 for plugin in DEFAULT_PLUGINS}
POINTS = {ExtensionPoint(point.value): point for point in Point}


@dataclass(frozen=True)
class EffectivePlugins:
    """The plugins and their points, as far as these have an effect, and their weights."""

    points: Mapping[str, frozenset[ExtensionPoint]]  # by plugin
    weights: Mapping[str, int]

    @property
    def sorter(self) -> str:
        """Return the plugin that sorts the queue."""
        return next((name for name, points in self.points.items() if SORT in points), "")


def plugin_set_of(expansion: Expansion) -> EffectivePlugins:
    """Return the effective plugins of an expansion."""
    names = dict.fromkeys(name for point in POINTS for name in expansion.points[point])
    has = {name: {point for point in POINTS if name in expansion.points[point]} for name in names}
    points = {name: _of_use(name, points) for name, points in has.items()}
    used = {name: points for name, points in points.items() if points}
    return EffectivePlugins(used, {name: weight for name, weight in expansion.weights[SCORE].items() if name in used})


def _of_use(name: str, points: set[ExtensionPoint]) -> frozenset[ExtensionPoint]:
    """Leave out points at which a default plugin only prepares another point that is disabled."""
    if name in DEFAULTS and SCORE not in points:
        points = points - {ExtensionPoint.PRE_SCORE}
    preempts = name == "DefaultPreemption"
    return frozenset(points - {ExtensionPoint.PRE_ENQUEUE} if preempts and len(points) == 1 else points)


def unknown_plugins(profile: Profile, catalogue: Catalogue) -> list[str]:
    """Return the unknown plugins of a profile."""
    return list(parted(profile.plugins, catalogue)[1])


def complaints_about(profile: Profile, catalogue: Catalogue) -> list[str]:
    """Return why no scheduler can combine the plugins of a profile."""
    known, _ = parted(profile.plugins, catalogue)
    return [complaint.text for complaint in expanded(profile, known, catalogue).complaints]


def expanded(profile: Profile, plugins: Plugins, catalogue: Catalogue) -> Expansion:
    """Expand these sets."""
    return expand(profile.model_copy(update={"plugins": merged(plugins)}), catalogue)


def parted(plugins: Plugins, catalogue: Catalogue) -> tuple[Plugins, dict[str, dict[str, int]]]:
    """Separate unknown plugins from the sets, and return them by name with their points and weights."""
    unknown: dict[str, dict[str, int]] = {}
    sets = {}
    for field in Plugins.model_fields:
        given: PluginSet = getattr(plugins, field)
        for plugin in given.enabled:
            if plugin.name not in catalogue.names():
                unknown.setdefault(plugin.name, {})[Plugins.model_fields[field].alias or field] = plugin.weight
        kept = tuple(plugin for plugin in given.enabled if plugin.name in catalogue.names())
        sets[field] = given.model_copy(update={"enabled": kept})
    return Plugins(**sets), unknown
