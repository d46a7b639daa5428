"""A leader is killed or stands still for longer than its lease: another goes on, and the first binds nothing more."""

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from kit.component_faults import frozen
from kit.control_plane import ControlPlane, RunningPilotage
from kit.fault_ground import FULL, USER, Ground
from kit.fixtures import Audit, Nodes
from kit.storm import wait_for_line

LEADER, FOLLOWER = USER, "kubernetes-admin"  # two users, so that the audit log tells them apart
SHORT = ("6s", "4s", "1s")
DEFAULT = ("15s", "10s", "2s")
KILLED = 0.0
# How long the leader stands still, and the times of its lease.
ENDS = [(10.0, SHORT), (40.0, DEFAULT), (KILLED, SHORT)] if FULL else [(10.0, SHORT)]
LEADS = "scheduling pods of"


@pytest.fixture
def ground(control_plane: ControlPlane, namespace: str, tmp_path: Path, fake_nodes: Nodes, audit: Audit) -> Ground:
    kubectl = control_plane.kubectl
    words = ["-n", namespace, "create"]
    kubectl(*words, "role", "leader", "--verb=get,create,update", "--resource=leases.coordination.k8s.io")
    kubectl(*words, "rolebinding", "leader", "--role=leader", f"--user={USER}")
    return Ground(control_plane, namespace, tmp_path, fake_nodes, audit).prepare()


def flags(ground: Ground, times: tuple[str, str, str]) -> list[str]:
    names = ("lease-duration", "renew-deadline", "retry-period")
    lease = [f"--leader-elect-{name}={value}" for name, value in zip(names, times, strict=True)]
    where = [f"--leader-elect-resource-namespace={ground.namespace}", "--leader-elect-resource-name=faults"]
    return ["--leader-elect=true", *where, *lease]


def two_replicas(
    ground: Ground, stack: ExitStack, times: tuple[str, str, str]
) -> tuple[RunningPilotage, RunningPilotage]:
    """Start one that leads, and one that waits."""
    words = flags(ground, times)
    leader = stack.enter_context(ground.pilotage(*words))
    wait_for_line(leader.log, LEADS)
    follower = stack.enter_context(ground.pilotage(*words, identity="admin"))
    wait_for_line(follower.log, "waiting for the lease")
    return leader, follower


@pytest.mark.parametrize(("seconds", "times"), ENDS)
def test_another_goes_on_and_the_first_leader_does_not_bind_any_more(
    ground: Ground, seconds: float, times: tuple[str, str, str]
) -> None:
    with ground.audited(FOLLOWER, wait_limit=90) as running, ExitStack() as stack:
        leader, follower = two_replicas(ground, stack, times)
        storm = stack.enter_context(ground.storm(rate=300 / (seconds + 15)))
        storm.reaches(0.2)
        over = end(leader, follower, seconds)
        storm.ends_bound(90, [leader.log, follower.log], alive=lambda: follower.process.poll() is None)
    assert running.report["violations"] == []
    bindings = ground.bindings()
    assert {one.user for one in bindings} == {LEADER, FOLLOWER}
    assert [one for one in bindings if one.user == LEADER and one.received > over] == []


def end(leader: RunningPilotage, follower: RunningPilotage, seconds: float) -> float:
    """Kill the leader, or let it stand still and go on when another one leads; returns when that was."""
    if seconds == KILLED:
        os.kill(leader.process.pid, signal.SIGKILL)
        assert leader.process.wait(20) == -signal.SIGKILL
        return time.time()
    with frozen(leader.process.pid):
        time.sleep(seconds)
        wait_for_line(follower.log, LEADS)
        over = time.time()
    assert leader.process.wait(20) == 1
    return over
