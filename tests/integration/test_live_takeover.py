"""Replicas of our scheduler and their lease: the leader goes, another one goes on, and no pod is bound twice.

PILOTAGE_TAKEOVERS=20 says how often the leader goes; a run of `make test` is content with fewer.
"""

import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from kit.control_plane import ControlPlane
from kit.fault_proxy import Fault, FaultProxy, Trouble, no_trouble
from kit.fixtures import Audit, Nodes
from kit.replicas import JITTER, LEADS, LEASE, LOST, RETRY, Replica, Replicas, Stream, Term, replicas
from pilotage.testing import node_manifest, pod_manifest

TAKEOVERS = int(os.environ.get("PILOTAGE_TAKEOVERS", "3"))
RATE = 15.0  # pods a second, all the time
# A machine that is busy with other tests may be late; the lease itself allows for nothing.
LATENESS = 10.0


@pytest.mark.timeout(120 + 40 * TAKEOVERS)
@pytest.mark.parametrize(
    ("number", "limit"),
    [
        pytest.param(signal.SIGKILL, LEASE + 2 * RETRY * JITTER, id="a leader that is killed"),
        pytest.param(signal.SIGTERM, RETRY * JITTER, id="a leader that is told to stop"),
    ],
)
def test_another_goes_on_after(
    control_plane: ControlPlane,
    namespace: str,
    fake_nodes: Nodes,
    audit: Audit,
    tmp_path: Path,
    number: signal.Signals,
    limit: float,
) -> None:
    fake_nodes(*(node_manifest(f"{namespace}-{n}", pods=100) for n in range(10 + 8 * TAKEOVERS)))
    with replicas(control_plane, namespace, tmp_path, 2 * TAKEOVERS + 2) as found:
        serves = {user: [found.scheduler] for user in found.users}
        with audit(serves=serves, namespaces=[namespace]) as running:
            with Stream(control_plane, namespace, RATE, scheduler=found.scheduler) as stream:
                terms, gaps = go_one_by_one(found, number)
            until_bound(control_plane, namespace, stream.created)
        assert running.report["violations"] == []
        delays = check_terms(found, terms)
    print(
        f"{number.name}: leases taken after {told(gaps)} s, first binds {told(delays)} s later, {stream.created} pods"
    )
    assert len(gaps) == TAKEOVERS, "leaders lost their leases all the time"
    assert max(gaps) < limit + LATENESS


def told(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {max(seconds):.2f} (median {median(seconds):.2f})"


def go_one_by_one(found: Replicas, number: signal.Signals) -> tuple[list[Term], list[float]]:
    """Let one leader after the other go; returns all terms, and how long the lease was nobody's each time."""
    leader = found.start(0)
    leader.until_said(LEADS)
    terms, gaps = [found.term()], []
    for next_one in range(1, len(found.users)):
        standby = found.start(next_one)
        until_binds(found, leader)
        gone = time.time()
        leader.running.process.send_signal(number)
        terms.append(found.next_term(terms[-1]))
        if ended_as_told(leader, number):
            gaps.append(terms[-1].since - gone)
        standby.until_said(LEADS)
        leader = standby
        if len(gaps) == TAKEOVERS:
            break
    until_binds(found, leader)
    return terms, gaps


def ended_as_told(leader: Replica, number: signal.Signals) -> bool:
    """Tell whether a replica went because of the signal; on a busy machine it may have lost its lease just before."""
    code = leader.running.process.wait(20)
    if code == 1 and leader.said(LOST):
        return False
    assert code == (0 if number is signal.SIGTERM else -number), leader.running.log.read_text()
    return True


def until_binds(found: Replicas, leader: Replica) -> None:
    """Wait until a leader has bound something."""
    deadline = time.monotonic() + 60
    while leader.is_alive and not any(each.user == leader.user for each in found.bindings()):
        assert time.monotonic() < deadline, f"{leader.user} binds nothing"
        time.sleep(0.1)


def check_terms(found: Replicas, terms: list[Term]) -> list[float]:
    """Check that each replica bound pods in its own term only; returns how long after its beginning each began."""
    times: dict[str, list[float]] = {user: [] for user in found.users}
    for each in found.bindings():
        times[each.user].append(each.received)
    ends = [*(after.since for _, after in pairwise(terms)), float("inf")]
    for user, term, end in zip(found.users, terms, ends, strict=False):
        assert all(term.since < time < end for time in times[user]), f"{user} bound a pod when it did not lead"
    assert not any(times[user] for user in found.users[len(terms) :])
    return [min(times[user]) - term.since for user, term in zip(found.users, terms, strict=False) if times[user]]


def test_a_new_leader_sees_what_the_last_one_did(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, audit: Audit, tmp_path: Path
) -> None:
    """Its watch has told it nothing: until it looks itself, all pods still wait and all nodes are empty."""
    blind = FaultProxy(control_plane.cluster, identity="admin")
    with blind.running(), replicas(control_plane, namespace, tmp_path, 2) as found:
        serves = {user: [found.scheduler] for user in (*found.users, "kubernetes-admin")}
        with audit(serves=serves, namespaces=[namespace]) as running:
            leader = found.start(0)
            leader.until_said(LEADS)
            create(control_plane, found, namespace, range(150))  # there are no nodes yet
            blind.plan = see_only_the_first_list
            standby = found.start(1, f"--kubeconfig={blind.kubeconfig(tmp_path)}")
            fake_nodes(*(node_manifest(f"{namespace}-{n}", pods=10) for n in range(20)))
            until_bound(control_plane, namespace, 150)
            blind.plan = no_trouble
            leader.running.process.kill()
            create(control_plane, found, namespace, range(150, 200))
            until_bound(control_plane, namespace, 200)
            assert standby.said(LEADS)
        assert running.report["violations"] == []
        assert all(each.succeeded for each in found.bindings())


def see_only_the_first_list(_method: str, target: str) -> Trouble | None:
    """Let pods be listed, and nothing be heard of them afterwards."""
    if "/pods?" not in target or "watch=true" not in target:
        return None
    return Trouble(fault=Fault.CUT_BEFORE) if "sendInitialEvents" in target else Trouble(late=600)


def create(control_plane: ControlPlane, found: Replicas, namespace: str, numbers: range) -> None:
    control_plane.create([pod_manifest(f"pod-{n}", namespace=namespace, scheduler=found.scheduler) for n in numbers])


def until_bound(control_plane: ControlPlane, namespace: str, pods: int) -> None:
    deadline = time.monotonic() + 60
    while (bound := count_bound(control_plane, namespace)) < pods:
        assert time.monotonic() < deadline, f"{bound} of {pods} pods are bound"
        time.sleep(0.3)


def count_bound(control_plane: ControlPlane, namespace: str) -> int:
    selector = "--field-selector=spec.nodeName!="
    return len(control_plane.kubectl("get", "pods", "-n", namespace, selector, "-o", "name").splitlines())
