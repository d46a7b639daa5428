"""The contract between operator and scheduler: their ConfigMap, and the annotations in which a replica reports.

The ConfigMap contains one unit: the configuration and the plugin files that its profiles use. The unit has one hash,
and is built, acknowledged and rolled back as a whole.

data:
  scheduler-config.yaml            the configuration, which kube-scheduler --config could read as well
  plugin-files.json                {schedulerName: [{path, key}]}; only if a profile uses plugin files
  name_score.0a1b2c3d4e5f6071.py   a plugin file, named by its stem and the hash of its text

On its own pod a replica reports the hash that it runs, the one that it is about to build, errors, the profiles of which
kubelets reject too many pods, and, for kubectl pilotage, the certificate of its read API. Both sides use only the
functions of this module.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import msgspec

CONFIGURATION, PLUGIN_FILES = "scheduler-config.yaml", "plugin-files.json"
# On the ConfigMap, the hash of its content; on a pod, the hash that the replica runs.
HASH, TROUBLE = "pilotage.dev/config-hash", "pilotage.dev/config-trouble"
TRYING = "pilotage.dev/config-trying"  # on a pod: the hash that it is about to build
CERTIFICATE = "pilotage.dev/serving-certificate"  # on a pod: the SHA-256 of the certificate that its read API shows
CONTENDED = "pilotage.dev/contended"  # on a pod: {schedulerName: {binds, rejections}} of profiles with too many
STRATEGY, RESTART, HOT_RELOAD = "pilotage.dev/strategy", "Restart", "HotReload"
# Also on the ConfigMap: data that only the operator reads, and the label for its watch.
WRITTEN_AT, SERVED_HASH = "pilotage.dev/written-at", "pilotage.dev/served-hash"
SERVED, UNITS = "served.json", "units.json"
PLUGINS_LABEL = "pilotage.dev/plugins"  # of a ConfigMap with plugin files, too; its value is the release
# A replica's error about a configuration.
REFUSED, NEEDS_RESTART, FAILING, STALLED = "refused", "restart", "failing", "stalled"
LONGEST_MESSAGE = 4096  # characters; annotations share one size limit
_LONGEST_READ, _LONGEST_WORDS = 16 << 10, 1000  # every user who may change the pod can write them
_DIGITS = 16


class InvalidUnit(Exception):
    """The ConfigMap is not in the operator's format; the message says where."""


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
        """Return its key in the ConfigMap."""
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
    """Return the texts of plugin files by their keys in the ConfigMap."""
    return {file.key: file.text for file in sorted(files, key=lambda file: file.key)}


@dataclass(frozen=True)
class Unit:
    """A configuration and the plugin files of its profiles."""

    configuration: str
    files: FilesByProfile = field(default_factory=dict)


def unit_in(data: Mapping[str, str]) -> Unit:
    """Return the content of the ConfigMap; InvalidUnit if it is not in the format of `unit_data`."""
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
    """Return the hash of a unit; without plugin files, that of the configuration."""
    configuration = data.get(CONFIGURATION, "")
    if PLUGIN_FILES not in data:
        return text_hash(configuration)
    # The index contains the hash of each file's text.
    return text_hash(f"{text_hash(configuration)} {text_hash(data[PLUGIN_FILES])}")


# ------------------------------------------------------------------------------------------- reports of a replica

Annotations = Mapping[str, str | None]  # None removes one


class Trouble(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A replica's error about the configuration with this hash."""

    kind: str  # refused, restart, failing or stalled
    hash: str
    scheduler_name: str = ""
    plugin: str = ""
    message: str


class Contention(msgspec.Struct, frozen=True):
    """The binds of a profile in the last minutes, and the rejections by kubelets."""

    binds: int
    rejections: int


@dataclass(frozen=True)
class Report:
    """What a replica reports about itself."""

    hash: str = ""  # that it runs
    trying: str = ""  # the hash that it was about to build
    trouble: Trouble | None = None
    contended: Mapping[str, Contention] = field(default_factory=dict)  # by scheduler name


def running(found: str) -> Annotations:
    """Acknowledge that this hash runs without errors."""
    return {HASH: found, TROUBLE: None, TRYING: None}


def trying(wanted: str) -> Annotations:
    """Report which hash is about to be built."""
    return {TRYING: wanted}


def troubled(trouble: Trouble) -> Annotations:
    """Report an error about a configuration, without changing the acknowledged hash."""
    return {TROUBLE: _trouble_text(trouble), TRYING: None}


def stalled(trouble: Trouble) -> Annotations:
    """Report from another thread what blocks this replica, without changing other annotations."""
    return {TROUBLE: _trouble_text(trouble)}


def contended(found: Mapping[str, Contention]) -> Annotations:
    """Report the profiles with too many rejections."""
    return {CONTENDED: json.dumps(msgspec.to_builtins(found)) if found else None}


def announcing(fingerprint: str) -> Annotations:
    """Announce the certificate of the read API by its SHA-256; "" for none."""
    return {CERTIFICATE: fingerprint or None}


def report_in(annotations: Mapping[str, str]) -> Report:
    """Return a replica's report, without invalid parts."""
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
    """Return the content of an annotation if it is a map of acceptable size."""
    if not text or len(text) > _LONGEST_READ:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
