"""A tag names what the repository holds, or the difference is told."""

from pathlib import Path

import pytest

from release.versions import faults

CHANGELOG = "## [Unreleased]\n\n## [1.2.3] - 2030-01-31\n\n### Added\n\n- All of it.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for project in ("scheduler", "operator"):
        (tmp_path / project).mkdir()
        (tmp_path / project / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "charts/pilotage").mkdir(parents=True)
    (tmp_path / "charts/pilotage/Chart.yaml").write_text("version: 1.2.3\nappVersion: 1.2.3\n")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_a_tag_that_agrees_is_fine(root: Path) -> None:
    assert list(faults("v1.2.3", root)) == []


@pytest.mark.parametrize("tag", ["1.2.3", "v1.2", "v1.2.3-rc1", "latest", ""])
def test_what_is_no_tag_of_a_release_is_refused(root: Path, tag: str) -> None:
    assert list(faults(tag, root)) == [f"{tag!r} is no tag of a release; say for example v1.2.3"]


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("scheduler/pyproject.toml", "1.2.3", "1.2.2", "scheduler/pyproject.toml says 1.2.2, and the tag 1.2.3"),
        ("operator/pyproject.toml", "1.2.3", "1.2.2", "operator/pyproject.toml says 1.2.2, and the tag 1.2.3"),
        ("charts/pilotage/Chart.yaml", "version: 1.2.3", "version: 1.2", "Chart.yaml (version) says 1.2, and the tag"),
        ("charts/pilotage/Chart.yaml", "appVersion: 1.2.3", "appVersion: 2", "Chart.yaml (appVersion) says 2, and"),
        ("CHANGELOG.md", "[1.2.3]", "[1.2.2]", "CHANGELOG.md has no heading '## [1.2.3] - date'"),
        ("CHANGELOG.md", "### Added", "### New", "CHANGELOG.md: [1.2.3]: New are not of"),
    ],
)
def test_what_differs_is_told(root: Path, file: str, old: str, new: str, fault: str) -> None:
    path = root / file
    path.write_text(path.read_text().replace(old, new, 1))
    [told] = faults("v1.2.3", root)
    assert fault in told
