"""What is remembered: the first plugin of the profile has the first word, and no answer outlives its reasons."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from kit.tiny_plugins import (
    NO,
    SCOPES,
    Alpha,
    Beta,
    Gamma,
    Says,
    cluster_of,
    node_of,
    scheduler_of,
    scoped,
    unplaced,
)
from pilotage.framework.api.caching import Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import CLUSTER, NODE, STATIC, Filter, Plugin, PreScore, Score
from pilotage.framework.api.scoring import by_maximum
from pilotage.framework.api.verdicts import SKIP, Rejection, Verdicts
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.equivalence import equivalence_cache as class_rows
from pilotage.scheduling.equivalence.equivalence_entry import EquivalenceEntry
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Placed
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod

NAMES = [f"n{i}" for i in range(1, 8)]


def verdicts(attempt: Attempt) -> list[Rejection | None]:
    """Return the verdict about every node."""
    attempt.run_pre_filter()
    attempt.feasible()
    assert attempt.entry is not None
    return [attempt.entry.rejections[code - 1] if code else None for code in attempt.codes.tolist()]


# ------------------------------------------------------------------------------------------------------ the order


class Delta(Says):
    """The fourth."""


@st.composite
def plugin_sets(draw: DrawFn) -> list[Plugin]:
    """Up to four plugins in any order and of any scope, each with its own opinion about seven nodes."""
    kinds = draw(st.permutations([Alpha, Beta, Gamma, Delta]))[: draw(st.integers(1, 4))]
    answers = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["x", "y", "z"]))
    made = []
    for kind in kinds:
        about = {node: Rejection(f"{kind.__name__}: {reason}") for node, reason in draw(answers).items()}
        made.append(scoped(draw(st.sampled_from(SCOPES)), kind)(about=about))
    return made


@given(plugin_sets(), st.lists(st.sampled_from(NAMES), max_size=10))
def test_the_first_plugin_that_rejects_gives_the_reason(plugins: list[Plugin], touched: list[str]) -> None:
    scheduler = scheduler_of(*plugins, nodes=len(NAMES))
    runner, pods = scheduler.engine.runner, [make_pod(f"p{i}") for i in range(2)]
    for pod in pods:
        attempt = scheduler.attempt(pod)
        found = verdicts(attempt)
        assert found == [runner.first_rejection(attempt.cycle, node, set()) for node in attempt.cycle.nodes]
        for i, node in enumerate(touched):  # so that the second look is at some nodes, one by one or all at once
            scheduler.cluster.add_pod(make_pod(f"t{i}", node=node))


@pytest.mark.parametrize("scopes", [(CLUSTER, STATIC), (NODE, STATIC), (CLUSTER, NODE), (STATIC, CLUSTER)])
def test_the_order_is_that_of_the_profile_not_that_of_the_questions(scopes: tuple[Scope, Scope]) -> None:
    first = scoped(scopes[0], Alpha)(about={"n1": Rejection("first")})
    second = scoped(scopes[1], Beta)(about=dict.fromkeys(("n1", "n2", "n3"), Rejection("second")))
    outcome = unplaced(scheduler_of(first, second).schedule(make_pod()))
    assert outcome.message == "0/3 nodes are available: 1 first, 2 second."
    assert outcome.rejected_by == {"Alpha", "Beta"}


class Named(Filter):
    """Names the node in its reason."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return Rejection(f"Node:Node: {node.name} does not have label")


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_a_reason_for_every_node(depends_on: Scope) -> None:
    scheduler = scheduler_of(scoped(depends_on, Named)(), nodes=50)
    for i in range(3):
        told = unplaced(scheduler.schedule(make_pod(f"p{i}"))).message
        assert told.count("1 Node:Node: n") == 20
        assert told.endswith(", and 30 for 30 other reasons.")


def test_more_reasons_than_codes_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(Filter):
        """Never says the same thing twice."""

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
            return Rejection(f"{node.name} does not like {pod.name}")

    monkeypatch.setattr("pilotage.scheduling.equivalence.equivalence_entry.MOST_CODES", 7)
    monkeypatch.setattr(class_rows, "MOST_REJECTIONS", 5)
    scheduler = scheduler_of(Hasty())
    for i in range(8):
        message = unplaced(scheduler.schedule(make_pod(f"p{i}"))).message
        assert message == "0/3 nodes are available: " + ", ".join(f"1 n{n} does not like p{i}" for n in (1, 2, 3)) + "."


def test_a_row_has_only_so_many_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilotage.scheduling.equivalence.equivalence_entry.MOST_CODES", 2)
    entry = EquivalenceEntry()
    assert entry.codes_for([NO, NO, Rejection("x")], 0).tolist() == [0, 1, 1, 2]
    assert (entry.code(NO, 0), entry.ranks.tolist()[1:]) == (1, [0, 0])
    with pytest.raises(CycleFailed, match="more different reasons"):
        entry.code(NO, 1)


class Beyond(Filter):
    """Names a rejection that it does not give."""

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts(np.full(len(nodes), 2, np.uint16), [NO])


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_a_code_without_a_rejection_is_a_failure(depends_on: Scope) -> None:
    outcome = unplaced(scheduler_of(scoped(depends_on, Beyond)()).schedule(make_pod()))
    assert outcome.message == 'running "Beyond" filter plugin: its verdicts contain a code without a rejection'
    assert outcome.reason == SCHEDULER_ERROR


# ------------------------------------------------------------------------------------------ what is asked again


class Census(Filter, Score):
    """Counts how often it was asked about each node; a node holds one pod."""

    asked: Any = None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        self.asked.append(node.name)
        return Rejection("full") if node.pods and self.depends_on is not STATIC else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return 50


@pytest.mark.parametrize(
    ("depends_on", "again"),
    [
        pytest.param(STATIC, [], id="what depends on the node object, nowhere"),
        pytest.param(NODE, ["n2"], id="what depends on the pods there, where they changed"),
        pytest.param(CLUSTER, ["n1", "n2", "n3"], id="what depends on anything, everywhere"),
    ],
)
def test_a_change_of_pods_asks_again(depends_on: Scope, again: list[str]) -> None:
    asked: list[str] = []
    scheduler = scheduler_of(scoped(depends_on, Census)(asked=asked))
    scheduler.attempt(make_pod("p")).feasible()
    assert asked == ["n1", "n2", "n3"]
    scheduler.cluster.add_pod(make_pod("b", node="n2"))
    scheduler.attempt(make_pod("q")).feasible()
    assert asked[3:] == again


@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_a_changed_node_object_asks_everybody_again(depends_on: Scope) -> None:
    asked: list[str] = []
    scheduler = scheduler_of(scoped(depends_on, Census)(asked=asked))
    scheduler.attempt(make_pod("p")).feasible()
    scheduler.cluster.cache.put_node(make_node("n3", labels={"new": "yes"}))
    scheduler.attempt(make_pod("q")).feasible()
    assert asked[-1] == "n3"
    assert len(asked) == (6 if depends_on is CLUSTER else 4)


class Picky(Filter):
    """Lets pods go where something about them says so; remembers what it is asked."""

    what: str = "labels"

    depends_on = STATIC

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        wanted = {
            "labels": pod.labels.get("to"),
            "annotations": pod.annotations.get("to"),
            "namespace": pod.namespace,
            "priority": f"n{pod.priority}",
            "owner": pod.metadata.owner_references[0].name if pod.metadata.owner_references else None,
        }
        return None if node.name == wanted[self.what] else Rejection("elsewhere")


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("labels", lambda node: {"labels": {"to": node}}),
        ("annotations", lambda node: {"annotations": {"to": node}}),
        ("namespace", lambda node: {"namespace": node}),
        ("priority", lambda node: {"priority": int(node[1:])}),
        ("owner", lambda node: {"metadata": {"ownerReferences": [{"kind": "Job", "name": node, "uid": node}]}}),
    ],
)
def test_pods_of_one_shape_that_differ(what: str, fields: Any) -> None:
    scheduler = scheduler_of(Picky(what=what))
    for i, node in enumerate(["n1", "n2", "n1", "n3"]):
        assert node_of(scheduler.schedule(make_pod(f"p{i}", **fields(node)))) == node


class Cordon(Filter):
    """Follows what a namespace says, or a number of its own."""

    closed: Any = None

    depends_on = STATIC
    same_for_shape = True

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return Rejection("closed") if self.is_closed(cycle, node.name) else None

    def is_closed(self, cycle: Cycle, node: str) -> bool:
        return bool(self.closed[node])


class Reading(Cordon):
    """Reads namespaces."""

    reads = (Namespace,)

    def is_closed(self, cycle: Cycle, node: str) -> bool:
        return cycle.objects.get(Namespace, node) is not None


class Numbered(Cordon):
    """Has an epoch of its own."""

    def epoch(self, cycle: Cycle) -> int:
        return int(sum(self.closed.values()))


class Best(Score):
    """Prefers the last node."""

    depends_on = STATIC
    same_for_shape = True

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return int(node.name[1:])


class BestByMaximum(Best):
    """Prefers it by a raw score."""

    normalize = by_maximum


@pytest.mark.parametrize("best", [Best(), BestByMaximum()], ids=["absolute", "normalised"])
def test_objects_that_a_plugin_reads(best: Score) -> None:
    scheduler, closed = scheduler_of(Reading(), best), Namespace(Metadata(name="n3"))
    objects = scheduler.cluster.cache.objects
    assert node_of(scheduler.schedule(make_pod("a"))) == "n3"
    objects.put(closed)
    assert node_of(scheduler.schedule(make_pod("b"))) == "n2"
    objects.drop(closed)
    assert node_of(scheduler.schedule(make_pod("c"))) == "n3"


@pytest.mark.parametrize("best", [Best(), BestByMaximum()], ids=["absolute", "normalised"])
def test_an_epoch_of_its_own(best: Score) -> None:
    plugin = Numbered(closed={"n1": 0, "n2": 0, "n3": 1})
    scheduler = scheduler_of(plugin, best)
    assert node_of(scheduler.schedule(make_pod("a"))) == "n2"
    plugin.closed["n3"] = 0
    assert node_of(scheduler.schedule(make_pod("b"))) == "n3"


def test_an_epoch_and_what_is_read_do_not_make_up_for_each_other() -> None:
    class Both(Numbered, Reading):
        """Has an epoch, and reads."""

        def is_closed(self, cycle: Cycle, node: str) -> bool:
            return bool(self.closed[node]) or Reading.is_closed(self, cycle, node)

    plugin = Both(closed={"n1": 0, "n2": 1, "n3": 1})
    scheduler = scheduler_of(plugin)
    assert node_of(scheduler.schedule(make_pod("a"))) == "n1"
    plugin.closed["n2"] = 0  # one less
    scheduler.cluster.cache.objects.put(Namespace(Metadata(name="n1")))  # one more
    assert node_of(scheduler.schedule(make_pod("b"))) == "n2"


class Closing(Filter):
    """Rejects what it is told to, and may say something else every time."""

    about: Any = None

    depends_on = CLUSTER

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return Rejection("closed") if node.name in self.about else None


@pytest.mark.parametrize("best", [Best(), BestByMaximum()], ids=["absolute", "normalised"])
def test_a_node_that_came_back_while_nobody_was_scored_has_its_score(best: Score) -> None:
    numbered = Numbered(closed={"n1": 0, "n2": 0, "n3": 1})
    closing = Closing(about=set())
    scheduler = scheduler_of(numbered, closing, best)
    assert node_of(scheduler.schedule(make_pod("a"))) == "n2"
    numbered.closed["n3"] = 0
    closing.about.update(("n1", "n2", "n3"))
    unplaced(scheduler.schedule(make_pod("b")))  # n3 is open again, and nobody asks for its score
    closing.about.clear()
    assert node_of(scheduler.schedule(make_pod("c"))) == "n3"


class Single(Filter):
    """A node holds one pod."""

    depends_on = NODE
    same_for_shape = True

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return Rejection("full") if node.pods else None


@pytest.mark.parametrize("best", [Best(), BestByMaximum()], ids=["absolute", "normalised"])
@pytest.mark.parametrize("full", [1, 8], ids=["one by one", "all at once"])
def test_a_node_that_was_full_from_the_start_has_its_score_once_it_is_free(best: Score, full: int) -> None:
    blockers = [make_pod(f"b{i}", node=f"n{i}") for i in range(11 - full, 11)]
    cluster = cluster_of(10)
    for pod in blockers:
        cluster.add_pod(pod)
    scheduler = FakeScheduler(Single(), best, cluster=cluster)
    assert node_of(scheduler.schedule(make_pod("a"))) == f"n{10 - full}"
    for pod in blockers:
        cluster.remove_pod(pod)
    assert node_of(scheduler.schedule(make_pod("b"))) == "n10"


@pytest.mark.parametrize("gone", ["n1", "n3"], ids=["the first", "the last"])
@pytest.mark.parametrize("rejected", ["n1", "n2", "n3"])
def test_a_node_that_is_gone_is_not_chosen(gone: str, rejected: str) -> None:
    plugin = scoped(STATIC, Alpha)(about={rejected: NO})
    scheduler = scheduler_of(plugin, Best())
    first = scheduler.attempt(make_pod("p"))
    first.run_pre_filter()
    assert len(first.feasible()) == 2
    scheduler.cluster.cache.remove_node(gone)
    left = sorted({"n1", "n2", "n3"} - {gone, rejected})
    outcome = scheduler.schedule(make_pod("q"))
    assert isinstance(outcome, Placed)
    assert (outcome.node, outcome.feasible) == (left[-1], len(left))


def test_a_new_node_is_found() -> None:
    scheduler = FakeScheduler(scoped(NODE, Alpha)(), Best(), cluster=FakeCluster([make_node("n1")]))
    for i in range(2, 20):
        scheduler.cluster.cache.put_node(make_node(f"n{i}"))
        assert node_of(scheduler.schedule(make_pod(f"p{i}"))) == f"n{i}"


class Fickle(PreScore, Best):
    """Scores every other pod."""

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return SKIP if pod.name.startswith("skip") else None


class Worst(Best):
    """Prefers the first node."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return 100 - int(node.name[1:])


def test_scores_follow_who_skips() -> None:
    scheduler = scheduler_of(Fickle(), Worst(), weights={"Fickle": 10})
    pods = ["p1", "skip1", "p2", "skip2"]
    assert [node_of(scheduler.schedule(make_pod(name))) for name in pods] == ["n3", "n1", "n3", "n1"]


@pytest.mark.parametrize(
    ("limit", "number"),
    [
        pytest.param("MOST_BYTES", 0, id="on a large cluster, down to 64 entries"),
        pytest.param("MOST_ENTRIES", 64, id="on a small one, whose entries take next to nothing"),
    ],
)
def test_what_was_not_used_for_the_longest_is_forgotten_first(
    monkeypatch: pytest.MonkeyPatch, limit: str, number: int
) -> None:
    monkeypatch.setattr(class_rows, limit, number)
    asked: list[str] = []
    scheduler = scheduler_of(scoped(STATIC, Census)(asked=asked), nodes=1)
    shapes = [make_pod(f"p{i}", cpu=f"{i + 1}m") for i in range(65)]
    for pod in [*shapes[:64], shapes[0], shapes[64], shapes[0]]:
        scheduler.attempt(pod).feasible()
    assert len(asked) == 65
    scheduler.attempt(shapes[1]).feasible()
    assert len(asked) == 66


def test_what_was_not_used_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(class_rows, "monotonic", lambda: now)
    scheduler = scheduler_of(scoped(STATIC, Census)(asked=[]), nodes=1)
    for number in range(5):
        scheduler.attempt(make_pod(cpu=f"{number + 1}m")).feasible()
    now += class_rows.LONGEST_UNUSED
    scheduler.attempt(make_pod(cpu="1m")).feasible()  # still of use
    now += 1
    scheduler.attempt(make_pod(cpu="99m")).feasible()
    assert len(scheduler.engine.equivalence_cache._entries) == 2
