"""The wheel as a user installs it, with uv and with pipx, into an environment that has nothing of this repository."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from localcluster.paths import HACK, REPOSITORY
from release import plugin

CLUSTER = REPOSITORY / "examples/what-if/cluster.yaml"
PIPX = "pipx==1.18.4"
SECONDS = 240.0
UNREACHABLE = ("Failed to fetch", "error sending request", "Could not connect", "dns error")
# What installers need to reach a package index, and nothing else of this process.
PASSED_ON = ("PIP_CERT", "PIP_INDEX_URL", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "UV_INDEX_URL")


@dataclass(frozen=True)
class Machine:
    """A home folder with what was installed there."""

    home: Path

    @property
    def programs(self) -> Path:
        """Where installers put programs."""
        return self.home / "bin"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of this machine."""
        passed_on = {name: value for name in PASSED_ON if (value := os.environ.get(name))}
        # Built by the tests before: kubectl is looked for in the user's own cache.
        own = {"HOME": str(self.home), "PILOTAGE_CACHE": os.environ.get("PILOTAGE_CACHE", _usual_cache())}
        own |= {"UV_TOOL_DIR": str(self.home / "tools"), "UV_TOOL_BIN_DIR": str(self.programs)}
        own |= {"PIPX_HOME": str(self.home / "pipx"), "PIPX_BIN_DIR": str(self.programs)}
        path = os.pathsep.join([str(self.programs), str(HACK), "/usr/bin", "/bin"])
        environment = {**passed_on, **own, "PATH": path}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=SECONDS, cwd=self.home
        )


def _usual_cache() -> str:
    return str(Path.home() / ".cache" / "pilotage")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plugin.wheel(tmp_path_factory.mktemp("wheel"))


def with_uv(wheel: Path) -> list[str]:
    return [plugin.UV, "tool", "install", f"--python={sys.executable}", str(wheel)]


def with_pipx(wheel: Path) -> list[str]:
    by_uv = [plugin.UV, "tool", "run", f"--python={sys.executable}", PIPX]
    return [*by_uv, "install", f"--python={sys.executable}", str(wheel)]


@pytest.mark.parametrize(
    "command", [pytest.param(with_uv, id="uv"), pytest.param(with_pipx, id="pipx", marks=pytest.mark.full)]
)
def test_the_wheel_is_installed_and_kubectl_finds_it(
    command: Callable[[Path], list[str]], wheel: Path, tmp_path: Path
) -> None:
    machine = Machine(tmp_path)
    done = machine.run(*command(wheel))
    if done.returncode and any(each in done.stderr for each in UNREACHABLE):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr

    assert {each.name for each in machine.programs.iterdir()} == {
        *("pilotage", "kubectl-pilotage", "kubectl_complete-pilotage")
    }
    # The engine is there, and nothing of the official client.
    found = machine.run("kubectl", "pilotage", "drain-sim", "n1", f"--source={CLUSTER}", "-o", "json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["pods"] == {"asked": 1, "placed": 1, "waiting": 0}
    folders = {each.name for each in machine.home.rglob("site-packages/*")}
    assert {"numpy", "pilotage"} <= folders
    assert "kubernetes" not in folders
    assert machine.run("kubectl", "__complete", "pilotage", "que").stdout.splitlines()[0].split() == [
        *("queue", "Show", "which", "pods", "are", "waiting,", "and", "why.")
    ]
    assert machine.run("pilotage", "--version").stdout.startswith("pilotage ")
