"""The two READMEs say the same: their commands, files and pictures are equal, and what they show is true."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ENGLISH, CHINESE = (ROOT / name for name in ("README.md", "README.zh-CN.md"))


def blocks(path: Path, language: str = r"\w*") -> list[str]:
    """Return the fenced blocks of a document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


def test_their_commands_and_files_are_equal() -> None:
    assert len(blocks(ENGLISH)) > 8
    assert blocks(CHINESE) == blocks(ENGLISH)


def test_they_have_the_same_parts() -> None:
    first, second = (
        [line for line in path.read_text().splitlines() if line.startswith("## ")] for path in (ENGLISH, CHINESE)
    )
    assert len(first) == len(second)


@pytest.mark.parametrize("path", [ENGLISH, CHINESE], ids=lambda path: path.name)
def test_what_they_link_to_is_there(path: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()) if link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_plugin_is_the_example() -> None:
    [shown] = blocks(ENGLISH, "python")
    assert shown in (ROOT / "examples/plugins/name_score.py").read_text()


def test_the_values_are_those_of_the_demo() -> None:
    values = yaml.safe_load(blocks(ENGLISH, "yaml")[0])
    demo = yaml.safe_load((ROOT / "examples/demo/values.yaml").read_text())
    assert {key: demo[key] for key in values} == values
