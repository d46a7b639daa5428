"""What plugin authors test their plugins with."""

from typing import Any

import numpy as np
import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter, Score
from pilotage.framework.api.verdicts import SKIP, Filtered, OnlyNodes, Rejection, Verdicts
from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_ports import NodePorts
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, reason_of


class Labelled(Filter):
    """Keeps pods on labelled nodes."""

    label: str = "disk"

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        return None if self.label in node.labels else Rejection(f"{node.name} has no label {self.label}", "sorry")


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        pytest.param({"disk": "ssd"}, None, id="a labelled node fits"),
        pytest.param({}, "n1 has no label disk, sorry", id="an unlabelled node does not"),
    ],
)
def test_the_reason_of_a_filter(labels: dict[str, str], reason: str | None) -> None:
    assert reason_of(Labelled(), make_pod(), make_node("n1", labels=labels)) == reason


class Early(PreFilter):
    """Says something before any node."""

    answer: Any = None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
        return self.answer


class EarlyAndLate(Early, Labelled):
    """Says something before any node, and then about each."""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(None, "n1 has no label disk, sorry", id="it goes on to the node"),
        pytest.param(SKIP, None, id="it has nothing to filter"),
        pytest.param(Rejection("not today"), "not today", id="it rejects the pod"),
        pytest.param(
            OnlyNodes(frozenset({"n2"})), "node(s) didn't satisfy plugin(s) [EarlyAndLate]", id="another node"
        ),
        pytest.param(OnlyNodes(frozenset({"n1"})), "n1 has no label disk, sorry", id="this node"),
    ],
)
def test_the_reason_before_any_node(answer: object, reason: str | None) -> None:
    assert reason_of(EarlyAndLate(answer=answer), make_pod(), make_node("n1")) == reason


def test_a_plugin_that_looks_at_no_node() -> None:
    assert reason_of(Early(), make_pod(), make_node("n1")) is None


def test_pods_on_the_node() -> None:
    node, other = make_node("n1"), make_pod("other", node="n1", host_ports=(80,))
    assert reason_of(NodePorts(), make_pod(host_ports=(80,)), node) is None
    reason = reason_of(NodePorts(), make_pod(host_ports=(80,)), node, pods=[other])
    assert reason == "node(s) didn't have free ports for the requested pod ports"


class Registered(Filter):
    """Lets pods in whose namespace is known."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        return None if cycle.objects.get(Namespace, pod.namespace) else Rejection("who is that")


def test_objects_of_the_cluster() -> None:
    known = Namespace(Metadata(name="default"))
    assert reason_of(Registered(), make_pod(), make_node("n1")) == "who is that"
    assert reason_of(Registered(), make_pod(), make_node("n1"), objects=[known]) is None


class TwoFaced(Labelled):
    """Says another thing about all nodes at once."""

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts(np.zeros(len(nodes), np.uint16))


def test_both_forms_must_agree() -> None:
    with pytest.raises(AssertionError, match="TwoFaced: the two forms differ"):
        reason_of(TwoFaced(), make_pod(), make_node("n1"))


class Last(Score):
    """Prefers the last node."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return int(node.name[1:])


def test_a_scheduler_with_a_few_plugins() -> None:
    nodes = [make_node(f"n{i}", labels={"disk": "ssd"} if i < 3 else {}) for i in range(1, 4)]
    scheduler = FakeScheduler(Labelled(), Last(), cluster=FakeCluster(nodes))
    outcome = scheduler.schedule(make_pod("p"))
    assert isinstance(outcome, Placed)
    assert outcome.node == "n2"
    assert [node.rejection is None for node in scheduler.explain(make_pod("q")).nodes] == [True, True, False]
