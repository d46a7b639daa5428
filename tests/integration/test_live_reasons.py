"""What an autoscaler sees on a live control plane: pods ask for nodes where nodes would help, and only so many.

The judge is the rule by which Karpenter and the Cluster Autoscaler choose the pods that they add nodes for.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.asking_pods import AskingPods
from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.quota_definition import quotas_defined
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.testing import node_manifest


@pytest.fixture(scope="module", autouse=True)
def definitions(control_plane: ControlPlane) -> Iterator[None]:
    with quotas_defined(control_plane):
        yield


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AskingPods:
    """Pods in a namespace of their own."""
    return AskingPods(control_plane, namespace, tmp_path)


@pytest.fixture
def add_node(fake_nodes: Nodes, namespace: str) -> Callable[[str, int], None]:
    """Lets a node come, as an autoscaler does."""

    def add(name: str, cores: int) -> None:
        fake_nodes(node_manifest(f"{namespace}-{name}", cpu=cores, labels={"only": namespace}))

    return add


@pytest.mark.full
def test_a_quota_at_its_max_asks_for_no_node_and_raised_by_eight_for_eight(
    stage: AskingPods, add_node: Callable[[str, int], None]
) -> None:
    add_node("first", 2)
    stage.quota(2)
    stage.create(*(f"p{n}" for n in range(52)))
    with stage.control_plane.pilotage(f"--config={stage.config}"):
        stage.until({"placed": 2, "Queued": 50})
        stage.quota(10)
        stage.until({"placed": 2, "asks for a node": 8, "Queued": 42})
        add_node("bought", 8)
        stage.until({"placed": 10, "Queued": 42})


def test_a_gang_asks_for_nodes_when_it_is_whole_and_then_as_a_whole(
    stage: AskingPods, add_node: Callable[[str, int], None]
) -> None:
    add_node("small", 1)
    labels = {NAME_LABEL: "gang", MIN_LABEL: "8"}
    stage.create(*(f"g{n}" for n in range(5)), labels=labels)
    with stage.control_plane.pilotage(f"--config={stage.config}"):
        stage.until({"WaitingForGroup": 5})
        stage.create(*(f"g{n}" for n in range(5, 8)), labels=labels)
        stage.until({"asks for a node": 8})
        add_node("bought", 8)
        stage.until({"placed": 8})
