"""What the house nominations about itself: its folders, its commands and its layers."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PILOTAGE = ROOT / "scheduler/src/pilotage"
FOLDERS = [
    "cli",
    "scheduling",
    "conversion",
    "queue",
    "cache",
    "scheduler_profiles",
    "plugins",
    "framework",
    "config",
    "cluster",
    "kinds",
    "listening",
    "model",
    "telemetry",
    "testing",
]


def test_tests_are_no_packages() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_the_operator_folder_does_not_hide_the_operator_module() -> None:
    assert not (ROOT / "operator/__init__.py").exists()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_says_what_it_is_for(folder: str) -> None:
    assert importlib.import_module(f"pilotage.{folder}").__doc__


@pytest.mark.parametrize("package", ["pilotage", "pilotage_operator"])
def test_packages_are_typed_and_import_from_this_checkout(package: str) -> None:
    source = Path(str(importlib.import_module(package).__file__))
    assert source.is_relative_to(ROOT)
    assert (source.parent / "py.typed").exists()


@pytest.mark.parametrize("program", ["pilotage", "pilotage-operator"])
def test_programs_tell_their_version(program: str) -> None:
    installed = Path(sys.executable).with_name(program)
    answer = subprocess.run([installed, "--version"], capture_output=True, text=True, check=True).stdout
    assert answer == f"{program} 0.1.0\n"


@pytest.mark.parametrize("program", ["pilotage", "pilotage-operator"])
def test_programs_show_an_example(program: str) -> None:
    installed = Path(sys.executable).with_name(program)
    answer = subprocess.run([installed, "--help"], capture_output=True, text=True, check=True).stdout
    assert "Example:" in answer


def test_every_module_has_its_layer() -> None:
    present = {path.stem for path in PILOTAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert present - {"__init__", "__main__"} <= modules_in_layers()


def test_the_layers_are_the_folders_and_two_modules() -> None:
    assert modules_in_layers() == {*FOLDERS, "app", "profiles"}


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_documents_name_only_targets_that_exist(document: str) -> None:
    # In backticks or at the start of a line, perhaps behind a variable: `PYTHON=python3.12 make setup`
    named = set(re.findall(r"(?:^|`)(?:[A-Z_]+=\S+ )?make ([a-z-]+)", (ROOT / document).read_text(), re.MULTILINE))
    assert named
    assert named <= targets()


def test_make_alone_lists_every_target() -> None:
    answer = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(re.findall(r"^  make ([a-z0-9-]+) ", answer.stdout, re.MULTILINE)) == targets()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if "make" in line]
    assert commands == ["exec make test"]
    assert "make test" in (ROOT / "README.md").read_text()


def modules_in_layers() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    return {name.strip(" ()") for layer in layers for name in layer.split("|")}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z0-9-]*):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
