"""One attempt from start to end: which node is the best, who holds it, and what happens if it is taken back."""

from typing import Any

import numpy as np
import pytest

from kit.tiny_plugins import (
    NEVER,
    NO,
    SCOPES,
    Alpha,
    Before,
    Likes,
    Loves,
    cluster_of,
    node_of,
    scheduler_of,
    scoped,
    unplaced,
)
from pilotage.framework.api.caching import Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Permit, Plugin, PreScore, Reserve, Score
from pilotage.framework.api.scoring import by_maximum
from pilotage.framework.api.verdicts import SKIP, OnlyNodes, PluginFailed, Rejection, Wait
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import SCHEDULER_ERROR, UNSCHEDULABLE, Placed, Unplaced
from pilotage.testing import FakeScheduler, make_pod

# ---------------------------------------------------------------------------------------------- where no node is


def test_a_cluster_without_nodes() -> None:
    outcome = unplaced(scheduler_of(nodes=0).schedule(make_pod(status={"nominatedNodeName": "n1"})))
    assert outcome == Unplaced("no nodes available to schedule pods", UNSCHEDULABLE, nominate="")


def test_without_any_plugin_pods_go_round() -> None:
    scheduler = scheduler_of()
    assert [node_of(scheduler.schedule(make_pod(f"p{i}"))) for i in range(4)] == ["n1", "n2", "n3", "n1"]


# ------------------------------------------------------------------------------------------------------ scores


@pytest.mark.parametrize(
    ("weights", "node"),
    [
        pytest.param({}, "n1", id="equal weights"),
        pytest.param({"Loves": 2}, "n2", id="twice the weight for one"),
        pytest.param({"Likes": 0}, "n2", id="no weight for the other"),
    ],
)
def test_the_highest_weighted_sum_wins(weights: dict[str, int], node: str) -> None:
    likes, loves = Likes(scores={"n1": 60, "n2": 10, "n3": 0}), Loves(scores={"n1": 10, "n2": 50, "n3": 0})
    assert node_of(scheduler_of(likes, loves, weights=weights).schedule(make_pod())) == node


class Counting(Likes):
    """Normalises by the largest."""

    normalize = by_maximum


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_only_nodes_that_fit_count_in_normalisation(depends_on: Scope) -> None:
    # With n3, which does not fit, in the sum, 4 and 2 would both be 0 and Likes would decide.
    counting = scoped(depends_on, Counting)(scores={"n1": 4, "n2": 2, "n3": 100_000})
    likes = Likes(scores={"n1": 0, "n2": 40, "n3": 0})
    scheduler = scheduler_of(Alpha(about={"n3": NO}), counting, likes)
    assert node_of(scheduler.schedule(make_pod())) == "n1"


def test_one_node_that_fits_is_not_scored() -> None:
    scheduler = scheduler_of(Alpha(about={"n1": NO, "n3": NO}), Likes(scores={"n2": AssertionError("not asked")}))
    assert node_of(scheduler.schedule(make_pod())) == "n2"


class Modest(PreScore, Likes):
    """Does not score small pods."""

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return SKIP if "small" in pod.labels else None


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_who_skips_does_not_score(depends_on: Scope) -> None:
    modest = scoped(depends_on, Modest)(scores={"n1": 0, "n2": 0, "n3": 100})
    scheduler = scheduler_of(modest, Likes(scores={"n1": 0, "n2": 50, "n3": 0}))
    small, large = {"small": "yes"}, {"large": "yes"}
    labels = enumerate((small, large, small))
    found = [node_of(scheduler.schedule(make_pod(f"p{i}", labels=each))) for i, each in labels]
    assert found == ["n2", "n3", "n2"]


def test_ties_are_broken_by_the_seed_among_equals() -> None:
    def choices(seed: int) -> list[str]:
        scheduler = scheduler_of(Likes(scores={"n1": 5, "n2": 9, "n3": 9}), seed=seed)
        return [node_of(scheduler.schedule(make_pod(f"p{i}"))) for i in range(30)]

    assert choices(1) == choices(1)
    assert choices(1) != choices(2)
    assert set(choices(1)) == {"n2", "n3"}


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
@pytest.mark.parametrize("score", [101, -1])
def test_a_score_out_of_range_fails_the_attempt(depends_on: Scope, score: int) -> None:
    likes = scoped(depends_on, Likes)(scores={"n1": 1, "n2": score, "n3": 3})
    outcome = unplaced(scheduler_of(likes).schedule(make_pod()))
    assert outcome.message == (
        f'applying score defaultWeights on Score plugins: plugin "Likes" returns an invalid score {score}, '
        "it should in the range of [0, 100] after normalizing"
    )
    assert (outcome.reason, outcome.rejected_by, outcome.nominate) == (SCHEDULER_ERROR, frozenset(), "")


class Flat(Score):
    """Gives one number to all."""

    number: int = 0

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> int:
        return self.number

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return self.number


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
@pytest.mark.parametrize(
    ("number", "wrong"),
    [pytest.param(100, False, id="100 is right"), pytest.param(500, True, id="500 is not")],
)
def test_one_number_for_all_is_a_score_as_well(depends_on: Scope, number: int, wrong: bool) -> None:
    outcome = scheduler_of(scoped(depends_on, Flat)(number=number)).schedule(make_pod())
    assert isinstance(outcome, Unplaced) is wrong


class Favourite(Likes):
    """Normalises so that one node is best, whatever the scores are."""

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Any) -> Any:
        return np.array([100 if node.name == "n3" else 0 for node in nodes], np.int64)


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_equal_scores_may_differ_after_normalisation(depends_on: Scope) -> None:
    plugin = scoped(depends_on, Favourite)(scores=dict.fromkeys(("n1", "n2", "n3"), 7))
    scheduler = scheduler_of(plugin)
    assert [node_of(scheduler.schedule(make_pod(f"p{i}"))) for i in range(3)] == ["n3"] * 3


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_equal_negative_scores_are_an_error_after_normalisation_too(depends_on: Scope) -> None:
    plugin = scoped(depends_on, Counting)(scores=dict.fromkeys(("n1", "n2", "n3"), -5))
    assert "invalid score -5" in unplaced(scheduler_of(plugin).schedule(make_pod())).message


@pytest.mark.parametrize(
    ("percentage", "nodes", "scored"),
    [
        pytest.param(0, 300, 300, id="all, unless a percentage is given"),
        pytest.param(100, 300, 300, id="all of all"),
        pytest.param(50, 300, 150, id="half of them"),
        pytest.param(10, 300, 100, id="but never fewer than 100"),
        pytest.param(10, 99, 99, id="all of a small cluster"),
    ],
)
def test_how_many_nodes_are_scored(percentage: int, nodes: int, scored: int) -> None:
    seen: list[int] = []

    class Looking(PreScore):
        """Looks at the nodes that are left."""

        def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> None:
            seen.extend(int(slot) for slot in nodes.slots)

    flat = Flat()
    scheduler = FakeScheduler(Looking(), flat, cluster=cluster_of(nodes), percentage=percentage)
    scheduler.schedule(make_pod("p"))
    assert sorted(seen) == list(range(scored))
    scheduler.schedule(make_pod("q"))
    second = [slot % nodes for slot in range(scored, 2 * scored)] if scored < nodes else list(range(nodes))
    assert sorted(seen[scored:]) == sorted(second), "the next look begins where this one ended"


def test_a_restricted_pod_has_its_percentage_of_the_named_nodes() -> None:
    seen: list[int] = []

    class Looking(PreScore):
        """Looks at the nodes that are left."""

        def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> None:
            seen.append(len(nodes))

    named = OnlyNodes(frozenset(f"n{i}" for i in range(1, 91)))
    plugins = (Before(answer=named), Looking(), Flat())
    FakeScheduler(*plugins, cluster=cluster_of(400), percentage=30).schedule(make_pod())
    assert seen == [90]


# --------------------------------------------------------------------------------------------- Reserve, Permit

EVENTS: list[str] = []


class Holds(Reserve):
    """Holds something, and writes down what it did."""

    answer: Any = None

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        EVENTS.append(f"{self.name} holds")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        EVENTS.append(f"{self.name} lets go")


class Keeps(Holds):
    """Holds something, too."""


class Trips(Holds):
    """Fails to let go."""

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        EVENTS.append(f"{self.name} trips")
        raise KeyError("gone")


class Asks(Permit):
    """Permits, or does not."""

    answer: Any = None

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        EVENTS.append(f"{self.name} is asked")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Begs(Asks):
    """Permits after the other."""


@pytest.fixture(autouse=True)
def nothing_happened() -> None:
    EVENTS.clear()


@pytest.mark.parametrize(
    ("plugins", "events", "outcome"),
    [
        pytest.param(
            [Holds(answer=Rejection("taken")), Keeps()],
            ["Holds holds", "Keeps lets go", "Holds lets go"],
            Unplaced("0/1 nodes are available: 1 taken.", rejected_by=frozenset({"Holds"}), nominate=""),
            id="a rejection while reserving: also who was not reached lets go, the last first",
        ),
        pytest.param(
            [Holds(), Keeps(answer=Rejection("soon", pending=True)), Asks()],
            ["Holds holds", "Keeps holds", "Keeps lets go", "Holds lets go"],
            Unplaced(
                "0/1 nodes are available: 1 soon.",
                rejected_by=frozenset({"Keeps"}),
                pending=frozenset({"Keeps"}),
                nominate="",
            ),
            id="a plugin that will say when",
        ),
        pytest.param(
            [Holds(answer=PluginFailed("broken")), Keeps()],
            ["Holds holds", "Keeps lets go", "Holds lets go"],
            Unplaced('running Reserve plugin "Holds": broken', SCHEDULER_ERROR, nominate=""),
            id="an error while reserving",
        ),
        pytest.param(
            [Holds(), Asks(answer=Rejection("not yet"))],
            ["Holds holds", "Asks is asked", "Holds lets go"],
            Unplaced("0/1 nodes are available: 1 not yet.", rejected_by=frozenset({"Asks"}), nominate=""),
            id="no permission",
        ),
        pytest.param(
            [Holds(), Asks(answer=Wait(5)), Begs(answer=NEVER)],
            ["Holds holds", "Asks is asked", "Begs is asked", "Holds lets go"],
            Unplaced("0/1 nodes are available: 1 never.", rejected_by=frozenset({"Begs"}), nominate=""),
            id="no permission after a wait",
        ),
        pytest.param(
            [Holds(), Asks(answer=PluginFailed("broken"))],
            ["Holds holds", "Asks is asked", "Holds lets go"],
            Unplaced('running Permit plugin "Asks": broken', SCHEDULER_ERROR, nominate=""),
            id="an error while asking for permission",
        ),
        pytest.param(
            [Holds(), Trips(), Keeps(answer=Rejection("taken"))],
            ["Holds holds", "Trips holds", "Keeps holds", "Keeps lets go", "Trips trips", "Holds lets go"],
            Unplaced("0/1 nodes are available: 1 taken.", rejected_by=frozenset({"Keeps"}), nominate=""),
            id="who fails to let go stops nobody",
        ),
    ],
)
def test_a_place_that_is_taken_back(plugins: list[Plugin], events: list[str], outcome: Unplaced) -> None:
    scheduler, pod = scheduler_of(*plugins, nodes=3), make_pod("p", cpu="1")
    assert scheduler.schedule(pod) == outcome
    assert events == EVENTS
    assert scheduler.cluster.cache.find_pod(pod.uid) is None
    assert not any(node.pods for node in scheduler.cluster.nodes)


def test_a_place_that_is_held() -> None:
    scheduler, pod = scheduler_of(Holds(), Asks(answer=Wait(3600)), Begs(answer=Wait(5))), make_pod("p")
    outcome = scheduler.schedule(pod)
    assert isinstance(outcome, Placed)
    assert outcome.waits == {"Asks": Wait(900.0), "Begs": Wait(5)}
    assert EVENTS == ["Holds holds", "Asks is asked", "Begs is asked"]
    assert scheduler.cluster.cache.is_assumed(pod.uid)


def test_a_pod_that_has_a_place_gets_no_second_one() -> None:
    scheduler, pod = scheduler_of(Holds()), make_pod("p", uid="u1")
    scheduler.schedule(pod)
    outcome = unplaced(scheduler.schedule(pod))
    assert outcome.message == "pod u1(default/p) is in the cache, so can't be assumed"
    assert outcome.reason == SCHEDULER_ERROR
    assert scheduler.cluster.cache.is_assumed("u1"), "and it keeps the first"
    assert EVENTS == ["Holds holds"]
