"""The catalogue of all plugins: built-in ones, those of installed packages, and those of plugin folders."""

import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from inspect import cleandoc
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import pilotage.plugins
from pilotage.config.catalogue import Arguments, ExtensionPoint, ReadArguments
from pilotage.config.documents import At
from pilotage.config.faults import dotted
from pilotage.config.handshake import FilesByProfile, PluginFile
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.framework.runtime.watchdog import within_budget
from pilotage.kinds.kube_object import KubeObject
from pilotage.plugins.plugin_files import first_line, plugin_files, plugins_in_file, plugins_in_text, plugins_of
from pilotage.plugins.soundness import BrokenPlugin, checked

__all__ = ["BrokenPlugin", "Entry", "PluginCatalogue", "built_in"]

ENTRY_POINTS = "pilotage.plugins"
BUILT_IN = "built in"  # the origin of our own
LONGEST_IMPORT = 1.0  # seconds for a plugin file; the operator has verified that it finishes


@dataclass(frozen=True)
class Entry:
    """A plugin and its origin."""

    plugin: type[Plugin]
    origin: str

    @cached_property
    def points(self) -> frozenset[ExtensionPoint]:
        """Return the plugin's extension points; used by every profile, point by point."""
        return self.plugin.points()

    @property
    def description(self) -> str:
        """Return the first line of the plugin's docstring."""
        return cleandoc(self.plugin.__doc__ or "").partition("\n")[0]

    def read_arguments(self, given: Mapping[str, Any] | None, at: At) -> Arguments:
        """Return the arguments with defaults, and their errors; BrokenPlugin if the plugin fails."""
        with self._fence():
            return self.plugin.read_arguments(given, at)

    def construct(self, arguments: Mapping[str, Any]) -> Plugin:
        """Return the plugin with its arguments; BrokenPlugin if it cannot be constructed."""
        with self._fence():
            return self.plugin(args=self.plugin.Args.model_validate(arguments, by_alias=True, by_name=False))

    @contextmanager
    def _fence(self) -> Iterator[None]:
        try:
            yield
        except ValidationError as error:
            faults = [f"{dotted(each['loc'])}: {each['msg']}" for each in error.errors(include_url=False)]
            problem = "; ".join(faults)
            raise self._broken(f"{problem}; arguments belong under pluginConfig in a configuration") from error
        except Exception as error:
            raise self._broken(f"{type(error).__name__}: {first_line(error)}") from error

    def _broken(self, problem: str) -> BrokenPlugin:
        found = BrokenPlugin(f"{self.origin}: {self.plugin.name} cannot be constructed: {problem}")
        found.plugin = self.plugin.name
        return found


class PluginCatalogue:
    """Plugins by name; implements `config.Catalogue`, and returns the classes themselves."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._own: dict[str, PluginCatalogue] = {}  # of profiles with plugin files, by scheduler name
        self._files: dict[PluginFile, list[type[Plugin]]] = {}

    def copy(self) -> "PluginCatalogue":
        """Return a copy to which plugins can be added."""
        found = PluginCatalogue()
        found._entries = dict(self._entries)
        return found

    def of(self, scheduler_name: str) -> "PluginCatalogue":
        """Return the plugins available to the profile of this name."""
        return self._own.get(scheduler_name, self)

    def with_files(self, files: FilesByProfile) -> "PluginCatalogue":
        """Return these plugins and those of plugin files, each for its profile; known texts are not imported again.

        Two profiles may run different texts of one file: the previous text, if the new one failed.
        """
        found = PluginCatalogue()
        found._entries = self._entries
        for name, used in files.items():
            own = found._own[name] = self.copy()
            for file in used:
                plugins = found._files[file] = self._files.get(file) or _imported(file)
                for plugin in plugins:
                    own.add(plugin, file.path)
        return found

    def add(self, plugin: type[Plugin], origin: str) -> None:
        """Add a plugin; names must be unique."""
        known = self._entries.get(plugin.name)
        if known is not None and known.plugin is not plugin:
            raise BrokenPlugin(
                f"{origin}: the plugin {plugin.name} already exists ({known.origin}); give this class another name"
            )
        self._entries[plugin.name] = Entry(plugin, origin)

    def add_folder(self, folder: Path) -> list[str]:
        """Add every plugin of the .py files of a folder; returns their names."""
        if not folder.is_dir():
            raise BrokenPlugin(f"{folder}: no such folder; --plugin-dir requires a folder with .py files")
        names, problems = [], []
        for file in plugin_files(folder):
            try:
                for plugin in plugins_in_file(file):
                    self.add(plugin, str(file))
                    names.append(plugin.name)
            except BrokenPlugin as error:
                problems.append(str(error))
        if problems:
            raise BrokenPlugin("\n".join(problems))
        if not names:
            raise BrokenPlugin(f"{folder}: no .py file in it; a plugin is one file")
        return names

    def __iter__(self) -> Iterator[Entry]:
        """Yield all plugins by name."""
        return iter(sorted(self._entries.values(), key=lambda entry: entry.plugin.name))

    def entry(self, name: str) -> Entry | None:
        """Return one plugin."""
        return self._entries.get(name)

    def plugin(self, name: str) -> type[Plugin]:
        """Return the class of a known plugin."""
        return self._entries[name].plugin

    def names(self) -> Collection[str]:
        """Return the name of every plugin."""
        return self._entries.keys()

    def kinds(self) -> set[type[KubeObject]]:
        """Return the kinds of objects that any plugin reads."""
        return {kind for entry in self._entries.values() for kind in entry.plugin.reads}

    def points(self, plugin: str) -> Collection[ExtensionPoint]:
        """Return a plugin's extension points."""
        return self._entries[plugin].points

    def arguments(self, plugin: str) -> ReadArguments | None:
        """Return how a plugin reads its arguments; None if it has none."""
        entry = self._entries.get(plugin)
        return entry.read_arguments if entry is not None and entry.plugin.Args.model_fields else None

    def construct(self, name: str, arguments: Mapping[str, Any]) -> Plugin:
        """Return a plugin with its arguments; BrokenPlugin if it cannot be constructed."""
        return self._entries[name].construct(arguments)


def built_in() -> PluginCatalogue:
    """Return the plugins of this folder and of installed packages."""
    catalogue = PluginCatalogue()
    for name in _modules_of_plugins():
        for plugin in plugins_of(import_module(name), name):
            catalogue.add(plugin, BUILT_IN)
    for point in entry_points(group=ENTRY_POINTS):
        origin = f"{point.dist.name if point.dist else '?'} ({point.value})"
        catalogue.add(checked(_from_package(point.load, origin), origin), origin)
    return catalogue


def _modules_of_plugins() -> Iterator[str]:
    """Yield the modules and packages of plugins: everything in the subjects' folders except shared code."""
    for subject in pkgutil.iter_modules(pilotage.plugins.__path__, "pilotage.plugins."):
        if subject.ispkg:
            folder = import_module(subject.name).__path__
            yield from (f"{subject.name}.{each.name}" for each in pkgutil.iter_modules(folder) if each.name[0] != "_")


def _imported(file: PluginFile) -> list[type[Plugin]]:
    """Import a plugin file with a time limit; BrokenPlugin if it does not finish."""
    try:
        with within_budget(f"importing {file.path}", LONGEST_IMPORT):
            return plugins_in_text(file.path, file.text)
    except PluginFailed as error:
        raise BrokenPlugin(str(error)) from error


def _from_package(load: Callable[[], object], origin: str) -> type[Plugin]:
    try:
        found = load()
    except (Exception, SystemExit) as error:
        raise BrokenPlugin(f"{origin}: it cannot be imported: {type(error).__name__}: {first_line(error)}") from error
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise BrokenPlugin(f"{origin}: an entry point of {ENTRY_POINTS} must be a plugin class, not {found!r}")
    if not found.points():
        raise BrokenPlugin(f"{origin}: {found.name} implements no extension point; add a base such as Filter or Score")
    return found
