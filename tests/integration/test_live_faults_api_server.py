"""The API server dies and loses its history under a storm of pods; all pods are bound in the end."""

from pathlib import Path

import pytest

from kit.component_faults import compact, kill_api_server, wait_for_api_server
from kit.control_plane import ControlPlane
from kit.fault_ground import FULL, Ground
from kit.fixtures import Audit, Nodes
from kit.storm import wait_for_line

KILLS = 4 if FULL else 1


@pytest.fixture
def ground(control_plane: ControlPlane, namespace: str, tmp_path: Path, fake_nodes: Nodes, audit: Audit) -> Ground:
    return Ground(control_plane, namespace, tmp_path, fake_nodes, audit).prepare()


def test_an_api_server_that_is_killed_costs_no_pod(ground: Ground) -> None:
    cluster = ground.control_plane.cluster
    with ground.audited() as running, ground.pilotage() as scheduler, ground.storm(pods=300) as storm:
        for kill in range(1, KILLS + 1):
            storm.reaches(kill / (KILLS + 1))
            wait_for_api_server(cluster, other_than=kill_api_server(cluster))
        storm.ends_bound(120, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
    assert running.report["violations"] == []


def test_a_history_that_was_compacted_while_we_were_away_is_read_anew(ground: Ground) -> None:
    cluster = ground.control_plane.cluster
    with ground.audited() as running, ground.proxied() as (proxy, scheduler):
        wait_for_line(scheduler.log, "scheduling pods of")  # whoever waits for us to start waits while we are away, too
        with ground.storm(pods=300) as storm:
            wait_for_line(scheduler.log, "Successfully bound")
            storm.reaches(0.3)
            proxy.sever()
            storm.reaches(0.6)
            compact(cluster)
            # The API server remembers more than etcd does, unless it is a new one.
            wait_for_api_server(cluster, other_than=kill_api_server(cluster))
            storm.reaches(0.7)
            proxy.mend()
            storm.ends_bound(120, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
            assert "too old resource version" in scheduler.log.read_text()
    assert running.report["violations"] == []
