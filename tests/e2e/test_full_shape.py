"""The full shape comes and goes without a trace, also when it is killed."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import product
from pathlib import Path

import pytest

from kit.control_plane import NO_OWN_NODES, name_for_this_run, sweep, without_own_nodes
from kit.machine import belongings_of, shared_state
from localcluster.address_plan import Network
from localcluster.paths import state_dir
from localcluster.processes import processes_of

KIND = Path(__file__).parents[2] / "hack" / "kind"
NAME = f"{name_for_this_run()}-leaks"
SECOND = f"{name_for_this_run()}-second"

pytestmark = pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES)


@pytest.fixture
def create(tmp_path: Path) -> Iterator[list[str]]:
    """The command that creates a full cluster, which is gone after the test."""
    sweep()
    yield [str(KIND), "create", "cluster", "--shape=full", f"--name={NAME}", f"--kubeconfig={tmp_path / 'kubeconfig'}"]
    delete()


def delete(name: str = NAME) -> None:
    subprocess.run([KIND, "delete", "cluster", f"--name={name}"], check=True, capture_output=True)


def test_up_and_down_leaves_nothing(create: list[str]) -> None:
    before = shared_state()
    subprocess.run(create, check=True)
    own = belongings_of(NAME)
    assert set(own.traces()) == {"folder", "processes", "containers", "links", "routes", "control groups"}
    assert shared_state() == before, "the kubelets did not change the machine"
    delete()
    assert own.traces() == {}
    assert shared_state() == before


@pytest.mark.full
@pytest.mark.parametrize("victim", ["the tool while it creates", "the keeper of a running cluster"])
def test_killed_and_deleted_leaves_nothing(create: list[str], victim: str) -> None:
    before = shared_state()
    with subprocess.Popen(create) as creation:
        if victim == "the tool while it creates":
            _wait_for(state_dir() / NAME / "logs" / "kubelet-2.log")
            creation.kill()
        else:
            assert creation.wait() == 0
            _kill_keeper(NAME)
    own = belongings_of(NAME)
    assert "links" in own.traces()
    delete()
    assert own.traces() == {}
    assert shared_state() == before


def test_two_full_clusters_live_side_by_side_and_one_is_deleted_alone(create: list[str], tmp_path: Path) -> None:
    other = [
        str(KIND),
        "create",
        "cluster",
        "--shape=full",
        f"--name={SECOND}",
        f"--kubeconfig={tmp_path / 'other'}",
        "--nodes=1",
    ]
    subprocess.run([*create, "--nodes=1"], check=True)
    try:
        subprocess.run(other, check=True)
        first, second = belongings_of(NAME), belongings_of(SECOND)
        for range_, one_of_the_other in product(ranges(first.network), ranges(second.network)):
            assert not range_.overlaps(one_of_the_other)
        # One is killed, and deleted while the other works.
        _kill_keeper(SECOND)
        delete(SECOND)
        assert second.traces() == {}
        again = kubectl(tmp_path, "run", "after", "--image=localhost/pause:1", "--image-pull-policy=Never")
        assert "pod/after created" in again
        kubectl(tmp_path, "wait", "--for=condition=Ready", "pod/after", "--timeout=60s")
        assert set(first.traces()) == {"folder", "processes", "containers", "links", "routes", "control groups"}
    finally:
        delete(SECOND)


def ranges(network: Network) -> list[IPv4Network]:
    return [IPv4Network(each) for each in (network.nodes, network.pods, network.services)]


def kubectl(folder: Path, *words: str) -> str:
    command = [str(KIND.with_name("kubectl")), f"--kubeconfig={folder / 'kubeconfig'}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _kill_keeper(name: str) -> None:
    for pid, component in processes_of(state_dir() / name).items():
        if not component:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.full
def test_a_cluster_that_a_restart_ended_stands_in_nobodys_way(create: list[str]) -> None:
    subprocess.run(create, check=True)
    for pid in processes_of(state_dir() / NAME):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    again = subprocess.run(create, check=True, capture_output=True, text=True)
    assert f"removing the remains of {NAME}" in again.stdout + again.stderr


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, f"{file} did not appear"
        time.sleep(0.05)
