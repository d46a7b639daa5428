"""From a profile of a configuration to the spec of a SchedulerProfile that runs the same plugins at the same points."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.expansion import Expansion, expand, merged
from pilotage.config.types import Plugins, PluginSet, Profile
from pilotage.scheduler_profiles.render import profile_of
from pilotage.scheduler_profiles.resource import Point, Spec

_SCORE, _SORT = ExtensionPoint.SCORE, ExtensionPoint.QUEUE_SORT
_DEFAULTS = {plugin.name: plugin.weight or 1 for plugin in DEFAULT_PLUGINS}
_POINTS = {ExtensionPoint(point.value): point for point in Point}
# Where who comes first is to be seen from outside.
_ORDERED = (ExtensionPoint.FILTER, ExtensionPoint.POST_FILTER, ExtensionPoint.BIND)


@dataclass(frozen=True)
class Lineup:
    """Who takes part where, as far as it makes a difference, and how much each score counts."""

    points: Mapping[str, frozenset[ExtensionPoint]]  # by plugin
    weights: Mapping[str, int]

    @property
    def sorter(self) -> str:
        """Return who sorts the queue."""
        return next((name for name, points in self.points.items() if _SORT in points), "")


def lineup_of(expansion: Expansion) -> Lineup:
    """Return what an expansion comes to."""
    names = dict.fromkeys(name for point in _POINTS for name in expansion.points[point])
    has = {name: {point for point in _POINTS if name in expansion.points[point]} for name in names}
    points = {name: _of_use(name, points) for name, points in has.items()}
    used = {name: points for name, points in points.items() if points}
    return Lineup(used, {name: weight for name, weight in expansion.weights[_SCORE].items() if name in used})


def _of_use(name: str, points: set[ExtensionPoint]) -> frozenset[ExtensionPoint]:
    """Leave out a point at which a default plugin only prepares another one that it does not have."""
    if name in _DEFAULTS and _SCORE not in points:
        points = points - {ExtensionPoint.PRE_SCORE}
    preempts = name == "DefaultPreemption"
    return frozenset(points - {ExtensionPoint.PRE_ENQUEUE} if preempts and len(points) == 1 else points)


def spec_of(profile: Profile, catalogue: Catalogue) -> dict[str, Any]:
    """Return the spec for a profile that can be expanded; plugins that nobody knows are named as they are."""
    known, unknown = _parted(profile.plugins, catalogue)
    wanted = lineup_of(_expanded(profile, known, catalogue))
    arguments = {entry.name: entry.args for entry in profile.plugin_config if entry.args}
    entries = [*_entries(_order(known), wanted, arguments, catalogue), *_strangers(unknown, arguments)]
    spec: dict[str, Any] = {"plugins": entries} if entries else {}
    if profile.percentage_of_nodes_to_score:
        spec["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    return spec


@dataclass(frozen=True)
class Comparison:
    """Whether a spec comes to what a profile comes to, and the points at which only the order differs."""

    is_same: bool
    reordered: list[tuple[str, tuple[str, ...], tuple[str, ...]]]


def compared(profile: Profile, spec: Mapping[str, Any], catalogue: Catalogue) -> Comparison:
    """Hold what an operator makes of a spec against a profile; who is unknown is left out of both."""
    known, _ = _parted(profile.plugins, catalogue)
    entries = [entry for entry in spec.get("plugins", ()) if entry["name"] in catalogue.names()]
    made = Profile.model_validate(profile_of("p", Spec(plugins=entries), catalogue))
    before, now = _expanded(profile, known, catalogue), _expanded(made, made.plugins, catalogue)
    pairs = [(point.value, before.points[point], now.points[point]) for point in _ORDERED]
    reordered = [(point, old, new) for point, old, new in pairs if old != new and set(old) == set(new)]
    return Comparison(lineup_of(before) == lineup_of(now), reordered)


def unknown_plugins(profile: Profile, catalogue: Catalogue) -> list[str]:
    """Return the plugins of a profile that nobody knows."""
    return list(_parted(profile.plugins, catalogue)[1])


def complaints_about(profile: Profile, catalogue: Catalogue) -> list[str]:
    """Return why no scheduler can put the plugins of a profile together."""
    known, _ = _parted(profile.plugins, catalogue)
    return [complaint.text for complaint in _expanded(profile, known, catalogue).complaints]


def _expanded(profile: Profile, plugins: Plugins, catalogue: Catalogue) -> Expansion:
    return expand(profile.model_copy(update={"plugins": merged(plugins)}), catalogue)


def _parted(plugins: Plugins, catalogue: Catalogue) -> tuple[Plugins, dict[str, dict[str, int]]]:
    """Part the sets from plugins that nobody knows, which come by name with their points and weights."""
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


def _order(known: Plugins) -> list[str]:
    """Return the plugins that are named and no defaults, in their order, and then the defaults."""
    sets = [known.multi_point, *(known.at(point) for point in _POINTS)]
    named = dict.fromkeys(plugin.name for each in sets for plugin in each.enabled)
    return [*(name for name in named if name not in _DEFAULTS), *_DEFAULTS]


def _entries(
    names: list[str], wanted: Lineup, arguments: Mapping[str, Any], catalogue: Catalogue
) -> Iterator[dict[str, Any]]:
    for name in names:
        points, has = wanted.points.get(name, frozenset()), _has(name, catalogue)
        if not points:
            if name in _DEFAULTS and has and not _goes_by_itself(name, wanted):
                yield {"name": name, "enabled": False}
            continue
        entry: dict[str, Any] = {}
        if (weight := wanted.weights.get(name, 0)) and _SCORE in points and weight != _DEFAULTS.get(name, 1):
            entry["weight"] = weight
        if name in arguments:
            entry["args"] = dict(arguments[name])
        if points != has and not (points == has - {_SORT} and wanted.sorter in _DEFAULTS):
            entry["points"] = [point.value for known, point in _POINTS.items() if known in points]
        if entry or name not in _DEFAULTS:
            yield {"name": name, **entry}


def _goes_by_itself(name: str, wanted: Lineup) -> bool:
    """Tell whether a plugin need not be disabled: one that only sorts the queue takes the place of the default one."""
    return name == "PrioritySort" and wanted.points.get(wanted.sorter) == frozenset({_SORT})


def _has(name: str, catalogue: Catalogue) -> frozenset[ExtensionPoint]:
    return frozenset(catalogue.points(name)) & _POINTS.keys() if name in catalogue.names() else frozenset()


def _strangers(unknown: Mapping[str, Mapping[str, int]], arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield entries for plugins of which nothing is known but what the profile says."""
    for name, places in unknown.items():
        entry: dict[str, Any] = {"name": name}
        if weight := max(places.values()):
            entry["weight"] = weight
        if name in arguments:
            entry["args"] = arguments[name]
        if "multiPoint" not in places:
            entry["points"] = [point.value for point in Point if point.value in places]
        yield entry
