import re
from pathlib import Path

import pytest

from images.components import COMPONENTS
from images.inputs import input_files
from images.order import DEFAULT_BASE

REPOSITORY = Path(__file__).resolve().parents[3]
SCRIPTS = {"scheduler": "pilotage", "operator": "pilotage-operator"}

each_component = pytest.mark.parametrize("name", [pytest.param(name, id=f"of the {name}") for name in COMPONENTS])


def _instructions(name: str) -> list[str]:
    """The Dockerfile, one instruction a line, without comments."""
    lines = (REPOSITORY / COMPONENTS[name].dockerfile).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).replace("\\\n", " ")
    return [re.sub(r"\s+", " ", line) for line in text.splitlines() if line.strip()]


def _last_stage(name: str) -> list[str]:
    instructions = _instructions(name)
    begins = max(i for i, instruction in enumerate(instructions) if instruction.startswith("FROM "))
    return instructions[begins:]


@each_component
def test_the_base_is_an_argument_and_comes_first(name: str) -> None:
    instructions = _instructions(name)
    assert instructions[0] == f"ARG BASE={DEFAULT_BASE}"
    stages = [line.split()[1] for line in instructions if line.startswith("FROM ")]
    assert set(stages) <= {"${BASE}", "dependencies"}
    assert _last_stage(name)[0] == "FROM ${BASE}"


@each_component
def test_the_image_starts_our_program_without_a_shell(name: str) -> None:
    starts = [line for line in _instructions(name) if line.startswith(("ENTRYPOINT", "CMD"))]
    assert starts == [f'ENTRYPOINT ["/app/.venv/bin/{SCRIPTS[name]}"]']


@each_component
def test_the_image_runs_as_nobody_in_particular(name: str) -> None:
    assert [line for line in _last_stage(name) if line.startswith("USER")] == ["USER 65532:65532"]


@each_component
def test_the_last_stage_runs_nothing_and_takes_app_alone(name: str) -> None:
    stage = _last_stage(name)
    assert not [line for line in stage if line.startswith(("RUN", "ADD"))]
    copies = [line.split() for line in stage if line.startswith("COPY")]
    assert all(copy[1].startswith("--from=") and copy[-1] == "/app" for copy in copies)


@each_component
def test_nothing_is_written_at_run_time(name: str) -> None:
    environment = next(line for line in _last_stage(name) if line.startswith("ENV"))
    assert "PYTHONDONTWRITEBYTECODE=1" in environment
    assert any("PYC_INVALIDATION_MODE=UNCHECKED_HASH" in line for line in _instructions(name))


@each_component
def test_every_sync_obeys_the_lock_and_the_interpreter_of_the_base(name: str) -> None:
    syncs = [line for line in _instructions(name) if "uv sync" in line]
    assert len(syncs) == 2
    for sync in syncs:
        assert "--locked --no-dev --no-editable" in sync
        assert re.search(rf"--package {SCRIPTS[name]}( |$)", sync)
    assert any("UV_PYTHON_DOWNLOADS=never" in line for line in _instructions(name))


@each_component
def test_dependencies_are_installed_before_our_source_is_copied(name: str) -> None:
    instructions = _instructions(name)
    installed = next(i for i, line in enumerate(instructions) if "--no-install-workspace" in line)
    sources = [i for i, line in enumerate(instructions) if re.match(r"COPY \S+/src ", line)]
    assert sources
    assert min(sources) > installed


@each_component
def test_what_only_the_build_needs_stays_out_of_the_last_stage(name: str) -> None:
    arguments = [line for line in _last_stage(name) if line.startswith("ARG")]
    assert arguments == ["ARG VERSION=dev"]


@each_component
def test_everything_it_copies_exists(name: str) -> None:
    files = input_files(REPOSITORY, COMPONENTS[name].dockerfile)
    assert {"LICENSE", "pyproject.toml", "uv.lock", "scheduler/pyproject.toml", "operator/pyproject.toml"} <= set(files)
    commands = f"{name}/src/{SCRIPTS[name].replace('-', '_')}/cli"
    assert {f"{commands}.py", f"{commands}/__init__.py"} & set(files)


def test_the_scheduler_is_not_built_again_for_a_change_of_the_operator() -> None:
    files = input_files(REPOSITORY, COMPONENTS["scheduler"].dockerfile)
    assert not [file for file in files if file.startswith("operator/src")]
