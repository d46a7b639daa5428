"""The API server stands still for longer than any watch is silent, or refuses everybody in bursts: nobody is lost."""

import time
from pathlib import Path

import pytest

from kit.component_faults import API_SERVER, frozen, process_of
from kit.control_plane import ControlPlane
from kit.fault_ground import FULL, Ground
from kit.fault_plans import Bursts
from kit.fault_proxy import Fault
from kit.fixtures import Audit, Nodes

# Minutes for what the other tests nearly show: not in `make test`.
__test__ = FULL

STANDSTILL = 90.0  # seconds; the reflectors doubt a connection after 75 seconds of silence


@pytest.fixture
def ground(control_plane: ControlPlane, namespace: str, tmp_path: Path, fake_nodes: Nodes, audit: Audit) -> Ground:
    return Ground(control_plane, namespace, tmp_path, fake_nodes, audit).prepare()


def test_bursts_of_refused_requests_are_sat_out(ground: Ground) -> None:
    with ground.audited() as running, ground.proxied() as (proxy, scheduler), ground.storm() as storm:
        storm.reaches(0.1)
        proxy.plan = Bursts(seconds=3, pause=3)
        storm.reaches(0.5)
        proxy.sever()  # the watches, too, come back in a burst
        proxy.mend()
        storm.ends_bound(120, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
    assert running.report["violations"] == []
    assert proxy.done[Fault.TOO_MANY.name] > 0


def test_an_api_server_that_stands_still_and_goes_on_costs_no_pod(ground: Ground) -> None:
    cluster = ground.control_plane.cluster
    with ground.audited(wait_limit=180) as running, ground.pilotage() as scheduler, ground.storm(pods=300) as storm:
        storm.reaches(0.4)
        pid = process_of(cluster, API_SERVER)
        assert pid is not None
        with frozen(pid):
            time.sleep(STANDSTILL)
        storm.ends_bound(180, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
    assert running.report["violations"] == []
