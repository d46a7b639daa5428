"""Gangs on a live control plane, under load, watched by the auditor: none ever runs partly, none waits for nothing.

PILOTAGE_GANG_ROUNDS=20 says how many of the largest loads are played; a run of `make test` is content
with a quarter of one.
"""

import os
import signal
from pathlib import Path
from random import Random

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from kit.gang_play import GangPlay, PlayedGang
from kit.replicas import LEADS, replicas
from kit.tiers import tiered
from pilotage.testing import node_manifest

ROUNDS = int(os.environ.get("PILOTAGE_GANG_ROUNDS", "20"))
NODES, GANGS, LARGEST = 200, 50, 64
# Who is more important has its turn first and evicts nobody: one that loses a pod runs partly, whoever schedules it.
PRIORITIES = {"gang-low": -10, "gang-middle": 0, "gang-high": 10}


@pytest.fixture(autouse=True)
def priorities(control_plane: ControlPlane) -> None:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "preemptionPolicy": "Never"}
    control_plane.kubectl.apply(
        *({**head, "metadata": {"name": name}, "value": value} for name, value in PRIORITIES.items())
    )


def configuration(path: Path, *schedulers: str) -> str:
    """Write the configuration of schedulers that know gangs; returns the flag that names it."""
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 5000, "burst": 5000},
        "profiles": [{"schedulerName": name, "plugins": plugins} for name in schedulers],
    }
    path.write_text(yaml.safe_dump(config))
    return f"--config={path}"


def load(seed: int, *, singles: int = 0, largest: int = LARGEST, gangs: int = GANGS) -> list[PlayedGang]:
    """Return gangs of all sizes, some of which need only a part of their pods, and single pods."""
    random = Random(seed)
    sizes = [random.randint(2, largest) for _ in range(gangs)]
    low, middle, high = ({"priority_class": name} for name in PRIORITIES)
    found = [PlayedGang(f"g{n}", size, size if n % 3 else max(2, size // 2), middle) for n, size in enumerate(sizes)]
    return [*found, *(PlayedGang(f"s{n}", 1, 1, high if n % 2 else low) for n in range(singles))]


def room_for_a_third(gangs: list[PlayedGang], nodes: int) -> tuple[int, int]:
    """Return the cores of a node, and of all nodes, so that a third of all pods fits, and the largest gang."""
    total = max(sum(gang.size for gang in gangs) // 3, max(gang.size for gang in gangs))
    each = -(-total // nodes)
    return each, each * nodes


def played(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, gangs: list[PlayedGang], nodes: int = NODES
) -> GangPlay:
    cores, capacity = room_for_a_third(gangs, nodes)
    fake_nodes(*(node_manifest(f"{namespace}-{n}", cpu=cores, memory="64Gi", pods=110) for n in range(nodes)))
    return GangPlay(control_plane.cluster, namespace, capacity, gangs)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", tiered(range(ROUNDS), full=range(1, ROUNDS)))
def test_groups_of_all_sizes_take_turns(
    control_plane: ControlPlane,
    namespace: str,
    fake_nodes: Nodes,
    audit: Audit,
    tmp_path: Path,
    seed: int,
    at_length: bool,
) -> None:
    gangs = load(seed, gangs=GANGS if at_length else GANGS // 4)
    flag = configuration(tmp_path / "config.yaml", namespace)
    with (
        played(control_plane, namespace, fake_nodes, gangs, nodes=NODES if at_length else NODES // 4) as play,
        audit(serves={"system:kube-scheduler": [namespace]}, namespaces=[namespace], wait_limit=0) as running,
        control_plane.pilotage(flag),
    ):
        play.create(namespace)
        play.until_over()
    print(f"{sum(gang.size for gang in gangs)} pods; {play.figures}")
    assert play.violations == []
    assert running.report["violations"] == []


@pytest.mark.full
@pytest.mark.timeout(600)
def test_single_pods_of_any_priority_are_not_starved(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, audit: Audit, tmp_path: Path
) -> None:
    gangs = load(7, singles=150, gangs=20, largest=24)
    flag = configuration(tmp_path / "config.yaml", namespace)
    with (
        played(control_plane, namespace, fake_nodes, gangs, nodes=30) as play,
        audit(serves={"system:kube-scheduler": [namespace]}, namespaces=[namespace], wait_limit=0) as running,
        control_plane.pilotage(flag),
    ):
        play.create(namespace)
        play.until_over()
    assert play.violations == []
    assert running.report["violations"] == []


@pytest.mark.full
@pytest.mark.timeout(600)
def test_two_schedulers_on_one_cluster_do_not_block_each_other(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path
) -> None:
    gangs = load(11, gangs=16, largest=16)
    one, other = f"{namespace}-one", f"{namespace}-other"
    with (
        played(control_plane, namespace, fake_nodes, gangs, nodes=20) as play,
        control_plane.pilotage(configuration(tmp_path / "one.yaml", one)),
        control_plane.pilotage(configuration(tmp_path / "other.yaml", other)),
    ):
        play.create(one, *(gang.name for gang in gangs[::2]))
        play.create(other, *(gang.name for gang in gangs[1::2]))
        play.until_over()
    assert play.violations == []


@pytest.mark.full
@pytest.mark.timeout(600)
def test_nothing_is_lost_with_a_leader_that_is_killed_while_groups_wait(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path
) -> None:
    gangs = load(13, gangs=12, largest=16)
    with replicas(control_plane, namespace, tmp_path, 2, plugins=["Coscheduling"]) as found:
        leader, standby = found.start(0), found.start(1)
        leader.until_said(LEADS)
        # A leader may die between two binds of one decision; the next one ends what it began.
        with played(control_plane, namespace, fake_nodes, gangs, nodes=20) as play:
            play.create(found.scheduler)
            leader.running.process.send_signal(signal.SIGKILL)
            play.until_over()
        standby.until_said(LEADS)
    assert play.violations == []
