"""Converts plugin sets of v1beta1 and v1beta2, which only had a list for each point, to sets of v1."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.expansion import ALL
from pilotage.config.types import Plugin, Plugins, PluginSet
from pilotage.conversion.older_defaults import default_plugins
from pilotage.conversion.older_types import Version

# Points that prepare another one; they were added later, and are enabled together with the other one.
PREPARES = {
    ExtensionPoint.PRE_FILTER: ExtensionPoint.FILTER,
    ExtensionPoint.PRE_SCORE: ExtensionPoint.SCORE,
    ExtensionPoint.PRE_ENQUEUE: ExtensionPoint.POST_FILTER,
}
Lists = Mapping[ExtensionPoint, tuple[Plugin, ...]]


def as_multi_point(given: Plugins, version: Version, catalogue: Catalogue) -> Plugins:
    """Express the sets as differences from the default plugins of v1; their own multiPoint had no effect."""
    work = _Work(given, version, catalogue)
    for default in DEFAULT_PLUGINS:
        if default.name in catalogue.names():
            work.take_default(default.name, default.weight)
    for name in work.others():
        work.take_other(name)
    return work.plugins()


def merged_lists(given: Plugins, defaults: Lists) -> dict[ExtensionPoint, tuple[Plugin, ...]]:
    """Return the plugins by point: defaults that are not disabled, replaced in place, and then the others."""
    return {point: _merged(given.at(point), defaults.get(point, ())) for point in ExtensionPoint}


def _merged(given: PluginSet, defaults: tuple[Plugin, ...]) -> tuple[Plugin, ...]:
    named = {plugin.name: plugin for plugin in given.enabled}
    off = given.disabled_names
    kept = [named.get(plugin.name, plugin) for plugin in defaults if not {plugin.name, ALL} & off]
    return (*kept, *(plugin for plugin in named.values() if plugin not in kept))


@dataclass
class _Work:
    given: Plugins
    version: Version
    catalogue: Catalogue
    enabled: dict[str, list[Plugin]] = field(default_factory=dict)  # by the name of the field
    disabled: dict[str, list[Plugin]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.defaults = default_plugins(self.version)
        self.lists = merged_lists(self.given, self.defaults)
        for point in ExtensionPoint:
            if self.drops_defaults(point):
                self.disable(point.name.lower(), ALL)
                self.enabled[point.name.lower()] = list(self.lists[point])

    def drops_defaults(self, point: ExtensionPoint) -> bool:
        """Return whether all defaults of a point are disabled."""
        return ALL in self.given.at(point).disabled_names

    def others(self) -> list[str]:
        """Return the plugins that are not defaults, in their order."""
        known = {plugin.name for plugin in DEFAULT_PLUGINS} & set(self.catalogue.names())
        return [
            name for name in dict.fromkeys(p.name for each in self.lists.values() for p in each) if name not in known
        ]

    def take_default(self, name: str, weight: int) -> None:
        """Record the differences for a default plugin of v1."""
        before, now = self.points_before(name), self.points_now(name)
        has = [point for point in self.catalogue.points(name) if point in ExtensionPoint]
        wanted = {point for point in has if self.is_wanted(name, point, before, now)}
        if not wanted:
            self.disable("multi_point", name)
            return
        for point in set(has) - wanted:
            if not self.drops_defaults(point):
                self.disable(point.name.lower(), name)
        own = self.weight_of(name)
        if own and own != (weight or 1) and not self.drops_defaults(ExtensionPoint.SCORE):
            self.enable("multi_point", name, own)

    def is_wanted(
        self, name: str, point: ExtensionPoint, before: set[ExtensionPoint], now: set[ExtensionPoint]
    ) -> bool:
        """Return whether a default plugin is enabled at a point that it implements now."""
        if point in now:
            return True
        if point in before or name in self.given.at(point).disabled_names:
            return False
        if not before:
            return not self._shut(name)
        main = PREPARES.get(point)
        return main in now if main in before else bool(now)

    def _shut(self, name: str) -> bool:
        """Return whether a default plugin that was added later is disabled, because all older filters are."""
        filters = ExtensionPoint.FILTER
        return filters in self.catalogue.points(name) and self.drops_defaults(filters)

    def take_other(self, name: str) -> None:
        """Enable a non-default plugin: in multiPoint, if it was enabled at all of its points."""
        now = self.points_now(name)
        if name not in self.catalogue.names():
            wanted = now
        else:
            has = set(self.catalogue.points(name))
            wanted = now & has | {point for point in has if PREPARES.get(point) in now}
            if wanted == has and wanted:
                self.enable("multi_point", name, self.weight_of(name))
                return
        for point in ExtensionPoint:
            if point in wanted and not self.drops_defaults(point):
                weight = self.weight_of(name) if point == ExtensionPoint.SCORE else 0
                self.enable(point.name.lower(), name, weight)

    def points_before(self, name: str) -> set[ExtensionPoint]:
        return {point for point, plugins in self.defaults.items() if any(plugin.name == name for plugin in plugins)}

    def points_now(self, name: str) -> set[ExtensionPoint]:
        return {point for point, plugins in self.lists.items() if any(plugin.name == name for plugin in plugins)}

    def weight_of(self, name: str) -> int:
        found = next((plugin for plugin in self.lists[ExtensionPoint.SCORE] if plugin.name == name), None)
        return 0 if found is None else found.weight or 1

    def enable(self, point: str, name: str, weight: int = 0) -> None:
        self.enabled.setdefault(point, []).append(Plugin(name=name, weight=weight))

    def disable(self, point: str, name: str) -> None:
        self.disabled.setdefault(point, []).append(Plugin(name=name))

    def plugins(self) -> Plugins:
        points = dict.fromkeys((*self.enabled, *self.disabled))
        sets = {
            point: PluginSet(enabled=tuple(self.enabled.get(point, ())), disabled=tuple(self.disabled.get(point, ())))
            for point in points
        }
        return Plugins(**sets)
