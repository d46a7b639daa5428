"""The cluster tool on its own: side by side, killed at any moment, without root, and with bad input."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from cluster.paths import cache_dir, state_dir
from cluster.processes import processes_of
from testbed.control_plane import ControlPlane
from testbed.machine import look

ROOT = Path(__file__).parents[2]
KIND = ROOT / "hack" / "kind"
NAME = f"tool-{os.getpid()}"


def kind(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [KIND, *words], env=os.environ | environment, capture_output=True, text=True, timeout=200, check=False
    )


@pytest.fixture
def create(tmp_path: Path) -> Iterator[list[str]]:
    """The words that create a small cluster, which is gone after the test."""
    kubeconfig = tmp_path / "kubeconfig"
    yield ["create", "cluster", f"--name={NAME}", f"--kubeconfig={kubeconfig}", "--shape=control-plane"]
    assert kind("delete", "cluster", f"--name={NAME}", f"--kubeconfig={kubeconfig}").returncode == 0


def eventually(what: str, condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def test_two_clusters_live_side_by_side_and_leave_nothing(
    control_plane: ControlPlane, create: list[str], tmp_path: Path
) -> None:
    before = look()
    assert kind(*create).returncode == 0
    assert NAME in kind("get", "clusters").stdout.splitlines()
    other = tmp_path / "kubeconfig"
    control_plane.kubectl("create", "configmap", "only-here", "-n", "kube-system")
    names = subprocess.run(
        [ROOT / "hack" / "kubectl", f"--kubeconfig={other}", "get", "configmaps", "-n", "kube-system", "-o", "name"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "configmap/extension-apiserver-authentication" in names
    assert "configmap/only-here" not in names
    assert kind("get", "kubeconfig", f"--name={NAME}").stdout.startswith("apiVersion: v1")
    assert kind("delete", "cluster", f"--name={NAME}", f"--kubeconfig={other}").returncode == 0
    assert yaml.safe_load(other.read_text())["contexts"] == []
    assert look() == before


def test_after_a_killed_keeper_nothing_runs_and_delete_removes_the_rest(create: list[str]) -> None:
    before = look()
    assert kind(*create).returncode == 0
    [keeper] = [pid for pid, component in processes_of(state_dir() / NAME).items() if not component]
    os.kill(keeper, signal.SIGKILL)
    eventually("all programs end with their keeper", lambda: not processes_of(state_dir() / NAME), seconds=10)
    assert kind("delete", "cluster", f"--name={NAME}").returncode == 0
    assert look() == before


@pytest.mark.parametrize("moment", ["cluster.json", "logs/etcd.log", "logs/kube-controller-manager.log"])
def test_a_creation_that_is_killed_is_removed_by_delete(create: list[str], moment: str) -> None:
    before = look()
    with subprocess.Popen([KIND, *create], stderr=subprocess.DEVNULL) as creation:
        eventually(moment, (state_dir() / NAME / moment).exists)
        creation.kill()
    assert kind("delete", "cluster", f"--name={NAME}").returncode == 0
    assert look() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_creation_that_is_interrupted_removes_itself(create: list[str], number: signal.Signals) -> None:
    before = look()
    with subprocess.Popen([KIND, *create], stderr=subprocess.PIPE, text=True) as creation:
        eventually("the API server is started", (state_dir() / NAME / "logs" / "kube-apiserver.log").exists)
        creation.send_signal(number)
        _, said = creation.communicate(timeout=60)
    assert creation.returncode == 130
    assert said.splitlines()[-1] == "interrupted"
    assert look() == before


def test_a_program_that_dies_is_started_again(create: list[str], tmp_path: Path) -> None:
    assert kind(*create).returncode == 0
    folder = state_dir() / NAME

    def api_server() -> int:
        return next((pid for pid, component in processes_of(folder).items() if component == "kube-apiserver"), 0)

    first = api_server()
    os.kill(first, signal.SIGKILL)
    eventually("another API server runs", lambda: api_server() not in (0, first))
    ready = [str(ROOT / "hack" / "kubectl"), f"--kubeconfig={tmp_path / 'kubeconfig'}", "get", "--raw", "/readyz"]
    eventually("it answers", lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0)


def test_the_control_plane_shape_needs_no_root(tmp_path_factory: pytest.TempPathFactory) -> None:
    if os.geteuid() != 0:
        pytest.skip("this run itself is without root, so every other test here shows it")
    # Under /tmp itself: nobody may not walk through the folders of root. The built programs are shared by links.
    before = look()
    home = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        _give_to_nobody(home)
        for words in ("create cluster --shape=control-plane", "get clusters", "delete cluster"):
            done = _as_nobody(home, *words.split(), *([] if "get" in words else ["--name=rootless"]))
            assert done.returncode == 0, done.stderr
        assert look() == before
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)


def _give_to_nobody(home: Path) -> None:
    """A checkout, an environment and built programs that nobody can read."""
    for folder in ("hack", "scheduler", "operator"):
        subprocess.run(["cp", "-r", str(ROOT / folder), str(home)], check=True)
    site = Path(sys.prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    subprocess.run(["cp", "-r", str(site), str(home / "site-packages")], check=True)
    (home / "cache").mkdir()
    subprocess.run(["cp", "-r", str(cache_dir() / "bin"), str(home / "cache")], check=True)
    subprocess.run(["chown", "-R", "65534:65534", str(home)], check=True)


def _as_nobody(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PILOTAGE_CACHE": str(home / "cache"),
        "PYTHONPATH": f"{home / 'hack'}:{home / 'site-packages'}",
    }
    # The interpreter itself may lie where only root can walk; it is opened before root is given up.
    give_up_root = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
    program = f"{give_up_root}; from cluster.cli import entry; sys.argv[1:] = {list(words)!r}; entry()"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a tiny disk")
    disk = tmp_path / "tiny"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """It ended with one sentence that has these parts, no traceback, and no cluster left."""
    assert done.returncode == 1
    [error] = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    assert done.stderr.splitlines()[-1] == error
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in error
    assert NAME not in kind("get", "clusters").stdout.splitlines()


def test_an_unknown_version_is_refused(create: list[str]) -> None:
    refused(kind(*create, K8S_VERSION="1.2.3"), "'1.2.3' is not pinned", "choose one of 1.35.4, 1.36.4, 1.37.1")


def test_a_port_in_use_is_refused(create: list[str], taken_port: int) -> None:
    refused(kind(*create, f"--api-port={taken_port}"), f"Port {taken_port} is not free", "--api-port")


def test_a_disk_without_room_for_the_cluster_is_refused(create: list[str], tiny_disk: Path) -> None:
    refused(kind(*create, PILOTAGE_STATE=str(tiny_disk)), "500 MiB", "set PILOTAGE_STATE")
    assert list(tiny_disk.iterdir()) == []


def test_a_disk_without_room_for_the_programs_is_refused(create: list[str], tiny_disk: Path) -> None:
    refused(kind(*create, PILOTAGE_CACHE=str(tiny_disk)), "needs 1 GiB", "set PILOTAGE_CACHE")


def test_without_go_and_without_pypi_it_is_refused(create: list[str], tmp_path: Path) -> None:
    bare = {"PATH": "/usr/bin:/bin", "PILOTAGE_CACHE": str(tmp_path / "cache"), "UV_OFFLINE": "1"}
    if any(Path(folder, "go").exists() for folder in ("/usr/bin", "/bin")):
        pytest.skip("this machine has Go in a system folder, so it cannot be hidden by PATH")
    refused(kind(*create, UV_CACHE_DIR=str(tmp_path / "uv"), **bare), "Go 1.26.0 or newer is needed", "install Go")


def test_the_full_shape_without_root_is_refused() -> None:
    if os.geteuid() != 0:
        refused(kind("create", "cluster", f"--name={NAME}", "--shape=full"), "needs root", "--shape control-plane")
        return
    program = "import os, sys; os.setuid(65534); from cluster.cli import entry; entry()"
    command = [sys.executable, "-c", program, "create", "cluster", f"--name={NAME}", "--shape=full"]
    environment = os.environ | {"PILOTAGE_STATE": "/nonexistent", "PYTHONPATH": str(ROOT / "hack")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    refused(done, "needs root", "--shape control-plane")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["--name=No"], "cannot name a cluster", id="a bad name"),
        pytest.param(["--image=node:latest"], "names no Kubernetes version", id="an image without a version"),
        pytest.param(["--config=/none.yaml"], "cannot be read", id="a configuration that is not there"),
    ],
)
def test_bad_words_are_refused(create: list[str], words: list[str], complaint: str) -> None:
    refused(kind(*create, *words), complaint)


def test_a_name_that_is_taken_is_refused(control_plane: ControlPlane) -> None:
    done = kind("create", "cluster", f"--name={control_plane.cluster.name}", "--shape=control-plane")
    refused(done, "already exists", "delete it first")
