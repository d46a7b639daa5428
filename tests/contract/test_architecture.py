"""The names on the architecture page lead to files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "scheduler/src/pilotage", ROOT / "operator/src/pilotage_operator")
PAGES = ("docs/architecture.md", "CONTRIBUTING.md")
# A path such as scheduling/binding or profiles/units.py: not a part of a longer one, nor of an address.
NAMED = re.compile(r"(?<![\w/.:-])[a-z_]+(?:/[a-z_]+)+(?:\.py)?(?![\w/-])")
ROOMS = {folder.name for package in PACKAGES for folder in package.iterdir() if folder.is_dir()}


def named_paths(page: str) -> list[str]:
    """Return the modules and packages that a page names, by their first folder."""
    found = NAMED.findall((ROOT / page).read_text())
    return sorted({path for path in found if path.partition("/")[0] in ROOMS})


@pytest.mark.parametrize(
    ("page", "path"),
    [pytest.param(page, path, id=f"{page} names {path}") for page in PAGES for path in named_paths(page)],
)
def test_every_module_that_is_named_exists(page: str, path: str) -> None:
    stem = path.removesuffix(".py")
    assert any((package / f"{stem}.py").is_file() or (package / stem).is_dir() for package in PACKAGES)


def test_the_ways_of_a_pod_and_of_a_profile_name_their_hops() -> None:
    assert len(named_paths("docs/architecture.md")) >= 12
