"""Whether a tag names what the repository holds."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

from release import changelog

PROJECTS = ("scheduler/pyproject.toml", "operator/pyproject.toml")
CHART = "charts/pilotage/Chart.yaml"
TAG = re.compile(r"v(\d+\.\d+\.\d+)")


def faults(tag: str, root: Path) -> Iterator[str]:
    """Yield what a release under this tag would contradict."""
    form = TAG.fullmatch(tag)
    if not form:
        yield f"{tag!r} is no tag of a release; say for example v1.2.3"
        return
    wanted = form[1]
    for place, found in _versions(root):
        if found != wanted:
            yield f"{place} says {found}, and the tag {wanted}"
    text = changelog.text_of(root / "CHANGELOG.md")
    yield from (f"CHANGELOG.md: {fault}" for fault in changelog.faults(text))
    if not changelog.notes(text, wanted):
        yield f"CHANGELOG.md has no heading '## [{wanted}] - date'; make it of {changelog.UNRELEASED}"


def _versions(root: Path) -> Iterator[tuple[str, str]]:
    for project in PROJECTS:
        yield project, tomllib.loads((root / project).read_text(encoding="utf-8"))["project"]["version"]
    chart = yaml.safe_load((root / CHART).read_text(encoding="utf-8"))
    yield f"{CHART} (version)", str(chart["version"])
    yield f"{CHART} (appVersion)", str(chart["appVersion"])
