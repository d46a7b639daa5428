"""The figures behind a rejection."""

import pytest

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.amounts import amount
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.scheduling.rejection_details import details
from pilotage.testing import make_node, make_pod

TAINTED = make_node("n1", taints=[{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}])


@pytest.mark.parametrize(
    ("reason", "pod", "node", "told"),
    [
        pytest.param("Insufficient cpu", make_pod(cpu=2), make_node(cpu=4), "wants 2, 2.8 of 4 free", id="cpu"),
        pytest.param(
            "Insufficient memory", make_pod(memory="20Gi"), make_node(memory="16Gi"), "20Gi, 15Gi of 16Gi", id="memory"
        ),
        pytest.param(
            "Insufficient memory",
            make_pod(memory="20Gi"),
            make_node(memory="16400Mi"),
            "15.01Gi of 16.02Gi",
            id="what is free is rounded down, so that a request for it fits",
        ),
        pytest.param(
            "Insufficient example.com/gpu",
            make_pod(requests={"example.com/gpu": 1}),
            make_node(),
            "wants 1, 0 of 0 free",
            id="something that the node has not",
        ),
        pytest.param("Too many pods", make_pod(), make_node(pods=1), "1 of 1 are there", id="pods"),
        pytest.param("node(s) had untolerated taint(s)", make_pod(), TAINTED, "dedicated=gpu:NoSchedule", id="a taint"),
        pytest.param(
            "node(s) didn't have free ports for the requested pod ports",
            make_pod(host_ports=[80]),
            make_node(),
            "wants TCP 80",
            id="ports",
        ),
        pytest.param("anything else", make_pod(), make_node(), "", id="nothing"),
    ],
)
def test_details(reason: str, pod: Pod, node: Node, told: str) -> None:
    info = NodeInfo(node)
    info.add_pod(make_pod("there", cpu="1200m", memory="1Gi"))
    (detail,) = details(Rejection(reason), pod, info)
    assert told in detail


@pytest.mark.parametrize(
    ("resource", "number", "written"),
    [
        ("cpu", 1200, "1.2"),
        ("cpu", 4000, "4"),
        ("memory", 1 << 30, "1Gi"),
        ("memory", 3 << 29, "1.5Gi"),
        ("memory", 500, "500"),
        ("memory", -(1 << 20), "-1Mi"),
        ("ephemeral-storage", 5 << 40, "5Ti"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("example.com/gpu", 2048, "2048"),
    ],
)
def test_amounts(resource: str, number: int, written: str) -> None:
    assert amount(resource, number) == written
