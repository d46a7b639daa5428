"""Known weaknesses in the words of OSV: which versions of which packages an advisory is about."""

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from packaging.version import InvalidVersion, Version

from localcluster.errors import Problem
from supply.lock import canonical

Advisory = Mapping[str, Any]


@dataclass(frozen=True, order=True)
class Weakness:
    """One package that an advisory is about."""

    package: str
    version: str
    advisory: str
    summary: str


class Database:
    """Advisories about Python packages, from a copy on this machine."""

    def __init__(self, advisories: Iterable[Advisory]) -> None:
        self.newest = datetime.min.replace(tzinfo=UTC)
        self._by_package: dict[str, list[Advisory]] = {}
        for advisory in advisories:
            self.newest = max(self.newest, _moment(advisory.get("modified")))
            for name in {_name(affected) for affected in advisory.get("affected", ())} - {None}:
                self._by_package.setdefault(str(name), []).append(advisory)

    def __len__(self) -> int:
        return len(self._by_package)

    def weaknesses(self, name: str, version: str) -> Iterator[Weakness]:
        """Yield what is known of a version."""
        for advisory in self._by_package.get(name, ()):
            own = [affected for affected in advisory["affected"] if _name(affected) == name]
            if not advisory.get("withdrawn") and any(is_affected(affected, version) for affected in own):
                yield Weakness(name, version, advisory["id"], str(advisory.get("summary", "")))


def read_database(path: Path) -> Database:
    """Read a zip or a folder of OSV documents, as OSV and the Python Packaging Authority publish them."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return Database(json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json"))
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in {".json", ".yaml"} and file.is_file())
        return Database(found for file in files if isinstance(found := _parsed(file), Mapping) and "id" in found)
    raise Problem(f"{path} is not a database of advisories; use a zip or a folder of OSV documents")


def _parsed(file: Path) -> Any:
    text = file.read_text(encoding="utf-8")
    return json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)


def is_affected(affected: Mapping[str, Any], version: str) -> bool:
    """Return whether an entry of an advisory means this version."""
    if version in affected.get("versions", ()):
        return True
    return any(_is_within(each.get("events", ()), version) for each in affected.get("ranges", ()) if _is_ordered(each))


def _is_ordered(versions: Mapping[str, Any]) -> bool:
    return versions.get("type") in {"ECOSYSTEM", "SEMVER"}


def _is_within(events: Iterable[Mapping[str, str]], version: str) -> bool:
    """Follow the events in the order of versions: each says what is so from there on."""
    wanted, is_within = _ordered(version), False
    for event in sorted(events, key=lambda event: _ordered(next(iter(event.values())))):
        ((kind, limit),) = event.items()
        if kind == "introduced" and wanted >= _ordered(limit):
            is_within = True
        elif (kind == "fixed" and wanted >= _ordered(limit)) or (kind == "last_affected" and wanted > _ordered(limit)):
            is_within = False
    return is_within


def _ordered(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        # An incomparable version is taken for the oldest, so that more is found and not less.
        return Version("0")


def _name(affected: Mapping[str, Any]) -> str | None:
    package = affected.get("package", {})
    return canonical(package["name"]) if package.get("ecosystem") == "PyPI" else None


def _moment(text: object) -> datetime:
    if isinstance(text, datetime):  # as YAML reads it
        return text if text.tzinfo else text.replace(tzinfo=UTC)
    found = datetime.fromisoformat(str(text)) if text else datetime.min
    return found if found.tzinfo else found.replace(tzinfo=UTC)
