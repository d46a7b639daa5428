"""The program as a person runs it, without a process of its own."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from kit.asked_cluster import AskedCluster, asked_cluster
from pilotage.cli import main

Pilotage = Callable[..., Result]
Write = Callable[..., str]


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """Every command takes the log over; the next test gets it back."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def pilotage() -> Pilotage:
    """Run the program with these words; never may it show a traceback."""

    def run(*words: object, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(main, [str(word) for word in words], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[AskedCluster]:
    """A cluster without a scheduler that answers."""
    async with asked_cluster(tmp_path) as found:
        yield found


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[AskedCluster]:
    """A cluster with a scheduler that answers."""
    async with asked_cluster(tmp_path, with_scheduler=True) as found:
        yield found


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write manifests, or a text, into a file; returns its path."""

    def write_file(*contents: Any, name: str = "input.yaml") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = dedent(contents[0]) if isinstance(contents[0], str) else yaml.safe_dump_all(contents)
        path.write_text(text)
        return str(path)

    return write_file
