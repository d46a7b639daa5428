"""The plugin files of a release: their plugins, and the errors of invalid files."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pilotage.config.handshake import PluginFile
from pilotage.scheduler_profiles.judge import BROKEN_PLUGIN, UNKNOWN_PLUGIN, Complaint
from pilotage.scheduler_profiles.wording import shortened

LARGEST_FILE = 64 << 10  # bytes
MOST_FILES = 200
_NOT_PLUGINS = ("_", "test_")

# Returns the names of the plugins in a file, or its error.
Describe = Callable[[PluginFile], tuple[tuple[str, ...], str]]


@dataclass(frozen=True)
class Library:
    """All current plugin files."""

    by_plugin: Mapping[str, PluginFile] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)  # path -> error, with path and line

    def files_for(self, spec: Any) -> tuple[PluginFile, ...]:
        """Return the files with the plugins that a spec enables."""
        found = {self.by_plugin[name] for name in _enabled(spec) if name in self.by_plugin}
        return tuple(sorted(found, key=lambda file: file.path))

    def plugins_in(self, files: Collection[PluginFile]) -> dict[str, str]:
        """Return the plugins of these files, each with the path of its file."""
        return {name: file.path for name, file in self.by_plugin.items() if file in files}

    def explained(self, complaints: Sequence[Complaint], history: Mapping[str, str]) -> Iterator[Complaint]:
        """Yield complaints, extended by file errors; `history` maps plugins to their previous files."""
        for each in complaints:
            if each.reason != UNKNOWN_PLUGIN or not each.plugin:
                yield each
            elif not (each.is_harmless and (self.broken or each.plugin in {*self.by_plugin, *history})):
                yield self._about_unknown(each, history.get(each.plugin, ""))

    def _about_unknown(self, complaint: Complaint, path: str) -> Complaint:
        at = f"spec.plugins[name={complaint.plugin}]"
        if path in self.broken:
            return replace(complaint, reason=BROKEN_PLUGIN, message=shortened(f"{at}: {self.broken[path]}"))
        if path:
            return replace(complaint, message=f"{at}: unknown plugin; {path}, which defined it, was deleted")
        if self.broken:
            broken = "; ".join(self.broken.values())
            return replace(complaint, message=shortened(f"{complaint.message}; a plugin file cannot be used: {broken}"))
        return complaint


def library(files: Sequence[PluginFile], describe: Describe) -> Library:
    """Inspect files, the oldest first: the first file with a plugin's name keeps it."""
    by_plugin: dict[str, PluginFile] = {}
    broken: dict[str, str] = {}
    for place, file in enumerate(files):
        names, problem = ((), too_much) if (too_much := _too_much(file, place)) else describe(file)
        problem = problem or _taken(names, by_plugin)
        if problem:
            broken[file.path] = problem if problem.startswith(file.path) else f"{file.path}: {problem}"
        else:
            by_plugin |= dict.fromkeys(names, file)
    return Library(by_plugin, broken)


def is_plugin_file(key: str) -> bool:
    """Return whether a key of a ConfigMap is a plugin file, not a test or a name that starts with an underscore."""
    return key.endswith(".py") and not key.startswith(_NOT_PLUGINS) and key != "conftest.py"


def _enabled(spec: Any) -> Iterator[str]:
    """Yield the plugins that a spec enables; the spec may have any type."""
    plugins = spec.get("plugins") if isinstance(spec, Mapping) else None
    for entry in plugins if isinstance(plugins, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str) and entry.get("enabled") is not False:
            yield entry["name"]


def _too_much(file: PluginFile, place: int) -> str:
    size = len(file.text.encode(errors="surrogatepass"))
    if size > LARGEST_FILE:
        return f"it has {size >> 10} KiB, more than the limit of {LARGEST_FILE >> 10}; split it"
    return f"there are more than {MOST_FILES} plugin files; remove some" if place >= MOST_FILES else ""


def _taken(names: Collection[str], by_plugin: Mapping[str, PluginFile]) -> str:
    for name in names:
        if name in by_plugin:
            return f"{by_plugin[name].path} already defines the plugin {name}; rename this class"
    return ""
