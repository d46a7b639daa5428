"""Beside the real Karpenter: it adds nodes for pods of ours that nodes would help, and none for pods that only wait."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.asking_pods import AskingPods
from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.karpenter import NodePool, karpenter
from kit.quota_definition import quotas_defined
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.testing import node_manifest

CALM = float(os.environ.get("PILOTAGE_AUTOSCALER_SECONDS", "30"))  # without a node; 600 where there is time
SOON = 60.0  # seconds for a node to be added
pytestmark = [pytest.mark.full, pytest.mark.timeout(CALM + 600)]


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: ControlPlane) -> Iterator[None]:
    with quotas_defined(control_plane), karpenter(control_plane):
        yield


@pytest.fixture
def pods(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AskingPods:
    """Pods in a namespace of their own."""
    return AskingPods(control_plane, namespace, tmp_path)


@pytest.fixture
def pool(control_plane: ControlPlane, namespace: str) -> Iterator[NodePool]:
    with NodePool(control_plane, namespace).open() as found:
        yield found


@pytest.fixture
def there(fake_nodes: Nodes, namespace: str) -> Callable[[int], None]:
    """Lets a node be there that is none of Karpenter's."""

    def add(cores: int) -> None:
        fake_nodes(node_manifest(f"{namespace}-there", cpu=cores, labels={"only": namespace}))

    return add


def stays_without_nodes(pool: NodePool, seconds: float) -> None:
    """Make sure that Karpenter adds nothing for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert pool.claims() == []
        time.sleep(1)


def added_for(pool: NodePool) -> tuple[int, float]:
    """Wait until Karpenter adds a node, and return for how many pods of a core, and after how many seconds."""
    began = time.monotonic()
    while not (claims := pool.claims()):
        assert time.monotonic() - began < SOON, "Karpenter adds no node"
        time.sleep(0.2)
    seconds = time.monotonic() - began
    [claim] = claims
    return int(claim["spec"]["resources"]["requests"]["cpu"]), seconds


def test_a_quota_at_its_max_gets_no_node_and_raised_by_eight_one_for_eight(
    pods: AskingPods, pool: NodePool, there: Callable[[int], None]
) -> None:
    there(2)
    pods.quota(2)
    pods.create(*(f"p{n}" for n in range(52)))
    with pods.control_plane.pilotage(f"--config={pods.config}"):
        pods.until({"placed": 2, "Queued": 50})
        stays_without_nodes(pool, CALM)
        pods.quota(10)
        cores, seconds = added_for(pool)
        print(f"50 pods over their quota: no node in {CALM:g} s; raised by 8, one for {cores} after {seconds:.1f} s")
        assert cores == 8
        pods.until({"placed": 10, "Queued": 42})
        stays_without_more(pool, 1)


def test_a_gang_gets_no_node_before_it_is_whole_and_then_all_it_needs_in_one_round(
    pods: AskingPods, pool: NodePool, there: Callable[[int], None]
) -> None:
    there(2)
    labels = {NAME_LABEL: "gang", MIN_LABEL: "8"}
    pods.create(*(f"g{n}" for n in range(5)), labels=labels)
    with pods.control_plane.pilotage(f"--config={pods.config}"):
        pods.until({"WaitingForGroup": 5})
        stays_without_nodes(pool, CALM)
        pods.create(*(f"g{n}" for n in range(5, 8)), labels=labels)
        cores, seconds = added_for(pool)
        print(f"5 pods of a gang of 8: no node in {CALM:g} s; whole, one for {cores} after {seconds:.1f} s")
        assert cores == 6
        pods.until({"placed": 8})
        stays_without_more(pool, 1)


def stays_without_more(pool: NodePool, count: int) -> None:
    """Make sure that what was added is enough for Karpenter."""
    time.sleep(12)  # longer than it collects pods for one round
    assert len(pool.claims()) == count
