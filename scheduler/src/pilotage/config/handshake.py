"""What operator and scheduler agree on: the ConfigMap between them, and the annotations with which a replica answers.

The ConfigMap holds one unit: the configuration, and the plugin files that its profiles use. It has one hash, and is
built, acknowledged and rolled back as a whole.

data:
  scheduler-config.yaml            what kube-scheduler --config reads, too
  plugin-files.json                {schedulerName: [{path, key}]}; only where a profile uses plugin files
  name_score.0a1b2c3d4e5f6071.py   a plugin file, named by its stem and the hash of its text

On its own pod a replica reports the hash that it runs, the one that it is about to build, what is wrong with one, of
which profiles kubelets reject too many pods, and for kubectl pilotage which certificate it shows. Both sides use only
the functions of this module.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import msgspec

CONFIGURATION, PLUGIN_FILES = "scheduler-config.yaml", "plugin-files.json"
# On the ConfigMap the first says what it holds; on a pod, what the replica runs.
HASH, TROUBLE = "pilotage.dev/config-hash", "pilotage.dev/config-trouble"
TRYING = "pilotage.dev/config-trying"  # on a pod: the hash that it is about to build
CERTIFICATE = "pilotage.dev/serving-certificate"  # on a pod: the SHA-256 of the certificate that its read API shows
CONTENDED = "pilotage.dev/contended"  # on a pod: {schedulerName: {binds, rejections}} of profiles with too many
STRATEGY, RESTART, HOT_RELOAD = "pilotage.dev/strategy", "Restart", "HotReload"
# Also on the ConfigMap: what only the operator reads, and the label by which it watches.
WRITTEN_AT, SERVED_HASH = "pilotage.dev/written-at", "pilotage.dev/served-hash"
SERVED, UNITS = "served.json", "units.json"
PLUGINS_LABEL = "pilotage.dev/plugins"  # of a ConfigMap with plugin files, too; its value is the release
# What is wrong with a configuration, according to a replica.
REFUSED, NEEDS_RESTART, FAILING, STALLED = "refused", "restart", "failing", "stalled"
LONGEST_MESSAGE = 4096  # characters; annotations have a limit that all of them share
_LONGEST_READ, _LONGEST_WORDS = 16 << 10, 1000  # anybody who may write to a pod may write there
_DIGITS = 16


class InvalidUnit(Exception):
    """The ConfigMap is not as the operator writes it; the text says where."""


@dataclass(frozen=True)
class PluginFile:
    """A file with plugins: its path for users, and its text."""

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
    """Return a short hash of a text."""
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
    """Return the content of the ConfigMap; InvalidUnit if `unit_data` could not have written it."""
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
        raise ValueError(f"the text of {key} does not match its name")
    return file


def unit_hash(data: Mapping[str, str]) -> str:
    """Return the hash of all that a replica runs; that of the configuration alone where there are no plugin files."""
    configuration = data.get(CONFIGURATION, "")
    if PLUGIN_FILES not in data:
        return text_hash(configuration)
    # The index names each file by the hash of its text.
    return text_hash(f"{text_hash(configuration)} {text_hash(data[PLUGIN_FILES])}")


# ------------------------------------------------------------------------------------------- what a replica says

Annotations = Mapping[str, str | None]  # None takes one away


class Trouble(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is wrong with the configuration of this hash, according to a replica."""

    kind: str  # refused, restart, failing or stalled
    hash: str
    scheduler_name: str = ""
    plugin: str = ""
    message: str


class Contention(msgspec.Struct, frozen=True):
    """How many of a profile's binds of the last minutes kubelets have rejected: too many."""

    binds: int
    rejections: int


@dataclass(frozen=True)
class Report:
    """What a replica reports about itself."""

    hash: str = ""  # of what it runs
    trying: str = ""  # the hash of what it was about to build
    trouble: Trouble | None = None
    contended: Mapping[str, Contention] = field(default_factory=dict)  # by scheduler name


def running(found: str) -> Annotations:
    """Acknowledge: this hash runs without trouble."""
    return {HASH: found, TROUBLE: None, TRYING: None}


def trying(wanted: str) -> Annotations:
    """Report which hash is about to be built."""
    return {TRYING: wanted}


def troubled(trouble: Trouble) -> Annotations:
    """Report what is wrong with a configuration; what runs stays."""
    return {TROUBLE: _trouble_text(trouble), TRYING: None}


def stalled(trouble: Trouble) -> Annotations:
    """Report what blocks this replica, from another thread: its other annotations stay."""
    return {TROUBLE: _trouble_text(trouble)}


def contended(found: Mapping[str, Contention]) -> Annotations:
    """Report the profiles with too many rejections."""
    return {CONTENDED: json.dumps(msgspec.to_builtins(found)) if found else None}


def announcing(fingerprint: str) -> Annotations:
    """Announce the certificate of the read API by its SHA-256; "" for none."""
    return {CERTIFICATE: fingerprint or None}


def report_in(annotations: Mapping[str, str]) -> Report:
    """Return a replica's report, without what cannot be read."""
    return Report(
        annotations.get(HASH, ""),
        annotations.get(TRYING, ""),
        _trouble_in(annotations.get(TROUBLE, "")),
        _contended_in(annotations.get(CONTENDED, "")),
    )


def _trouble_text(trouble: Trouble) -> str:
    short = msgspec.structs.replace(trouble, message=trouble.message[:LONGEST_MESSAGE])
    return json.dumps(msgspec.to_builtins(short))


def _trouble_in(text: str) -> Trouble | None:
    found = _written(text)
    if found is None:
        return None
    fields = msgspec.structs.fields(Trouble)
    return Trouble(**{each.name: str(found.get(each.encode_name, ""))[:_LONGEST_WORDS] for each in fields})


def _contended_in(text: str) -> dict[str, Contention]:
    try:
        found = msgspec.convert(_written(text) or {}, dict[str, Contention])
    except msgspec.ValidationError:
        return {}
    return {name: each for name, each in found.items() if each.rejections > 0 and each.binds >= 0}


def _written(text: str) -> dict[str, Any] | None:
    """Return the content of an annotation, if it is a map of acceptable size."""
    if not text or len(text) > _LONGEST_READ:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
