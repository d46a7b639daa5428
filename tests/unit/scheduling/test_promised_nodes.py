"""A node that was nominated: to this pod, which takes it first, or to others, who keep it."""

from collections import Counter
from typing import Any

import pytest

from kit.tiny_plugins import (
    NEVER,
    NO,
    Alpha,
    Before,
    Likes,
    node_of,
    scheduler_of,
    scoped,
    unplaced,
)
from pilotage.framework.api.caching import Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import CLUSTER, NODE, Filter, PreFilter
from pilotage.framework.api.verdicts import (
    OnlyNodes,
    Rejection,
)
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import Placed
from pilotage.testing import make_pod


def nominated(node: str, name: str = "p", **fields: Any) -> Pod:
    return make_pod(name, status={"nominatedNodeName": node}, **fields)


def test_the_nominated_node_is_taken_without_looking_at_others_or_scores() -> None:
    never = dict.fromkeys(("n1", "n2", "n3"), AssertionError("not scored"))
    scheduler = scheduler_of(Alpha(about={"n1": AssertionError("not asked")}), Likes(scores=never))
    outcome = scheduler.schedule(nominated("n2"))
    assert isinstance(outcome, Placed)
    assert (outcome.node, outcome.feasible) == ("n2", 1)


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(Alpha(about={"n3": NO}), id="does not do"),
        pytest.param(Alpha(), id="is not there"),
    ],
)
def test_all_others_are_looked_at_if_the_nominated_node(plugin: Alpha) -> None:
    node = "n3" if plugin.about else "ghost"
    scheduler = scheduler_of(plugin, Likes(scores={"n1": 1, "n2": 2, "n3": 0}))
    assert node_of(scheduler.schedule(nominated(node))) == "n2"


def test_a_failure_on_the_nominated_node_is_one_more_reason_to_look_at_others() -> None:
    # Only there: no other look at the node follows, because a plugin has ruled it out by name.
    plugin = Alpha(about={"n3": KeyError("gone")})
    scheduler = scheduler_of(Before(answer=OnlyNodes(frozenset({"n1"}))), plugin)
    assert node_of(scheduler.schedule(nominated("n3"))) == "n1"


def test_the_nominated_node_is_tried_even_if_a_plugin_has_ruled_it_out_by_name() -> None:
    scheduler = scheduler_of(Before(answer=OnlyNodes(frozenset({"n1"}))))
    assert node_of(scheduler.schedule(nominated("n3"))) == "n3"


def test_a_nominated_node_outside_of_the_named_ones_keeps_its_own_reason() -> None:
    scheduler = scheduler_of(Before(answer=OnlyNodes(frozenset({"n1"}))), Alpha(about={"n1": NO, "n3": NEVER}))
    outcome = unplaced(scheduler.schedule(nominated("n3")))
    assert outcome.message == (
        "0/3 nodes are available: 1 never, 1 no, 1 node(s) didn't satisfy plugin(s) [Alpha Before]."
    )
    assert outcome.rejected_by == {"Alpha", "Before"}


def test_who_turned_the_nominated_node_down_is_named_for_the_ruled_out_ones_too() -> None:
    # A pod of a daemon set whose victims are still leaving.
    scheduler = scheduler_of(Before(answer=OnlyNodes(frozenset({"n1"}))), Alpha(about={"n1": NO}))
    message = "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [Alpha Before]."
    assert unplaced(scheduler.schedule(nominated("n1"))).message == message


class Slots(PreFilter, Filter):
    """A node holds one pod; a note counts those that are only nominated."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
        cycle.notes[self.name] = Counter(list[str]())

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return Rejection("full") if node.pods else None

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        cycle.notes[self.name][node.name] += 1


@pytest.mark.parametrize(
    ("priority", "node"),
    [
        pytest.param(5, "n2", id="a pod of the same priority does not take what is nominated"),
        pytest.param(4, "n2", id="nor does one of a lower priority"),
        pytest.param(6, "n1", id="one of a higher priority does"),
    ],
)
@pytest.mark.parametrize("depends_on", [NODE, CLUSTER], ids=lambda scope: scope.name)
def test_nominations_to_others(priority: int, node: str, depends_on: Scope) -> None:
    plugin = scoped(depends_on, Slots)()
    scheduler = scheduler_of(plugin, Likes(scores={"n1": 9, "n2": 5, "n3": 1}))
    scheduler.cluster.nominations["n1"] = [make_pod("waiting", priority=5)]
    assert node_of(scheduler.schedule(make_pod(priority=priority))) == node


def test_a_pod_does_not_stand_in_its_own_way() -> None:
    scheduler, pod = scheduler_of(Slots(), nodes=1), nominated("n1")
    scheduler.cluster.nominations["n1"] = [pod]
    assert node_of(scheduler.schedule(pod)) == "n1"


def test_nominations_on_nodes_that_are_gone_or_ruled_out_change_nothing() -> None:
    scheduler = scheduler_of(Before(answer=OnlyNodes(frozenset({"n1"}))), Slots(), Alpha(about={"n1": NO}))
    for node in ("ghost", "n2"):
        scheduler.cluster.nominations[node] = [make_pod("waiting", priority=5)]
    message = "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [Before]."
    assert unplaced(scheduler.schedule(make_pod())).message == message


class Lonely(PreFilter, Filter):
    """A pod fits only where no other is expected; without the others in mind, only where one is."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return None if node.pods else Rejection("alone")

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
        return None


def test_both_with_and_without_the_nominated_pods_a_pod_must_fit() -> None:
    scheduler = scheduler_of(Lonely(), nodes=1)
    scheduler.cluster.nominations["n1"] = [make_pod("waiting")]
    assert unplaced(scheduler.schedule(make_pod())).message == "0/1 nodes are available: 1 alone."


def test_a_node_that_is_nominated_to_others_is_tried_in_order_too() -> None:
    class Wary(Filter):
        """Fails on a node without pods, which it would only see without the nominated ones."""

        depends_on = NODE

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
            if node.name == "n1" and not node.pods:
                raise KeyError("empty")

    scheduler = scheduler_of(Slots(), Wary(), nodes=2)
    scheduler.cluster.nominations["n1"] = [make_pod("waiting")]
    assert node_of(scheduler.schedule(make_pod())) == "n2"
