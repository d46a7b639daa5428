"""The lock of all Python dependencies: what is pinned, and who needs what."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from localcluster.paths import REPOSITORY

OURS = ("pilotage", "pilotage-operator")


def canonical(name: str) -> str:
    """Return the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Package:
    """One pinned version; for some Pythons another one of the same name may be pinned."""

    name: str
    version: str
    needs: tuple[str, ...]  # names
    files: tuple[tuple[str, str], ...]  # URLs, each with its hash

    @property
    def purl(self) -> str:
        """Return its name in all tools of this kind."""
        return f"pkg:pypi/{self.name}@{self.version}"


@dataclass(frozen=True)
class Lock:
    """All packages."""

    packages: tuple[Package, ...]

    @cached_property
    def _by_name(self) -> Mapping[str, list[Package]]:
        found: dict[str, list[Package]] = {}
        for package in self.packages:
            found.setdefault(package.name, []).append(package)
        return found

    def named(self, name: str) -> list[Package]:
        """Return all versions of a package."""
        return self._by_name.get(name, [])

    def needed_by(self, *names: str) -> list[Package]:
        """Return all that these packages need on any platform, themselves among them, by name."""
        found: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = None
                waiting += [need for package in self.named(name) for need in package.needs]
        return [package for name in sorted(found) for package in self.named(name)]


def read_lock(path: Path = REPOSITORY / "uv.lock") -> Lock:
    """Read uv's lock."""
    document = tomllib.loads(path.read_text())
    return Lock(tuple(_package(entry) for entry in document["package"]))


def _package(entry: Mapping[str, Any]) -> Package:
    needs = dict.fromkeys(need["name"] for need in entry.get("dependencies", ()))
    return Package(entry["name"], entry["version"], tuple(needs), tuple(_files(entry)))


def _files(entry: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for file in (*([entry["sdist"]] if "sdist" in entry else ()), *entry.get("wheels", ())):
        if "url" in file:
            yield file["url"], file["hash"]
