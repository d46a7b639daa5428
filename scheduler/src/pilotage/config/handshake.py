"""What operator and scheduler agree on: the ConfigMap between them, and the annotations by which a replica answers.

The ConfigMap holds one unit: the configuration, and the plugin files that its profiles use. It has one hash, and is
built, acknowledged and rolled back as a whole.

data:
  scheduler-config.yaml            what kube-scheduler --config reads, too
  plugin-files.json                {schedulerName: [{path, key}]}; only where a profile uses plugin files
  name_score.0a1b2c3d4e5f6071.py   a plugin file, named by its stem and the hash of its text
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

CONFIGURATION, PLUGIN_FILES = "scheduler-config.yaml", "plugin-files.json"
# On the ConfigMap the first says what it holds; on a pod, what the replica runs.
HASH, TROUBLE = "pilotage.dev/config-hash", "pilotage.dev/config-trouble"
TRYING = "pilotage.dev/config-trying"  # on a pod: the hash that it is about to build
CONTENDED = "pilotage.dev/contended"  # on a pod: {schedulerName: {binds, rejections}} of profiles with too many
STRATEGY, RESTART = "pilotage.dev/strategy", "Restart"
# What a replica has against a configuration.
REFUSED, NEEDS_RESTART, FAILING, STALLED = "refused", "restart", "failing", "stalled"
_DIGITS = 16


class InvalidUnit(Exception):
    """The ConfigMap is not what the operator writes; the text says where."""


@dataclass(frozen=True)
class PluginFile:
    """A file with plugins: where people find it, and its text."""

    path: str  # CONFIGMAP/FILE.py
    text: str

    @property
    def hash(self) -> str:
        """Return the hash of its text."""
        return text_hash(self.text)

    @property
    def key(self) -> str:
        """Return the key that it has in the ConfigMap between operator and scheduler."""
        return f"{PurePosixPath(self.path).stem}.{self.hash}.py"


FilesByProfile = Mapping[str, tuple[PluginFile, ...]]


def text_hash(text: str) -> str:
    """Return a short name of a text: as long as it is the same, so is the text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


def unit_data(configuration: str, files: FilesByProfile) -> dict[str, str]:
    """Return the data of the ConfigMap for a configuration and the plugin files of each profile."""
    used = {name: found for name, found in files.items() if found}
    if not used:
        return {CONFIGURATION: configuration}
    index = {name: [{"path": file.path, "key": file.key} for file in found] for name, found in sorted(used.items())}
    return {
        CONFIGURATION: configuration,
        PLUGIN_FILES: json.dumps(index, indent=1, ensure_ascii=False),
        **texts_by_key(file for found in used.values() for file in found),
    }


def texts_by_key(files: Iterable[PluginFile]) -> dict[str, str]:
    """Return plugin files as the ConfigMap holds them."""
    return {file.key: file.text for file in sorted(files, key=lambda file: file.key)}


@dataclass(frozen=True)
class Unit:
    """A configuration and the plugin files of its profiles."""

    configuration: str
    files: FilesByProfile = field(default_factory=dict)


def unit_in(data: Mapping[str, str]) -> Unit:
    """Return what the ConfigMap holds; InvalidUnit if that is not what `unit_data` makes."""
    if not data.get(CONFIGURATION):
        raise InvalidUnit(f"there is no {CONFIGURATION} in the ConfigMap")
    return Unit(data[CONFIGURATION], _plugin_files(data))


def _plugin_files(data: Mapping[str, str]) -> dict[str, tuple[PluginFile, ...]]:
    try:
        index = json.loads(data.get(PLUGIN_FILES, "{}"))
        return {name: tuple(_file(data, **entry) for entry in entries) for name, entries in index.items()}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise InvalidUnit(f"{PLUGIN_FILES}: {type(error).__name__}: {error}") from error


def _file(data: Mapping[str, str], *, path: str, key: str) -> PluginFile:
    file = PluginFile(str(path), data[key])
    if file.key != key:
        raise ValueError(f"{key} does not have the text that it is named by")
    return file


def unit_hash(data: Mapping[str, str]) -> str:
    """Return the hash of all that a replica runs; that of the configuration alone where there are no plugin files."""
    configuration = data.get(CONFIGURATION, "")
    if PLUGIN_FILES not in data:
        return text_hash(configuration)
    # The index names each file by the hash of its text.
    return text_hash(f"{text_hash(configuration)} {text_hash(data[PLUGIN_FILES])}")
