"""The units kept in the ConfigMap: specs with plugin files, the texts of the files, and the verdicts.

A spec alone can be validated again at any time. With plugin files it is a unit, and the files may change or be deleted:
the running, the last acknowledged and the last good unit are kept completely, so that each can be restored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from pilotage.config.handshake import PluginFile, texts_by_key
from pilotage_operator.sandbox.records import VerdictRecord


@dataclass(frozen=True)
class Unit:
    """The plugin files of a spec, their plugins by path, and the verdict."""

    files: tuple[PluginFile, ...]
    plugins: Mapping[str, str]
    verdict: VerdictRecord


Units: TypeAlias = Mapping[str, Mapping[str, Unit]]  # by profile, then by the hash of the unit


class _FileRecord(msgspec.Struct):
    path: str
    key: str


class _UnitRecord(msgspec.Struct):
    files: list[_FileRecord]
    plugins: dict[str, str]
    verdict: VerdictRecord


def units_in(text: str, data: Mapping[str, str]) -> dict[str, dict[str, Unit]]:
    """Parse the units of each profile, ignoring those whose files are missing or were changed by hand."""
    try:
        found = msgspec.json.decode(text or "{}", type=dict[str, dict[str, _UnitRecord]])
    except (msgspec.MsgspecError, RecursionError):
        return {}
    read = {name: {hash_: _unit(record, data) for hash_, record in units.items()} for name, units in found.items()}
    return {name: {hash_: unit for hash_, unit in units.items() if unit} for name, units in read.items()}


def _unit(record: _UnitRecord, data: Mapping[str, str]) -> Unit | None:
    files = tuple(PluginFile(each.path, data.get(each.key, "")) for each in record.files)
    if any(file.key != each.key for file, each in zip(files, record.files, strict=True)):
        return None
    return Unit(files, record.plugins, record.verdict)


def units_text(units: Units) -> str:
    """Encode the units of each profile; empty if there are none."""
    records = {
        name: {hash_: _record(unit) for hash_, unit in sorted(each.items())}
        for name, each in sorted(units.items())
        if each
    }
    # The order inside of a verdict matters: the configuration is rendered in it.
    return msgspec.json.encode(records).decode() if records else ""


def _record(unit: Unit) -> _UnitRecord:
    return _UnitRecord([_FileRecord(file.path, file.key) for file in unit.files], dict(unit.plugins), unit.verdict)


def unit_texts(units: Units) -> dict[str, str]:
    """Return the texts of all files by their keys in the ConfigMap."""
    return texts_by_key(set(_files(units)))


def _files(units: Units) -> Iterator[PluginFile]:
    for each in units.values():
        for unit in each.values():
            yield from unit.files
