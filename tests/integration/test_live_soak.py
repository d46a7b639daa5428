"""Our scheduler under a load that never ends: its memory must stay what it is, and nothing be left of what has gone.

A minute of it is part of all tests; `make soak` takes an hour. Memory is judged by the load and not by the clock: what
is there is the same in every round.
"""

import os
import time
from pathlib import Path
from statistics import median

import pytest

from kit.churn import BREAKING_PLUGIN, ORDINARY, Churn, nodes
from kit.control_plane import ControlPlane, RunningPilotage
from kit.fixtures import Audit, Nodes
from kit.looking_glass import LookingGlass, free_port

MINUTES = float(os.environ.get("SOAK_MINUTES", "1"))
ROUNDS = int(30 * MINUTES)  # at least; a machine in a hurry plays twice as many in this time
# A minute is too short for caches to fill that hold what was not there before.
VARIETY = 25 if MINUTES < 10 else 1_000_000
SCHEDULER = "soak"
LOOK_EVERY = 2.0  # seconds
# KiB, from the middle third to the last: buffers and connections come with the first burst that needs them, and in a
# minute that may be late. What a leak of anything per pod adds up to in an hour is much more.
MOST_GROWTH = (12 if MINUTES < 30 else 6) * 1024

CONFIGURATION = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 3
leaderElection: {{leaderElect: false}}
profiles:
- schedulerName: {SCHEDULER}
"""


@pytest.mark.timeout(MINUTES * 60 * 3 + 600)
def test_memory_stays_as_it_is_and_nothing_is_left_behind(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, audit: Audit, tmp_path: Path
) -> None:
    fake_nodes(*nodes())
    (tmp_path / "config.yaml").write_text(CONFIGURATION)
    (tmp_path / "breaks.py").write_text(BREAKING_PLUGIN)
    port = free_port()
    flags = (f"--config={tmp_path / 'config.yaml'}", f"--plugin-dir={tmp_path}", f"--secure-port={port}", "--v=0")
    with (
        # Pods at which a plugin breaks wait although they fit.
        audit(serves={"system:kube-scheduler": [SCHEDULER]}, wait_limit=0) as auditor,
        control_plane.pilotage(*flags, "--bind-address=127.0.0.1") as scheduler,
        LookingGlass(control_plane.cluster, port) as glass,
    ):
        glass.until_ready()
        with Churn(control_plane.cluster, namespace, SCHEDULER, VARIETY) as churn:
            memory = _watch(churn, scheduler, tmp_path / "memory.csv")
        assert glass.until_as_the_api_server(), glass.differences()
        _judge_objects(glass)
    _judge(memory)
    assert auditor.report["violations"] == []
    assert auditor.report["seen"]["bindings"] > ORDINARY * churn.rounds / 2


def _watch(churn: Churn, scheduler: RunningPilotage, curve: Path) -> list[int]:
    """Return the resident memory over the time of the soak, in KiB, and write it down."""
    memory: list[int] = []
    begun = time.monotonic()
    with curve.open("w") as file:
        while time.monotonic() - begun < MINUTES * 60 or churn.rounds < ROUNDS:
            assert churn.trouble is None, churn.trouble
            assert scheduler.process.poll() is None, scheduler.log.read_text()[-2000:]
            memory.append(_resident(scheduler.process.pid))
            print(f"{time.monotonic() - begun:.0f},{churn.rounds},{churn.created},{memory[-1]}", file=file, flush=True)
            time.sleep(LOOK_EVERY)
    return memory


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def _judge(memory: list[int]) -> None:
    """Compare the middle third with the last one; in the first, caches fill and the allocator finds its size."""
    third = len(memory) // 3
    middle, last = median(memory[third:-third]), median(memory[-third:])
    assert last - middle <= MOST_GROWTH, f"{middle} KiB in the middle third, {last} KiB in the last one: {memory}"


def _judge_objects(glass: LookingGlass) -> None:
    """Hold the numbers of what pods leave behind against the pods that there are."""
    counts = glass.objects()
    there = glass.pods_in_the_cluster()
    print("objects left:", {name: number for name, number in counts.items() if name.startswith("pilotage")})
    assert counts["pilotage.queue.queued_pod.QueuedPod"] == 0
    # A pod may be the last one that somebody looked at.
    assert counts["pilotage.model.pod.Pod"] <= there + 10
