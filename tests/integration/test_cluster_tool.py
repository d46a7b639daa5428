"""The cluster tool on its own: side by side, killed at any moment, without root, and with bad input."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from kit.control_plane import ControlPlane, name_for_this_run
from kit.machine import belongings_of
from kit.tiers import tiered
from localcluster.paths import cache_dir, state_dir
from localcluster.processes import processes_of

ROOT = Path(__file__).parents[2]
KIND = ROOT / "hack" / "kind"
NAME = f"{name_for_this_run()}-tool"


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
    assert kind(*create).returncode == 0
    own = belongings_of(NAME)
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
    assert own.traces() == {}


def test_after_a_killed_keeper_nothing_runs_and_delete_removes_the_rest(create: list[str]) -> None:
    assert kind(*create).returncode == 0
    own = belongings_of(NAME)
    [keeper] = [pid for pid, component in processes_of(state_dir() / NAME).items() if not component]
    os.kill(keeper, signal.SIGKILL)
    eventually("all programs end with their keeper", lambda: not processes_of(state_dir() / NAME), seconds=10)
    assert kind("delete", "cluster", f"--name={NAME}").returncode == 0
    assert own.traces() == {}


@pytest.mark.parametrize(
    "moment",
    tiered(
        ["cluster.json", "logs/etcd.log", "logs/kube-controller-manager.log"],
        full=["cluster.json", "logs/kube-controller-manager.log"],
    ),
)
def test_a_creation_that_is_killed_is_removed_by_delete(create: list[str], moment: str) -> None:
    with subprocess.Popen([KIND, *create], stderr=subprocess.DEVNULL) as creation:
        eventually(moment, (state_dir() / NAME / moment).exists)
        creation.kill()
    own = belongings_of(NAME)
    assert own.traces()
    assert kind("delete", "cluster", f"--name={NAME}").returncode == 0
    assert own.traces() == {}


@pytest.mark.parametrize("name", tiered(["SIGINT", "SIGTERM", "SIGHUP"], full=["SIGINT", "SIGHUP"]))
def test_a_creation_that_is_interrupted_removes_itself(create: list[str], name: str) -> None:
    with subprocess.Popen([KIND, *create], stderr=subprocess.PIPE, text=True) as creation:
        eventually("the API server is started", (state_dir() / NAME / "logs" / "kube-apiserver.log").exists)
        own = belongings_of(NAME)
        creation.send_signal(signal.Signals[name])
        _, said = creation.communicate(timeout=60)
    assert creation.returncode == 130
    assert said.splitlines()[-1] == "interrupted"
    assert own.traces() == {}


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


def without_root(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the tool as nobody, who may read root's checkout and cache but has no other right."""
    nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+dac_read_search"]
    read_only = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    environment = os.environ | {"HOME": str(home), "PILOTAGE_CACHE": str(cache_dir())}
    environment.pop("KUBECONFIG", None)  # nobody's is in his home, wherever ours is
    command = ["setpriv", *nobody, *read_only, str(KIND), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def home_of_nobody(short_folder: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip("this run itself is without root, so every other test here shows it")
    os.chown(short_folder, 65534, 65534)
    return short_folder


def test_the_control_plane_shape_needs_no_root(home_of_nobody: Path) -> None:
    for words in (["create", "cluster", "--shape=control-plane"], ["get", "clusters"], ["delete", "cluster"]):
        done = without_root(home_of_nobody, *words)
        assert done.returncode == 0, done.stderr
        if words[0] == "get":
            assert done.stdout == "kind\n"
    state = home_of_nobody / ".local" / "state" / "pilotage"
    assert not processes_of(state / "kind")
    assert [path for path in state.iterdir() if path.is_dir()] == []


def test_the_full_shape_without_root_is_refused(home_of_nobody: Path) -> None:
    done = without_root(home_of_nobody, "create", "cluster", f"--name={NAME}", "--shape=full")
    refused(done, "needs root", "--shape control-plane")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for sockets and open to everyone, unlike pytest's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def tiny_disk(short_folder: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a tiny disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(short_folder)], check=True)
    yield short_folder
    subprocess.run(["umount", str(short_folder)], check=True)


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
    if os.geteuid() != 0:
        pytest.skip("only root can hide the Go of this machine")
    hide = (
        "for go in $(type -ap go) /usr/local/go/bin/go; do [ -e $go ] && mount --bind /dev/null $go; done; exec $0 $*"
    )
    nothing_cached = {"PILOTAGE_CACHE": str(tmp_path / "cache"), "UV_CACHE_DIR": str(tmp_path / "uv")}
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", hide, str(KIND), *create],
        env=os.environ | nothing_cached | {"UV_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    refused(done, "Go 1.26.0 or newer is needed", "install Go")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["--name=No"], "is not a valid cluster name", id="a bad name"),
        pytest.param(["--image=node:latest"], "has no Kubernetes version", id="an image without a version"),
        pytest.param(["--config=/none.yaml"], "cannot be read", id="a configuration that is not there"),
    ],
)
def test_bad_words_are_refused(create: list[str], words: list[str], complaint: str) -> None:
    refused(kind(*create, *words), complaint)


def test_a_name_that_is_taken_is_refused(control_plane: ControlPlane) -> None:
    done = kind("create", "cluster", f"--name={control_plane.cluster.name}", "--shape=control-plane")
    refused(done, "already exists", "delete it first")
