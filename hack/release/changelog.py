"""CHANGELOG.md as Keep a Changelog has it: versions, and below each the kinds of changes, in a fixed order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.paths import REPOSITORY

CHANGELOG = REPOSITORY / "CHANGELOG.md"
UNRELEASED = "Unreleased"
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
# Longer than this is an explanation, and belongs into a page.
LONGEST_ENTRY = 400

_HEADING = re.compile(r"## \[(?P<name>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?")


@dataclass
class Version:
    """One version: its name, its date if it was released, and its entries by kind."""

    name: str
    date: str | None
    kinds: dict[str, list[str]] = field(default_factory=dict)
    body: str = ""


def versions(text: str) -> list[Version]:
    """Return the versions in the order of the text; a ValueError names a line that is no part of a changelog."""
    found: list[Version] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            found.append(_version(line, number))
        elif found:
            _take(found[-1], line, number)
    return found


def faults(text: str) -> Iterator[str]:
    """Yield what Keep a Changelog would not have: no Unreleased, strange kinds or order, long or doubled entries."""
    read = versions(text)
    if not read or read[0].name != UNRELEASED:
        yield f"the first version is not [{UNRELEASED}]"
    for version in read:
        if (version.date is None) != (version.name == UNRELEASED):
            yield f"[{version.name}]: a released version has a date, and {UNRELEASED} has none"
        if list(version.kinds) != [kind for kind in KINDS if kind in version.kinds]:
            yield f"[{version.name}]: {', '.join(version.kinds)} are not of {', '.join(KINDS)}, in this order"
        yield from _faults_of_entries(version)


def _faults_of_entries(version: Version) -> Iterator[str]:
    everything = [entry for entries in version.kinds.values() for entry in entries]
    for kind, entries in version.kinds.items():
        if not entries:
            yield f"[{version.name}]: {kind} is empty"
    for entry in everything:
        if len(entry) > LONGEST_ENTRY:
            yield f"[{version.name}]: {len(entry)} characters, of {LONGEST_ENTRY} at the most: {entry[:60]}..."
        if everything.count(entry) > 1:
            yield f"[{version.name}]: twice: {entry[:60]}"


def notes(text: str, name: str) -> str:
    """Return what the changelog says of one version, without its heading; empty if it does not know it."""
    return next((version.body.strip("\n") + "\n" for version in versions(text) if version.name == name), "")


def text_of(path: Path = CHANGELOG) -> str:
    """Return the changelog."""
    return path.read_text(encoding="utf-8")


def _version(line: str, number: int) -> Version:
    heading = _HEADING.fullmatch(line)
    if not heading:
        raise ValueError(f"line {number}: {line!r} is no '## [version] - date'")
    return Version(heading["name"], heading["date"])


def _take(version: Version, line: str, number: int) -> None:
    """Add a line to the version that it stands below."""
    version.body += f"{line}\n"
    entries = next(reversed(version.kinds.values()), None)
    if line.startswith("### "):
        version.kinds[line.removeprefix("### ")] = []
    elif line.startswith("- ") and entries is not None:
        entries.append(line.removeprefix("- "))
    elif line.startswith("  ") and entries:
        entries[-1] += f" {line.strip()}"
    elif line.strip():
        raise ValueError(f"line {number}: {line!r} is neither a heading nor an entry below one")
