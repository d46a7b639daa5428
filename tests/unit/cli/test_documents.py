"""What the documents show is what the program does."""

import re
import sys
from collections.abc import Callable, Iterator
from inspect import isawaitable
from pathlib import Path

import click
import pytest
import yaml
from click.testing import Result

from pilotage.cli.group import COMMANDS
from pilotage.cli.simulate import command as simulate
from pilotage.framework.api.plugin import POINTS
from pilotage.plugins.catalogue import PluginCatalogue

Pilotage = Callable[..., Result]

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall((DOCS / document).read_text()) if kind == language]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The files that docs/plugins.md shows, each under the name in its first line."""
    for text in blocks("plugins.md", "python"):
        name = text.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(text)
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))


def test_the_plugins_that_are_shown_are_sound(folder: Path) -> None:
    names = PluginCatalogue().add_folder(folder)
    assert names == ["FreeCores", "InAService", "MarksItsNode", "QuietNeighbours", "RackBudget", "RackPriority"]


@pytest.mark.parametrize(("plugin", "count"), [("rack_priority", 2), ("marks_its_node", 1)])
async def test_the_tests_that_are_shown_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch, plugin: str, count: int
) -> None:
    space: dict[str, object] = {}
    exec(compile((folder / f"test_{plugin}.py").read_text(), f"test_{plugin}.py", "exec"), space)  # noqa: S102
    monkeypatch.delitem(sys.modules, plugin)
    tests = [found for name, found in space.items() if name.startswith("test_")]
    assert len(tests) == count
    for test in tests:
        assert callable(test)
        if isawaitable(begun := test()):
            await begun


def test_the_configuration_that_is_shown_is_right(folder: Path, pilotage: Pilotage) -> None:
    text = blocks("plugins.md", "yaml")[0]
    result = pilotage("check-config", "-", "--plugin-dir", folder, stdin=text)
    assert result.exit_code == 0, result.stderr
    (profile,) = yaml.safe_load(result.stdout)["profiles"]
    (args,) = (each["args"] for each in profile["pluginConfig"] if each["name"] == "RackPriority")
    assert args["label"] == "example.com/rack"


def test_every_base_is_in_the_table() -> None:
    text = (DOCS / "plugins.md").read_text()
    groups = ("PlacementScore", "PodGroupPostFilter", "PlacementGenerate")  # those have nothing to run here
    for base in POINTS.values():
        assert base.__name__ in groups or f"| `{base.__name__}` |" in text


@pytest.mark.parametrize("option", [each.opts[0] for each in simulate.params if isinstance(each, click.Option)])
def test_every_option_is_told(option: str, pilotage: Pilotage) -> None:
    assert f"| `{option}" in (DOCS / "simulate.md").read_text()
    assert option in pilotage("simulate", "--help").stdout


def test_documents_name_commands_that_exist() -> None:
    texts = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
    command = re.compile(r"(?:^(?:\$ )?|`|\| )pilotage ([a-z-]+)", re.MULTILINE)
    named = {name for text in texts for name in command.findall(text.read_text())}
    assert named - {"run", "explain"} <= set(COMMANDS)  # those two are planned, and the README says so
