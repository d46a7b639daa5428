"""Answers to binds are late, cut, repeated and false; all pods are bound, once each."""

from pathlib import Path

import pytest

from kit.control_plane import ControlPlane
from kit.fault_ground import Ground
from kit.fault_plans import BindTroubles, BusyConnections
from kit.fault_proxy import Fault
from kit.fixtures import Audit, Nodes
from kit.tiers import tiered

SEEDS = tiered(range(1, 6), faults=range(2, 6))


@pytest.fixture
def ground(control_plane: ControlPlane, namespace: str, tmp_path: Path, fake_nodes: Nodes, audit: Audit) -> Ground:
    return Ground(control_plane, namespace, tmp_path, fake_nodes, audit).prepare()


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_are_bound_once_whatever_happens_to_the_answers(ground: Ground, seed: int) -> None:
    with ground.audited() as running, ground.proxied() as (proxy, scheduler), ground.storm(seed=seed) as storm:
        proxy.plan = BindTroubles(seed)
        storm.ends_bound(120, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
    assert running.report["violations"] == []
    assert set(proxy.done) >= {fault.name for fault in Fault if fault is not Fault.TOO_MANY} | {"slow"}


@pytest.mark.full
def test_a_bind_that_waits_for_a_connection_is_not_sent_for_a_pod_that_is_bound_by_then(ground: Ground) -> None:
    with ground.audited() as running, ground.proxied() as (proxy, scheduler):
        proxy.plan = BusyConnections()
        with ground.storm(pods=200, rate=1000) as storm:
            storm.ends_bound(120, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
    assert running.report["violations"] == []
