"""Extension points listed for plugins that do not implement them in Pilotage."""

from collections import defaultdict

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.types import Plugins
from pilotage.conversion.older_types import OlderPlugins


def with_reserve(given: OlderPlugins) -> tuple[Plugins, list[str]]:
    """Return the sets of v1; unreserve is part of reserve."""
    names = {plugin.name for plugin in given.reserve.enabled}
    added = tuple(plugin for plugin in given.unreserve.enabled if plugin.name not in names)
    reserve = given.reserve.model_copy(update={"enabled": (*given.reserve.enabled, *added)})
    sets = {name: getattr(given, name) for name in Plugins.model_fields} | {"reserve": reserve}
    return Plugins(**sets), [plugin.name for plugin in given.unreserve.enabled]


def without_missing_points(given: Plugins, catalogue: Catalogue) -> tuple[Plugins, dict[str, list[str]]]:
    """Return the sets without points that known plugins do not implement, and these points by plugin."""
    missing: defaultdict[str, list[str]] = defaultdict(list)
    sets = {"multi_point": given.multi_point}
    for point in ExtensionPoint:
        plugins = given.at(point)
        for plugin in plugins.enabled:
            if plugin.name in catalogue.names() and point not in catalogue.points(plugin.name):
                missing[plugin.name].append(point.value)
        kept = tuple(plugin for plugin in plugins.enabled if point.value not in missing.get(plugin.name, ()))
        sets[point.name.lower()] = plugins.model_copy(update={"enabled": kept})
    return Plugins(**sets), dict(missing)
