"""The program as a whole: its commands and their help."""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module

import pytest
from click.testing import Result

from pilotage.cli.group import COMMANDS

Pilotage = Callable[..., Result]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_helps_with_an_example(name: str, pilotage: Pilotage) -> None:
    result = pilotage(name, "--help")
    assert result.exit_code == 0
    assert f"pilotage {name}" in result.stdout.partition("Examples:")[2]


def test_the_help_lists_every_command(pilotage: Pilotage) -> None:
    text = pilotage("--help").stdout
    for name, listed in COMMANDS.items():
        assert f"{name} " in text
        assert listed.help in text
        assert import_module(listed.module).command.name == name


def test_an_unknown_command(pilotage: Pilotage) -> None:
    result = pilotage("simulat")
    assert result.exit_code == 2
    assert "No such command 'simulat'" in result.stderr


def test_help_and_version_import_nothing_heavy() -> None:
    program = "import sys; from pilotage.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    program += "print([name for name in ('numpy', 'pydantic', 'yaml', 'msgspec') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
