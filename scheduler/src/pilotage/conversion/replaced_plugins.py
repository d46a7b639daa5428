"""Removed plugins of older versions, and their replacements."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.expansion import ALL
from pilotage.config.types import Plugin, Plugins, PluginSet
from pilotage.config.validation import REMOVED_PLUGINS
from pilotage.conversion.older_types import Version

FIT, LIMITS = "NodeResourcesFit", "NodeVolumeLimits"
NODE_LABEL = "NodeLabel"
# Plugins of v1beta1 that are scoring strategies of NodeResourcesFit since v1beta2.
STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
_SPREAD = "PodTopologySpread, which is enabled by default, spreads the pods of a service over nodes and zones"
_ENABLED = {
    "SelectorSpread": f"it was removed: {_SPREAD}",
    "NodePreferAvoidPods": "it was removed: taint the nodes with effect PreferNoSchedule",
    "ServiceAffinity": "it was removed: give the pods a podAffinity with the label as topologyKey",
    NODE_LABEL: "it was removed: NodeAffinity keeps pods on nodes with a label, by addedAffinity in its arguments",
}
_DISABLED = {
    "SelectorSpread": f"it was removed, so there is nothing to disable; but {_SPREAD}: to avoid that, give "
    "PodTopologySpread the arguments {defaultingType: List, defaultConstraints: []}",
    **dict.fromkeys(
        REMOVED_PLUGINS, f"it was removed, so there is nothing to disable; but {LIMITS} counts its volumes now"
    ),
    **dict.fromkeys(
        STRATEGIES,
        f"it was a plugin in v1beta1 only, so nothing was disabled, and {FIT} scores: to avoid that, give "
        f"{FIT} the points preFilter and filter",
    ),
}


@dataclass
class Replaced:
    """The plugin sets with current names, the scoring strategies, and notes."""

    sets: dict[str, PluginSet] = field(default_factory=dict)  # by the name of the field
    strategies: dict[str, int] = field(default_factory=dict)  # scoring plugins of v1beta1, with their weights
    told: dict[str, str] = field(default_factory=dict)  # by plugin

    def plugins(self) -> Plugins:
        """Return all sets."""
        return Plugins(**self.sets)


def with_names_of_today(given: Plugins, version: Version) -> Replaced:
    """Replace removed plugins by current ones."""
    found = Replaced()
    points = [*(point.name.lower() for point in ExtensionPoint), "multi_point"]
    for point in points:
        plugins: PluginSet = getattr(given, point)
        disabled = tuple(_disabled(plugins, version, found))
        found.sets[point] = PluginSet(enabled=tuple(_enabled(plugins, point, version, found)), disabled=disabled)
    _settle_strategies(given.score, version, found)
    return found


def _enabled(plugins: PluginSet, point: str, version: Version, found: Replaced) -> Iterator[Plugin]:
    """Yield the enabled plugins of a set, each once."""
    names: set[str] = set()
    for plugin in plugins.enabled:
        now = plugin
        if plugin.name in _ENABLED:
            found.told[plugin.name] = _ENABLED[plugin.name]
            continue
        if plugin.name in STRATEGIES:
            now = _strategy(plugin, version, found)
        elif plugin.name in REMOVED_PLUGINS:
            found.told[plugin.name] = f"it was removed: {LIMITS} counts its volumes"
            now = Plugin(name=LIMITS)
            if point == "multi_point" and not {ALL, LIMITS} & plugins.disabled_names:
                continue  # it is enabled by default
        replaces = now is not plugin
        if not (replaces and now.name in names):
            names.add(now.name)
            yield now


def _strategy(plugin: Plugin, version: Version, found: Replaced) -> Plugin:
    found.strategies[plugin.name] = plugin.weight or 1
    since = "" if version == Version.V1BETA1 else f" (in v1beta1 only; a scheduler rejected it in {version})"
    found.told[plugin.name] = f"it is the scoringStrategy {STRATEGIES[plugin.name]} of {FIT} now{since}"
    return Plugin(name=FIT, weight=plugin.weight)


def _disabled(plugins: PluginSet, version: Version, found: Replaced) -> Iterator[Plugin]:
    enabled = {plugin.name for plugin in plugins.enabled}
    for plugin in plugins.disabled:
        if plugin.name in STRATEGIES and version == Version.V1BETA1:
            yield Plugin(name=FIT)
        elif plugin.name in _DISABLED:
            if plugin.name not in enabled:  # otherwise its position would change
                found.told[plugin.name] = _DISABLED[plugin.name]
        elif plugin.name not in _ENABLED:
            yield plugin


def _settle_strategies(score: PluginSet, version: Version, found: Replaced) -> None:
    """Choose one of several strategies: the one with the highest weight."""
    default = "NodeResourcesLeastAllocated"
    if version == Version.V1BETA1 and not {ALL, default} & score.disabled_names:
        found.strategies.setdefault(default, 1)
    if len(found.strategies) < 2:
        return
    # With equal weights, the one that is listed.
    order = sorted(found.strategies, key=lambda name: (-found.strategies[name], name == default))
    others = ", ".join(order[1:])
    found.told[others] = f"{FIT} has one scoringStrategy, which is {order[0]} now; {others} has no equivalent"
    found.strategies = {order[0]: found.strategies[order[0]]}
