from collections.abc import Callable
from pathlib import Path

import pytest

from images.inputs import copied, fingerprint, input_files, stage
from localcluster.errors import Problem

DOCKERFILE = """\
ARG BASE=python:3.13-slim
FROM ${BASE} AS builder
COPY pyproject.toml uv.lock ./
COPY scheduler/pyproject.toml scheduler/pyproject.toml
COPY scheduler/src scheduler/src
FROM ${BASE}
COPY --from=builder /app /app
"""

FILES = {
    "Dockerfile.scheduler": DOCKERFILE,
    "pyproject.toml": "[tool.uv]\n",
    "uv.lock": "version = 1\n",
    "scheduler/pyproject.toml": "[project]\n",
    "scheduler/src/pilotage/__init__.py": "",
    "scheduler/src/pilotage/cli.py": "print()\n",
    "README.md": "# Pilotage\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        _write(tmp_path, name, content)
    return tmp_path


def _write(repository: Path, name: str, content: str) -> None:
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text(content)


def _key(repository: Path, *settings: str) -> str:
    return fingerprint(repository, "Dockerfile.scheduler", settings)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda r: _write(r, "Dockerfile.scheduler", DOCKERFILE + "USER 1\n"), id="the Dockerfile"),
        pytest.param(lambda r: _write(r, "uv.lock", "version = 2\n"), id="the lock"),
        pytest.param(lambda r: _write(r, "pyproject.toml", ""), id="the workspace"),
        pytest.param(lambda r: _write(r, "scheduler/pyproject.toml", ""), id="the project"),
        pytest.param(lambda r: _write(r, "scheduler/src/pilotage/cli.py", "print(1)\n"), id="a source file"),
        pytest.param(lambda r: _write(r, "scheduler/src/pilotage/app.py", ""), id="a new file, even an empty one"),
        pytest.param(lambda r: (r / "scheduler/src/pilotage/cli.py").unlink(), id="a file less"),
        pytest.param(
            lambda r: (r / "scheduler/src/pilotage/cli.py").rename(r / "scheduler/src/pilotage/main.py"),
            id="a file of another name",
        ),
    ],
)
def test_the_fingerprint_changes_with(repository: Path, change: Callable[[Path], None]) -> None:
    before = _key(repository)
    change(repository)
    assert _key(repository) != before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda r: None, id="nothing"),
        pytest.param(lambda r: _write(r, "README.md", "# Other\n"), id="a file that is not copied"),
        pytest.param(lambda r: _write(r, "operator/src/x.py", ""), id="the source of another image"),
        pytest.param(lambda r: _write(r, "scheduler/src/pilotage/__pycache__/cli.pyc", "x"), id="bytecode"),
        pytest.param(lambda r: _write(r, "scheduler/src/pilotage/.cli.py.swp", "x"), id="an editor's hidden file"),
        pytest.param(lambda r: (r / "uv.lock").touch(), id="a newer time stamp"),
    ],
)
def test_the_fingerprint_stays_with(repository: Path, change: Callable[[Path], None]) -> None:
    before = _key(repository)
    change(repository)
    assert _key(repository) == before


def test_each_setting_is_part_of_the_fingerprint(repository: Path) -> None:
    keys = {_key(repository), _key(repository, "a"), _key(repository, "b"), _key(repository, "a", "b")}
    assert len(keys) == 4


def test_content_does_not_run_over_into_the_next_file(repository: Path) -> None:
    before = _key(repository)
    _write(repository, "scheduler/src/pilotage/__init__.py", "print()\n")
    _write(repository, "scheduler/src/pilotage/cli.py", "")
    assert _key(repository) != before


def test_a_copy_from_another_stage_is_no_input() -> None:
    assert copied(DOCKERFILE) == ["pyproject.toml", "uv.lock", "scheduler/pyproject.toml", "scheduler/src"]


def test_a_missing_input_is_named_with_the_way_out(repository: Path) -> None:
    (repository / "uv.lock").unlink()
    with pytest.raises(Problem, match=r"copies uv\.lock, .* restore it"):
        _key(repository)


def test_the_context_holds_the_inputs_and_nothing_else(repository: Path, tmp_path: Path) -> None:
    context = tmp_path / "context"
    stage(repository, "Dockerfile.scheduler", context)
    staged = sorted(str(file.relative_to(context)) for file in context.rglob("*") if file.is_file())
    assert staged == input_files(repository, "Dockerfile.scheduler")
    assert "README.md" not in staged
    assert (context / "uv.lock").read_text() == FILES["uv.lock"]
