"""The ConfigMaps with plugin files: current and previous content, and errors."""

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.config.handshake import PluginFile
from pilotage.scheduler_profiles.hashes import spec_hash
from pilotage_operator.profiles.actions import Action, WriteFileEvent
from pilotage_operator.profiles.plugin_library import Library
from pilotage_operator.profiles.units import Unit
from pilotage_operator.profiles.world import World


def plugin_files(world: World) -> list[PluginFile]:
    """Return all plugin files of a release."""
    return [file for source in world.plugin_sources for file in source.files]


def hash_of(spec: Any, files: tuple[PluginFile, ...]) -> str:
    """Return the hash of a spec with its plugin files; empty if it is nested too deeply to run."""
    try:
        return spec_hash(spec, files)
    except RecursionError:
        return ""


def where_plugins_were(units: Mapping[str, Unit]) -> dict[str, str]:
    """Return the path of each plugin's file when it ran."""
    return {plugin: path for unit in units.values() for plugin, path in unit.plugins.items()}


def about_files(world: World, library: Library) -> Iterator[Action]:
    """Return the events about invalid plugin files."""
    for source in world.plugin_sources:
        for file in source.files:
            if problem := library.broken.get(file.path):
                yield WriteFileEvent(source.name, source.uid, problem, f"{source.uid} {file.key} {problem}")
