"""The full shape comes and goes without a trace, also when it is killed."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import real_kind
from cluster.paths import state_dir
from cluster.processes import processes_of
from testbed.machine import look

KIND = Path(__file__).parents[2] / "hack" / "kind"
NAME = "leak-check"

pytestmark = pytest.mark.skipif(
    real_kind.engine_answers(), reason="a Docker engine answers, so the real kind makes and removes clusters here"
)


@pytest.fixture
def create(tmp_path: Path) -> Iterator[list[str]]:
    """The command that creates a full cluster, which is gone after the test."""
    yield [str(KIND), "create", "cluster", f"--name={NAME}", f"--kubeconfig={tmp_path / 'kubeconfig'}"]
    delete()


def delete() -> None:
    subprocess.run([KIND, "delete", "cluster", f"--name={NAME}"], check=True, capture_output=True)


def test_up_and_down_leaves_nothing(create: list[str]) -> None:
    before = look(NAME)
    subprocess.run(create, check=True)
    during = look(NAME)
    assert during.links != before.links
    assert during.cgroups > before.cgroups
    assert during.processes > before.processes
    assert during.mounts == before.mounts, "the cluster's mounts are its own"
    assert during.settings == before.settings, "the kubelets did not change the machine"
    delete()
    assert look(NAME) == before


@pytest.mark.parametrize("victim", ["the tool while it creates", "the keeper of a running cluster"])
def test_killed_and_deleted_leaves_nothing(create: list[str], victim: str) -> None:
    before = look(NAME)
    with subprocess.Popen(create) as creation:
        if victim == "the tool while it creates":
            _wait_for(state_dir() / NAME / "logs" / "kubelet-2.log")
            creation.kill()
        else:
            assert creation.wait() == 0
            for pid, component in processes_of(state_dir() / NAME).items():
                if not component:
                    os.kill(pid, signal.SIGKILL)
    delete()
    assert look(NAME) == before


def test_a_cluster_that_a_restart_ended_stands_in_nobodys_way(create: list[str]) -> None:
    subprocess.run(create, check=True)
    for pid in processes_of(state_dir() / NAME):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    again = subprocess.run(create, check=True, capture_output=True, text=True)
    assert f"removing what is left of {NAME}" in again.stdout + again.stderr


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, f"{file} did not appear"
        time.sleep(0.05)
