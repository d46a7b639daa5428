"""The demo's processes are found again, and end when they are told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import demo_processes, record
from localcluster.errors import Problem
from localcluster.processes import processes_of

NAME = "demo"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A program in Pilotage's place; it stays until it is told to stop."""
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path / "state"))
    program = tmp_path / "pilotage"
    monkeypatch.setattr(demo_processes, "PROGRAMS", tmp_path)
    play(program, 'echo "$@"; exec sleep 600')
    yield program
    demo_processes.stop(NAME)


def play(program: Path, line: str) -> None:
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o700)


def test_it_is_started_once_and_stopped(program: Path) -> None:
    logs = {demo_processes.start(NAME, "pilotage", "--v=2") for _ in range(2)}
    assert list(processes_of(record.folder_of(NAME)).values()) == ["pilotage"]
    assert [log.read_text() for log in logs] == ["run --v=2\n"]
    demo_processes.stop(NAME)
    assert processes_of(record.folder_of(NAME)) == {}
    demo_processes.stop(NAME)


def test_one_that_does_not_start_says_why(program: Path) -> None:
    play(program, "echo no such flag; exit 2")
    with pytest.raises(Problem, match="no such flag"):
        demo_processes.start(NAME, "pilotage", "--v=2")
