"""What each program depends on: the scheduler's process and image have no Kubernetes client but its own."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Imports every module of the scheduler, and says which of some packages came with them.
IMPORT_ALL = """
import importlib, pkgutil, sys
import pilotage
names = [each.name for each in pkgutil.walk_packages(pilotage.__path__, "pilotage.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names), *sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""


def installed_with(program: str) -> set[str]:
    """Return all packages that uv.lock installs for a program."""
    packages: dict[str, set[str]] = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]:
        packages.setdefault(package["name"], set()).update(each["name"] for each in package.get("dependencies", ()))
    found, new = {program}, {program}
    while new:
        new = {name for each in new for name in packages[each]} - found
        found |= new
    return found


def test_the_official_client_is_installed_with_the_operator_only() -> None:
    assert "kubernetes" in installed_with("pilotage-operator")
    assert "kubernetes" not in installed_with("pilotage")


def test_what_the_official_client_needs_is_not_in_the_scheduler() -> None:
    only_for_it = installed_with("kubernetes") - {"aiohttp", "pydantic", "pyyaml"}
    for shared in ("aiohttp", "pydantic", "pyyaml"):
        only_for_it -= installed_with(shared)
    assert {"requests", "urllib3", "certifi"} <= only_for_it
    assert not only_for_it & installed_with("pilotage")


@pytest.mark.parametrize("program", ["scheduler", "operator"])
def test_each_image_is_installed_from_the_package_of_its_program(program: str) -> None:
    package = {"scheduler": "pilotage", "operator": "pilotage-operator"}[program]
    lines = (ROOT / f"Dockerfile.{program}").read_text().splitlines()
    installs = [line.split() for line in lines if "uv sync" in line]
    assert installs
    assert all(words[words.index("--package") + 1] == package for words in installs)


def test_no_module_of_the_scheduler_imports_the_official_client() -> None:
    asked = [sys.executable, "-c", IMPORT_ALL, "kubernetes", "kopf", "requests", "urllib3", "pilotage_operator"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    assert int(answer[0]) > 300, "every module"
    assert answer[1:] == []
