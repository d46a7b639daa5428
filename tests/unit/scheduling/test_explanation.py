"""Why a pod goes where it goes, node by node; asking changes nothing."""

from typing import Any

import pytest

from kit.tiny_plugins import NO, SCOPES, Alpha, Before, Likes, Loves, scheduler_of, scoped
from pilotage.framework.api.caching import Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import PreScore
from pilotage.framework.api.scoring import by_maximum
from pilotage.framework.api.verdicts import SKIP, OnlyNodes, PluginFailed, Rejection
from pilotage.model.pod import Pod
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.explanation import NodeVerdict, PluginScore, scores_at
from pilotage.scheduling.outcome import Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod


class Counts(Likes):
    """Likes by the largest score."""

    normalize = by_maximum


class Silent(PreScore, Likes):
    """Does not score."""

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return SKIP


PLUGINS = (
    Alpha(about={"n1": NO}),
    Counts(scores={"n1": 1000, "n2": 3, "n3": 4}),
    Loves(scores={"n2": 40, "n3": 30}),
    Silent(),
)


def test_every_node_with_its_reason_or_its_scores() -> None:
    found = scheduler_of(*PLUGINS, weights={"Counts": 2}).explain(make_pod())
    assert [(node.node, node.rejection, node.total) for node in found.nodes] == [
        ("n1", NO.by("Alpha"), 0),
        ("n2", None, 190),
        ("n3", None, 230),
    ]
    assert [node.node for node in found.feasible] == ["n2", "n3"]
    assert found.nodes[1].scores == {"Counts": PluginScore(3, 75, 2), "Loves": PluginScore(40, 40, 1)}
    assert (found.before, found.error) == (None, "")


def test_asking_changes_nothing() -> None:
    scheduler = scheduler_of(*PLUGINS)
    pod = make_pod("p")
    assert scheduler.explain(pod) == scheduler.explain(pod)
    assert not any(node.pods for node in scheduler.cluster.nodes)
    assert isinstance(scheduler.schedule(pod), Placed)


def test_one_node_that_fits_is_not_scored() -> None:
    found = scheduler_of(Alpha(about={"n1": NO, "n2": NO}), Likes(scores={"n3": KeyError("not asked")}))
    assert found.explain(make_pod()).nodes[2] == NodeVerdict("n3")


def test_no_node_was_looked_at() -> None:
    found = scheduler_of(Before(answer=NO)).explain(make_pod())
    assert (found.nodes, found.before) == ([], NO.by("Before"))


def test_a_cluster_without_nodes() -> None:
    assert scheduler_of(nodes=0).explain(make_pod()).nodes == []


def test_nodes_outside_of_those_that_are_named() -> None:
    found = scheduler_of(Before(answer=OnlyNodes(frozenset({"n2"})))).explain(make_pod())
    outside = Rejection("node(s) didn't satisfy plugin(s) [Before]", preemption_helps=False)
    assert [node.rejection for node in found.nodes] == [outside, None, outside]


def test_a_nominated_node_is_the_only_one() -> None:
    found = scheduler_of(*PLUGINS).explain(make_pod(status={"nominatedNodeName": "n3"}))
    assert found.nodes == [NodeVerdict("n3")]


@pytest.mark.parametrize(
    "plugin",
    [Before(answer=PluginFailed("broken")), Alpha(about={"n2": PluginFailed("broken")})],
    ids=["before nodes", "at a node"],
)
def test_a_failure_is_told(plugin: Before | Alpha) -> None:
    found = scheduler_of(plugin).explain(make_pod())
    assert found.nodes == []
    assert found.error.endswith("broken")


def test_the_figures_behind_a_reason() -> None:
    cluster = FakeCluster([make_node("n1", cpu="1")])
    found = FakeScheduler(NodeResourcesFit(), cluster=cluster).explain(make_pod(cpu="2"))
    assert found.nodes[0].details == ("wants 2, 1 of 1 free",)


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
@pytest.mark.parametrize("where", ["n2", "n3"])
def test_the_scores_of_the_chosen_node_are_those_of_the_explanation(depends_on: Scope, where: str) -> None:
    plugins = [plugin if isinstance(plugin, Alpha) else _with(depends_on, plugin) for plugin in PLUGINS]
    scheduler, pod = scheduler_of(*plugins, weights={"Counts": 2}), make_pod()
    explained = {node.node: node.scores for node in scheduler.explain(pod).nodes}
    attempt = scheduler.attempt(pod)
    attempt.run_pre_filter()
    feasible = attempt.feasible()
    attempt.best(feasible)
    slot = next(node.slot for node in feasible if node.name == where)
    assert scores_at(attempt, feasible, slot) == explained[where]


def _with(depends_on: Scope, plugin: Any) -> Any:
    return scoped(depends_on, type(plugin))(scores=plugin.scores)


def test_a_plugin_has_a_remark_where_figures_say_nothing() -> None:
    class Remarks(Alpha):
        """Says more to people."""

        def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
            return f"{node.name} and {pod.name}, " * 100 if node.name == "n2" else f"{node.name} and {pod.name}"

    found = scheduler_of(Remarks(about={"n1": NO, "n2": NO})).explain(make_pod("p")).nodes
    assert found[0].details == ("n1 and p",)
    assert len(found[1].details[0]) == 303  # it is cut


def test_a_remark_that_fails_is_none(caplog: pytest.LogCaptureFixture) -> None:
    class Fails(Alpha):
        """Cannot tell."""

        def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
            raise ValueError("broken")

    assert scheduler_of(Fails(about={"n1": NO})).explain(make_pod()).nodes[0].details == ("",)
    assert "remark failed on node n1" in caplog.text
