"""What a plugin that fails costs: one attempt of one pod, and nothing where nobody should have asked it."""

from typing import Any

import pytest

from kit.tiny_plugins import NO, SCOPES, Alpha, Beta, Likes, node_of, scheduler_of, scoped, unplaced
from pilotage.framework.api.caching import Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import NODE, STATIC, Filter, Score
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Placed
from pilotage.testing import make_pod

# ---------------------------------------------------------------------------------------------------- failures


class Moody(Filter, Score):
    """Raises about pods with the label `cross` on one node, which is never the first that it is asked about."""

    where: str = "filter"

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        if self.where == "filter" and "cross" in pod.annotations.get("mood", "") and node.name == "n2":
            raise KeyError("mood")
        return Rejection("full") if len(node.pods) > 1 else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        if self.where == "score" and "cross" in pod.annotations.get("mood", "") and node.name == "n2":
            raise KeyError("mood")
        return 50 - len(node.pods)


@pytest.mark.parametrize("where", ["filter", "score"])
@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_a_plugin_that_raises_spoils_one_attempt_of_one_pod(where: str, depends_on: Scope) -> None:
    scheduler = scheduler_of(scoped(depends_on, Moody)(where=where))
    assert isinstance(scheduler.schedule(make_pod("a")), Placed)
    cross = make_pod("b", annotations={"mood": "cross"})
    failed = unplaced(scheduler.schedule(cross))
    point = 'running "Moody" filter plugin: ' if where == "filter" else "running Score plugins: plugin "
    assert failed.message.startswith(point)
    assert "KeyError: 'mood'" in failed.message
    assert (failed.reason, failed.rejected_by, failed.nominate) == (SCHEDULER_ERROR, frozenset(), "")
    assert isinstance(scheduler.schedule(make_pod("c")), Placed)
    assert isinstance(scheduler.schedule(make_pod("b")), Placed)


class Changing(Filter, Score):
    """Says what it is told to about a node whose pods have changed, and fails while it is told to."""

    scores: Any = None
    broken: Any = ()

    depends_on = NODE
    same_for_shape = True

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        if ("filter", node.name) in self.broken:
            raise KeyError(node.name)
        return Rejection("full") if node.pods else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        if ("score", node.name) in self.broken:
            raise KeyError(node.name)
        return int(self.scores[node.name])


@pytest.mark.parametrize("where", ["filter", "score"])
@pytest.mark.parametrize("changed", [3, 8], ids=["one by one", "all at once"])
def test_a_failure_halfway_through_leaves_no_wrong_answer_behind(where: str, changed: int) -> None:
    plugin = Changing(scores={f"n{i}": i for i in range(1, 11)}, broken=set())
    scheduler = scheduler_of(plugin, nodes=10)
    cluster, first = scheduler.cluster, scheduler.schedule(make_pod("first"))
    assert isinstance(first, Placed)
    assert first.node == "n10"
    cluster.remove_pod(first.pod)

    for i in range(1, changed + 1):
        passing = make_pod(f"b{i}", node=f"n{i}")
        cluster.add_pod(passing)
        if 1 < i < changed:
            cluster.remove_pod(passing)
        plugin.scores[f"n{i}"] = 50 - i
    plugin.broken.add((where, "n2"))
    assert unplaced(scheduler.schedule(make_pod("second"))).reason == SCHEDULER_ERROR
    plugin.broken.clear()

    free = [f"n{i}" for i in range(1, 11) if i not in (1, changed)]
    for node in sorted(free, key=plugin.scores.__getitem__, reverse=True):
        assert node_of(scheduler.schedule(make_pod(f"for-{node}"))) == node
    assert unplaced(scheduler.schedule(make_pod("last"))).message == "0/10 nodes are available: 10 full."


class Restless(Filter):
    """Its epoch fails."""

    depends_on = STATIC

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return None

    def epoch(self, cycle: Cycle) -> int:
        raise KeyError("time")


def test_an_epoch_that_fails_costs_only_what_would_be_remembered() -> None:
    assert isinstance(scheduler_of(Restless()).schedule(make_pod()), Placed)


def test_a_fault_of_the_engine_costs_one_attempt(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    scheduler = scheduler_of(Alpha())
    with monkeypatch.context() as patch:
        patch.setattr(scheduler.engine.equivalence_cache, "filtered", lambda *_: 1 / 0)
        outcome = unplaced(scheduler.schedule(make_pod("p")))
    assert (outcome.message, outcome.reason) == ("ZeroDivisionError: division by zero", SCHEDULER_ERROR)
    assert "the attempt to schedule pod default/p failed" in caplog.text
    assert isinstance(scheduler.schedule(make_pod("p")), Placed)


# ------------------------------------------------------------------------ nodes that nobody should be asked about

RAISES = KeyError("not asked")


@pytest.mark.parametrize("first", SCOPES, ids=lambda scope: f"{scope.name} first")
@pytest.mark.parametrize("second", SCOPES, ids=lambda scope: f"{scope.name} second")
def test_a_plugin_never_spoils_a_node_that_an_earlier_one_rejects(first: Scope, second: Scope) -> None:
    scheduler = scheduler_of(
        scoped(first, Alpha)(about={"n1": NO}), scoped(second, Beta)(about={"n1": RAISES, "n2": NO})
    )
    for i in range(3):
        assert node_of(scheduler.schedule(make_pod(f"p{i}"))) == "n3"
    scheduler.cluster.cache.remove_node("n3")
    assert unplaced(scheduler.schedule(make_pod("q"))).message == "0/2 nodes are available: 2 no."


@pytest.mark.parametrize("filters", SCOPES, ids=lambda scope: f"{scope.name} filters")
@pytest.mark.parametrize("scores", SCOPES, ids=lambda scope: f"{scope.name} scores")
@pytest.mark.parametrize("wrong", [RAISES, 500], ids=["raises", "out of range"])
def test_a_node_that_is_rejected_is_not_scored(filters: Scope, scores: Scope, wrong: object) -> None:
    likes = scoped(scores, Likes)(scores={"n1": wrong, "n2": 10, "n3": 20})
    scheduler = scheduler_of(scoped(filters, Alpha)(about={"n1": NO}), likes)
    for i in range(3):
        assert node_of(scheduler.schedule(make_pod(f"p{i}"))) == "n3"
