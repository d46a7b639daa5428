"""Which Go builds: the machine's if it is new enough or can renew itself, else the one from PyPI."""

import shutil
import sys
from pathlib import Path

import pytest

from localcluster.errors import Problem
from localcluster.go_toolchain import find_go, minimum_of


def machine_with_go(folder: Path, version: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if version:
        go = folder / "go"
        go.write_text(f"#!/bin/sh\necho go version go{version} linux/amd64\n")
        go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}")
    monkeypatch.setattr(shutil, "which", lambda name, path=str(folder): _which(folder, name, path))


def _which(folder: Path, name: str, path: str) -> str | None:
    return str(folder / name) if path == str(folder) and (folder / name).exists() else None


@pytest.mark.parametrize(
    ("version", "toolchain"),
    [
        pytest.param("1.26.0", "local", id="just new enough is used as it is"),
        pytest.param("1.27.3", "local", id="newer is used as it is"),
        pytest.param("1.25.9", "auto", id="older fetches the release that the module asks for"),
        pytest.param("1.21", "auto", id="the oldest that can fetch does"),
    ],
)
def test_find_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, toolchain: str) -> None:
    machine_with_go(tmp_path, version, monkeypatch)
    assert find_go((1, 26, 0)).environment()["GOTOOLCHAIN"] == toolchain


@pytest.mark.parametrize("version", [pytest.param(None, id="no Go"), pytest.param("1.19.8", id="a Go that is too old")])
def test_without_go_and_without_pypi_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    machine_with_go(tmp_path, version, monkeypatch)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "no-environment"))
    monkeypatch.setenv("PILOTAGE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(Problem, match=r"Go 1\.26\.0 or newer is needed .* install Go and put it on PATH"):
        find_go((1, 26, 0))


def test_the_minimum_is_read_from_the_module(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module x\n\ngo 1.26.0\n\nrequire y v1.0.0\n")
    assert minimum_of(tmp_path / "go.mod") == (1, 26, 0)
