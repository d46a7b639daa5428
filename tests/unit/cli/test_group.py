"""The program as a whole: its commands and their help."""

import subprocess
import sys
from ast import literal_eval
from collections.abc import Callable
from importlib import import_module

import pytest
from click.testing import Result

from pilotage.cli.group import COMMANDS

Pilotage = Callable[..., Result]

# Each costs a tenth of the time that help may take, or more.
HEAVY = (
    *("aiohttp", "asyncio", "cryptography", "http.client", "importlib.metadata", "kubernetes", "msgspec", "numpy"),
    *("pilotage.app", "prometheus_client", "pydantic", "ssl", "yaml"),
)
CPU = 0.15  # seconds; it takes a third of that
HELPS = [
    ["--help"],
    *([name, "--help"] for name in COMMANDS),
    *(["profile", each, "--help"] for each in ("enable", "disable")),
    ["__complete", "queue", "--"],
]


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


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_help_is_there_at_once(words: list[str]) -> None:
    program = f"import sys, time; from pilotage.cli import main\ntry: main({words})\nexcept SystemExit: pass\n"
    program += f"print('\\n' + repr(([name for name in {HEAVY} if name in sys.modules], time.process_time())))"
    tries = []
    for _ in range(3):  # what else runs on the machine may cost a try
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        imported, seconds = literal_eval(done.stdout.splitlines()[-1])
        assert imported == []
        tries.append(seconds)
        if seconds < CPU:
            return
    assert min(tries) < CPU
