"""Notes about valid settings that are probably mistakes."""

from collections.abc import Iterator

from pilotage.config.arguments import enabled
from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.documents import At
from pilotage.config.expansion import ALL, WEIGHED, merged
from pilotage.config.faults import dotted
from pilotage.config.sharing import READERS
from pilotage.config.suggestions import did_you_mean
from pilotage.config.types import KubeSchedulerConfiguration, Plugins, PluginSet, Profile

_DEFAULT_WEIGHTS = {plugin.name: plugin.weight for plugin in DEFAULT_PLUGINS if plugin.weight > 1}


def advise(given: KubeSchedulerConfiguration, catalogue: Catalogue) -> list[str]:
    """Return notes about a configuration as written, before defaults are merged."""
    return [
        sentence
        for i, profile in enumerate(given.profiles)
        for sentence in (
            *_plugin_sets(("profiles", i, "plugins"), profile.plugins),
            *_unused(i, profile, catalogue.of(profile.scheduler_name)),
        )
    ]


def _plugin_sets(at: At, plugins: Plugins) -> Iterator[str]:
    here = merged(plugins)
    everywhere = [plugin.name for plugin in here.multi_point.enabled]
    yield from _lost_weights((*at, "multiPoint"), plugins.multi_point)
    yield from _idle_disables((*at, "multiPoint"), plugins.multi_point, [plugin.name for plugin in DEFAULT_PLUGINS])
    for point in ExtensionPoint:
        if point in WEIGHED:
            yield from _lost_weights((*at, point.value), plugins.at(point))
        yield from _idle_disables((*at, point.value), plugins.at(point), everywhere)


def _lost_weights(at: At, plugins: PluginSet) -> Iterator[str]:
    for k, plugin in enumerate(plugins.enabled):
        default = _DEFAULT_WEIGHTS.get(plugin.name, 0)
        if default and not plugin.weight:
            where = dotted((*at, "enabled", k))
            yield f"{where}: {plugin.name} has weight 1, not its default {default}; set weight: {default} to keep it"


def _idle_disables(at: At, plugins: PluginSet, names: list[str]) -> Iterator[str]:
    for k, plugin in enumerate(plugins.disabled):
        if plugin.name != ALL and plugin.name not in names:
            where, question = dotted((*at, "disabled", k)), did_you_mean(plugin.name, names)
            yield f'{where}: "{plugin.name}" is not enabled, so nothing is disabled{"; " if question else ""}{question}'


def _unused(i: int, profile: Profile, catalogue: Catalogue) -> Iterator[str]:
    running = enabled(profile.model_copy(update={"plugins": merged(profile.plugins)}))
    for j, entry in enumerate(profile.plugin_config):
        if entry.name not in running and entry.name not in READERS:
            where, question = dotted(("profiles", i, "pluginConfig", j)), did_you_mean(entry.name, catalogue.names())
            yield f'{where}: "{entry.name}" is not enabled, so its arguments have no effect' + (
                f"; {question}" if question and entry.name not in catalogue.names() else ""
            )
