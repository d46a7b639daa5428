"""Converts a profile of a configuration to the spec of a SchedulerProfile with the same plugins at the same points."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.sharing import NODES, SHARING
from pilotage.config.types import Plugins, Profile
from pilotage.conversion.effective_plugins import (
    DEFAULTS,
    POINTS,
    SCORE,
    SORT,
    EffectivePlugins,
    expanded,
    parted,
    plugin_set_of,
)
from pilotage.scheduler_profiles.render import profile_of
from pilotage.scheduler_profiles.resource import Point, Spec

_DECIDED_BY_THE_FIRST = (ExtensionPoint.POST_FILTER, ExtensionPoint.BIND)
# The points where the order has a visible effect.
_ORDERED = (ExtensionPoint.FILTER, *_DECIDED_BY_THE_FIRST)


def spec_of(profile: Profile, catalogue: Catalogue) -> dict[str, Any]:
    """Return the spec for a valid profile; unknown plugins are kept by name."""
    known, unknown = parted(profile.plugins, catalogue)
    wanted = plugin_set_of(expanded(profile, known, catalogue))
    arguments = {entry.name: entry.args for entry in profile.plugin_config if entry.args}
    entries = [*_entries(_order(known), wanted, arguments, catalogue), *_of_unknown(unknown, arguments)]
    for point in _DECIDED_BY_THE_FIRST:
        reordered = {at: before for at, before, _ in compared(profile, {"plugins": entries}, catalogue).reordered}
        if point.value in reordered:
            entries = _in_order(entries, reordered[point.value], wanted)
    spec: dict[str, Any] = {"plugins": entries} if entries else {}
    if profile.percentage_of_nodes_to_score:
        spec["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    settings = {SHARING: "sharing", NODES: "nodes"}
    return spec | {field: arguments[name] for name, field in settings.items() if name in arguments}


@dataclass(frozen=True)
class Comparison:
    """Whether a spec and a profile have the same effect, and the points at which only the order differs."""

    is_same: bool
    reordered: list[tuple[str, tuple[str, ...], tuple[str, ...]]]


def compared(profile: Profile, spec: Mapping[str, Any], catalogue: Catalogue) -> Comparison:
    """Compare a rendered spec with a profile; unknown plugins are left out of both."""
    known, _ = parted(profile.plugins, catalogue)
    entries = [entry for entry in spec.get("plugins", ()) if entry["name"] in catalogue.names()]
    try:
        rendered = profile_of("p", Spec(plugins=entries), catalogue)
    except ValidationError:
        return Comparison(is_same=True, reordered=[])  # there is nothing to compare, and validation reports why
    made = Profile.model_validate(rendered)
    before, now = expanded(profile, known, catalogue), expanded(made, made.plugins, catalogue)
    pairs = [(point.value, before.points[point], now.points[point]) for point in _ORDERED]
    reordered = [(point, old, new) for point, old, new in pairs if old != new and set(old) == set(new)]
    return Comparison(plugin_set_of(before) == plugin_set_of(now), reordered)


def _order(known: Plugins) -> list[str]:
    """Return the listed plugins that are not defaults, in their order, and then the defaults."""
    sets = [known.multi_point, *(known.at(point) for point in POINTS)]
    named = dict.fromkeys(plugin.name for each in sets for plugin in each.enabled)
    return [*(name for name in named if name not in DEFAULTS), *DEFAULTS]


def _entries(
    names: list[str], wanted: EffectivePlugins, arguments: Mapping[str, Any], catalogue: Catalogue
) -> Iterator[dict[str, Any]]:
    for name in names:
        points, has = wanted.points.get(name, frozenset()), _has(name, catalogue)
        if not points:
            if name in DEFAULTS and has and not _is_replaced_anyway(name, wanted):
                yield {"name": name, "enabled": False}
            continue
        entry: dict[str, Any] = {}
        if (weight := wanted.weights.get(name, 0)) and SCORE in points and weight != DEFAULTS.get(name, 1):
            entry["weight"] = weight
        if name in arguments:
            entry["args"] = arguments[name]
        if points != has and not (points == has - {SORT} and wanted.sorter in DEFAULTS):
            entry["points"] = _written(points)
        if entry or name not in DEFAULTS:
            yield {"name": name, **entry}


def _written(points: frozenset[ExtensionPoint]) -> list[str]:
    return [point.value for known, point in POINTS.items() if known in points]


def _in_order(entries: list[dict[str, Any]], names: tuple[str, ...], wanted: EffectivePlugins) -> list[dict[str, Any]]:
    """Let these plugins list their points, so that they run after all others, in the order of their entries."""
    known = {entry["name"]: entry for entry in entries}
    moved = [{**known.get(name, {"name": name}), "points": _written(wanted.points[name])} for name in names]
    return [*(entry for entry in entries if entry["name"] not in names), *moved]


def _is_replaced_anyway(name: str, wanted: EffectivePlugins) -> bool:
    """Return whether a plugin need not be disabled explicitly: a sort-only plugin is replaced anyway."""
    return name == "PrioritySort" and wanted.points.get(wanted.sorter) == frozenset({SORT})


def _has(name: str, catalogue: Catalogue) -> frozenset[ExtensionPoint]:
    return frozenset(catalogue.points(name)) & POINTS.keys() if name in catalogue.names() else frozenset()


def _of_unknown(unknown: Mapping[str, Mapping[str, int]], arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield entries for unknown plugins, as in the profile."""
    for name, places in unknown.items():
        entry: dict[str, Any] = {"name": name}
        if weight := max(places.values()):
            entry["weight"] = weight
        if name in arguments:
            entry["args"] = arguments[name]
        if "multiPoint" not in places:
            entry["points"] = [point.value for point in Point if point.value in places]
        yield entry
