"""Building a tool: once, whole or not at all, and with an error that says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localcluster.binaries import Tool
from localcluster.build import ensure
from localcluster.errors import Problem
from localcluster.paths import HACK

# A Go that lists three packages and "builds" by writing a file, telling each call.
GO = """#!/bin/sh
echo "$1" >> "$CALLS"
case "$1" in
version) echo go version go1.99.0 linux/amd64 ;;
list) printf 'a\\nb\\nc\\n' ;;
build) sleep 0.5
  [ -n "$FAIL" ] && { echo "$FAIL" >&2; exit 1; }
  while [ "$1" != -o ]; do shift; done
  echo program > "$2/thing" ;;
esac
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """A tool of one command, on a machine whose Go is ours."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").write_text(GO)
    (tmp_path / "bin" / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PILOTAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text("module thing\n\ngo 1.26.0\n")
    return Tool("thing", module, {"thing": "example/thing"})


def builds(tmp_path: Path) -> int:
    return (tmp_path / "calls").read_text().split().count("build")


def test_a_tool_is_built_once(tool: Tool, tmp_path: Path) -> None:
    assert (ensure(tool) / "thing").read_text() == "program\n"
    assert ensure(tool) == ensure(tool)
    assert builds(tmp_path) == 1


def test_a_changed_module_is_built_anew(tool: Tool, tmp_path: Path) -> None:
    first = ensure(tool)
    (tool.folder / "go.sum").write_text("changed")
    assert ensure(tool) != first
    assert builds(tmp_path) == 2


def test_two_runs_do_not_build_twice(tool: Tool, tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from localcluster.binaries import Tool; from localcluster.build import ensure;"
        f"print(ensure(Tool('thing', Path({str(tool.folder)!r}), {tool.commands!r})))"
    )
    environment = os.environ | {"PYTHONPATH": str(HACK)}
    runs = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert builds(tmp_path) == 1
    assert sum("another run is building thing" in text for text in said) >= 1


@pytest.mark.parametrize(
    ("failure", "complaint"),
    [
        pytest.param("write x: no space left on device", "The disk is full .* set GOCACHE", id="a full disk"),
        pytest.param("undefined: x", "building it failed; .*\n.*undefined: x", id="code that does not compile"),
    ],
)
def test_a_failed_build_leaves_nothing_and_says_why(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str, complaint: str
) -> None:
    monkeypatch.setenv("FAIL", failure)
    with pytest.raises(Problem, match=complaint):
        ensure(tool)
    left = [path for path in (tmp_path / "cache" / "bin").iterdir() if path.suffix != ".lock"]
    assert left == []


def test_left_overs_of_a_killed_build_are_swept(tool: Tool, tmp_path: Path) -> None:
    target = ensure(tool)
    target.rename(target.with_name(f".{target.name}-killed"))
    ensure(tool)
    assert [path.name for path in target.parent.iterdir() if path.name.startswith(".")] == []
