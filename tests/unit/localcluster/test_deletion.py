"""A cluster is deleted once all of its processes have ended, those in containers too."""

import subprocess
import sys
from pathlib import Path

import pytest

from localcluster import lifecycle
from localcluster.address_plan import UNROUTED
from localcluster.processes import process_namespaces
from localcluster.record import Cluster, Ports


def test_containers_that_outlive_a_killed_keeper_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PILOTAGE_STATE", str(tmp_path))
    cluster = Cluster(
        "x", "control-plane", "1.37.1", 1, "127.0.0.1", Ports(1, 2, 3, 4, 5), True, False, "/none", {}, UNROUTED
    )
    cluster.folder.mkdir()
    cluster.save()
    cluster.pid_namespace_file.write_text("pid:[1]")
    # Without the mark of the cluster, as a process in a container, and with nobody who has it.
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.7)"]) as container:
        own = {container.pid: process_namespaces()[container.pid]}
        monkeypatch.setattr(lifecycle, "processes_in", lambda namespace: own if namespace == "pid:[1]" else {})
        lifecycle.delete("x")
        assert container.poll() == 0 or container.pid not in process_namespaces()
    assert not cluster.folder.exists()
