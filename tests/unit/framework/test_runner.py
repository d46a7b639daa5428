"""The runner: what each extension point makes of each kind of answer, in kube-scheduler's words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import (
    Filter,
    Permit,
    Plugin,
    PostFilter,
    PreFilter,
    PreScore,
    Reserve,
    Score,
)
from pilotage.framework.api.verdicts import (
    SKIP,
    SKIP_SHAPE,
    Nominated,
    NoRoom,
    OnlyNodes,
    PluginFailed,
    Rejection,
    Verdicts,
    Wait,
)
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.runner import Runner, check_range
from pilotage.framework.runtime.timings import Timings
from pilotage.model.pod import Pod
from pilotage.testing import FakeCluster, make_node, make_pod, plugin_set_of

U = Rejection("no")
UU = Rejection("never", preemption_helps=False)
PENDING = Rejection("soon", pending=True)


class Plain(PreFilter, Filter, PostFilter, PreScore, Score, Reserve, Permit):
    """Answers what it is told to, at every extension point."""

    answer: Any = None

    def said(self, *about: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(*about) if callable(self.answer) else self.answer

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
        return self.said(pod)

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> Any:
        return self.said(other)

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> Any:
        return self.said(other)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return self.said(node.name)

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Any:
        return self.said(verdicts)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return self.said(nodes)

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        return self.said(node.name)

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        return self.said(node)

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        self.said(node)

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        return self.said(node)


class Alpha(Plain):
    """The first."""


class Beta(Plain):
    """The second."""


class Gamma(Plain):
    """The third."""


class AtOnce(Filter, Score):
    """Answers for all nodes at once."""

    answer: Any = None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return self.answer(len(nodes))

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return self.answer(len(nodes))

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Any) -> Any:
        return self.answer(len(nodes))


class Flat(Score):
    """Likes all nodes the same."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return 7

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
        return scores


CLUSTER = FakeCluster([make_node(f"n{i}") for i in (1, 2, 3)])
HERE = CLUSTER.nodes[0]


def running(*plugins: Plugin) -> tuple[Runner, Cycle]:
    return Runner(plugin_set_of(*plugins)), CLUSTER.cycle(make_pod("p"))


def failing(ask: Callable[[], object]) -> str:
    """Return the text of the failure, without the line of the plugin's file that a surprise tells."""
    with pytest.raises(CycleFailed) as failed:
        ask()
    assert failed.value.plugin == "Alpha"
    text = str(failed.value)
    return text[: text.index(" (/")] if " (/" in text else text


WRONG = "it returned str 'yes', which is not valid here"
FAILURES = [
    pytest.param(PluginFailed("no answer"), "no answer", id="a failure that the plugin names"),
    pytest.param(KeyError("zone"), "KeyError: 'zone'", id="a surprise is told with its type"),
    pytest.param("yes", WRONG, id="an answer of the wrong type"),
]


@pytest.mark.parametrize(("answer", "text"), FAILURES)
@pytest.mark.parametrize(
    ("point", "ask"),
    [
        pytest.param('running PreFilter plugin "Alpha": ', lambda r, c, p: r.pre_filter(c), id="PreFilter"),
        pytest.param('running "Alpha" filter plugin: ', lambda r, c, p: r.filter_node(p, c, HERE), id="Filter"),
        pytest.param('running "Alpha" filter plugin: ', lambda r, c, p: r.filter_nodes(p, c, c.nodes), id="all nodes"),
        pytest.param("", lambda r, c, p: r.post_filter(p, c, Verdicts.all_fit(3)), id="PostFilter"),
        pytest.param('running PreScore plugin "Alpha": ', lambda r, c, p: r.pre_score(c, c.nodes), id="PreScore"),
        pytest.param('running Reserve plugin "Alpha": ', lambda r, c, p: r.reserve(c, "n1"), id="Reserve"),
        pytest.param('running Permit plugin "Alpha": ', lambda r, c, p: r.permit(c, "n1"), id="Permit"),
        pytest.param(
            'running AddPod on PreFilter plugin "Alpha": ',
            lambda r, c, p: r.change_notes(c, make_pod("o"), HERE, set(), add=True),
            id="AddPod",
        ),
        pytest.param(
            'running RemovePod on PreFilter plugin "Alpha": ',
            lambda r, c, p: r.change_notes(c, make_pod("o"), HERE, set(), add=False),
            id="RemovePod",
        ),
    ],
)
def test_a_failure_names_its_plugin_and_its_point(
    point: str, ask: Callable[[Runner, Cycle, Plain], object], answer: object, text: str
) -> None:
    plugin = Alpha(answer=answer)
    runner, cycle = running(plugin)
    assert failing(lambda: ask(runner, cycle, plugin)) == point + text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        *FAILURES[:2],
        pytest.param(1.5, "it returned float 1.5, which is not a whole number", id="a broken number"),
        pytest.param(U, f"it returned Rejection {U!r:.80}, which is not a whole number", id="a rejection"),
    ],
)
def test_a_score_that_is_none(answer: object, text: str) -> None:
    plugin = Alpha(answer=answer)
    runner, cycle = running(plugin)
    head = 'running Score plugins: plugin "Alpha" failed with: '
    assert failing(lambda: runner.score_nodes(plugin, cycle, cycle.nodes)) == head + text
    if not isinstance(answer, Exception):
        text = "no" if answer is U else text.replace("is not a whole number", "is not valid here")
    assert failing(lambda: runner.score_node(plugin, cycle, HERE)) == head + text


def test_a_surprise_tells_the_line_of_the_plugins_own_file() -> None:
    runner, cycle = running(Alpha(answer=ZeroDivisionError("by zero")))
    with pytest.raises(CycleFailed, match=r"ZeroDivisionError: by zero \(.*test_runner\.py:\d+\)$"):
        runner.pre_filter(cycle)


# ------------------------------------------------------------------------------------------------------- PreFilter


@pytest.mark.parametrize(
    ("answers", "skipped", "rejection"),
    [
        pytest.param([None, None], set(), None, id="nobody says anything"),
        pytest.param([SKIP, None], {"Alpha"}, None, id="who has nothing to filter is skipped"),
        pytest.param([SKIP_SHAPE, SKIP], {"Alpha", "Beta"}, None, id="for this pod or for all of its shape"),
        pytest.param([U, SKIP], {"Beta"}, U.by("Alpha"), id="after a rejection that preemption may help, others go on"),
        pytest.param([U, Rejection("nor")], set(), Rejection("nor", plugin="Beta"), id="and the last one is told"),
        pytest.param([UU, SKIP], set(), UU.by("Alpha"), id="after one that it cannot help, nobody is asked any more"),
        pytest.param([U, UU], set(), UU.by("Beta"), id="which is told in place of any other"),
    ],
)
def test_pre_filter(answers: list[object], skipped: set[str], rejection: Rejection | None) -> None:
    runner, cycle = running(*(kind(answer=answer) for kind, answer in zip((Alpha, Beta), answers, strict=True)))
    before = runner.pre_filter(cycle)
    assert (before.skipped, before.rejection) == (skipped, rejection)


def test_pre_filter_knows_no_pending_pod() -> None:
    runner, cycle = running(Alpha(answer=PENDING))
    assert failing(lambda: runner.pre_filter(cycle)) == 'running PreFilter plugin "Alpha": soon'


def only(*names: str) -> OnlyNodes:
    return OnlyNodes(frozenset(names))


@pytest.mark.parametrize(
    ("answers", "left", "restricting", "text"),
    [
        pytest.param([None, only("n1", "n2")], {"n1", "n2"}, ["Beta"], None, id="one plugin names nodes"),
        pytest.param(
            [only("n1", "n2"), only("n2", "n3")], {"n2"}, ["Alpha", "Beta"], None, id="two leave what both name"
        ),
        pytest.param([only()], set(), ["Alpha"], "node(s) didn't satisfy plugin Alpha", id="one leaves none"),
        pytest.param(
            [None, only("n2"), only("n1")],
            set(),
            ["Beta", "Gamma"],
            "node(s) didn't satisfy plugin(s) [Beta Gamma] simultaneously",
            id="two leave none together",
        ),
        pytest.param(
            [only("n1"), only("n2"), UU],
            set(),
            ["Alpha", "Beta"],
            "node(s) didn't satisfy plugin(s) [Alpha Beta] simultaneously",
            id="and then nobody is asked any more",
        ),
        pytest.param([only("n1"), U, None], {"n1"}, ["Alpha"], "no", id="a rejection leaves the others to blame, too"),
        pytest.param([only("n1"), UU, None], {"n1"}, [], "never", id="unless it is for ever"),
        pytest.param(
            [U, only()], set(), ["Beta"], "node(s) didn't satisfy plugin Beta", id="no node at all goes before a U"
        ),
        pytest.param([OnlyNodes(["n1", "n2"])], {"n1", "n2"}, ["Alpha"], None, id="any collection of names does"),  # type: ignore[arg-type]
    ],
)
def test_pre_filter_leaves_nodes_by_name(
    answers: list[object], left: set[str], restricting: list[str], text: str | None
) -> None:
    runner, cycle = running(*(kind(answer=answer) for kind, answer in zip((Alpha, Beta, Gamma), answers, strict=False)))
    before = runner.pre_filter(cycle)
    assert (None if before.only is None else set(before.only)) == left
    assert before.restricting == restricting
    assert (before.rejection.message if before.rejection else None) == text


def test_no_node_in_common_is_nobodys_rejection_and_no_eviction_helps() -> None:
    runner, cycle = running(Alpha(answer=only("n1")), Beta(answer=only("n2")))
    rejection = runner.pre_filter(cycle).rejection
    assert rejection is not None
    assert (rejection.plugin, rejection.preemption_helps) == ("", False)


def test_skip_for_the_shape_saves_the_question_and_for_the_pod_does_not() -> None:
    asked: list[str] = []

    def note(answer: object) -> Callable[[Pod], object]:
        def say(pod: Pod) -> object:
            asked.append(pod.name)
            return answer

        return say

    runner = Runner(plugin_set_of(Alpha(answer=note(SKIP_SHAPE)), Beta(answer=note(SKIP))))
    pods = [make_pod(name, cpu="1") for name in ("one", "two")]  # a shape lives as long as its pods
    for pod in pods:
        assert runner.pre_filter(CLUSTER.cycle(pod)).skipped == {"Alpha", "Beta"}
    assert asked == ["one", "one", "two"]
    runner.pre_filter(CLUSTER.cycle(make_pod("three", cpu="2")))
    assert asked[3:] == ["three", "three"], "another shape is another question"
    Runner(plugin_set_of(Alpha(answer=note(SKIP_SHAPE)))).pre_filter(CLUSTER.cycle(make_pod("four", cpu="1")))
    assert asked[5:] == ["four"], "another profile, too"


def test_who_is_skipped_neither_filters_nor_changes_its_notes() -> None:
    asked: list[str] = []
    plugins = [kind(answer=lambda about, kind=kind: asked.append(kind.__name__)) for kind in (Alpha, Beta)]
    runner, cycle = running(*plugins)
    runner.first_rejection(cycle, HERE, {"Alpha"})
    runner.change_notes(cycle, make_pod("o"), HERE, {"Alpha"}, add=True)
    runner.change_notes(cycle, make_pod("o"), HERE, {"Alpha"}, add=False)
    assert asked == ["Beta"] * 3


def test_a_rejection_while_notes_change_is_a_failure() -> None:
    runner, cycle = running(Alpha(answer=U))
    assert (
        failing(lambda: runner.change_notes(cycle, make_pod("o"), HERE, set(), add=True))
        == 'running AddPod on PreFilter plugin "Alpha": no'
    )


# ---------------------------------------------------------------------------------------------------------- Filter


@pytest.mark.parametrize("rejection", [U, UU, PENDING, Rejection("a", "b")])
def test_a_rejection_gets_the_name_of_its_plugin(rejection: Rejection) -> None:
    plugin = Alpha(answer=rejection)
    runner, cycle = running(plugin)
    assert runner.filter_node(plugin, cycle, HERE) == rejection.by("Alpha")
    verdicts = runner.filter_nodes(plugin, cycle, cycle.nodes)
    assert [verdicts[place] for place in range(3)] == [rejection.by("Alpha")] * 3


def test_nobody_speaks_in_the_name_of_another_plugin() -> None:
    plugin = Alpha(answer=Rejection("no", plugin="Beta"))
    runner, cycle = running(plugin)
    found = runner.filter_node(plugin, cycle, HERE)
    assert found is not None
    assert found.plugin == "Alpha"


@pytest.mark.parametrize("answer", [SKIP, Wait(1)])
def test_neither_skip_nor_wait_is_a_verdict_about_a_node(answer: object) -> None:
    plugin = Alpha(answer=answer)
    runner, cycle = running(plugin)
    assert failing(lambda: runner.filter_node(plugin, cycle, HERE)).startswith('running "Alpha" filter plugin: it ret')


def test_the_first_rejection_ends_the_questions_about_a_node() -> None:
    asked: list[str] = []
    last = Gamma(answer=lambda node: asked.append(node))
    runner, cycle = running(Alpha(), Beta(answer=lambda node: U if node == "n2" else None), last)
    found = [runner.first_rejection(cycle, node, set()) for node in cycle.nodes]
    assert found == [None, U.by("Beta"), None]
    assert asked == ["n1", "n3"]


def codes(*numbers: int, dtype: type = np.uint16) -> Callable[[int], Verdicts]:
    return lambda _: Verdicts(np.array(numbers, dtype), [U])


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(lambda _: None, "it returned NoneType None, which is not valid here", id="nothing"),
        pytest.param(codes(0, 1), "it returned results for 2 nodes, not for 3", id="too few nodes"),
        pytest.param(
            lambda _: Verdicts(np.zeros((3, 2), "uint16")), "it returned results for 6 nodes, not for 3", id="2d"
        ),
        pytest.param(
            lambda n: Verdicts(np.ones(n, np.uint16), ["no"]),  # type: ignore[list-item]
            "it returned str 'no', which is not valid here",
            id="a reason without a rejection",
        ),
    ],
)
def test_verdicts_that_are_none(answer: Callable[[int], Any], text: str) -> None:
    plugin = AtOnce(answer=answer)
    runner, cycle = running(plugin)
    with pytest.raises(CycleFailed) as failed:
        runner.filter_nodes(plugin, cycle, cycle.nodes)
    assert str(failed.value) == f'running "AtOnce" filter plugin: {text}'


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.uint8])
def test_any_whole_numbers_do_as_codes(dtype: type) -> None:
    plugin = AtOnce(answer=codes(0, 1, 0, dtype=dtype))
    runner, cycle = running(plugin)
    found = runner.filter_nodes(plugin, cycle, cycle.nodes)
    assert found.codes.dtype == np.uint16
    assert found.codes.tolist() == [0, 1, 0]


# ------------------------------------------------------------------------------------------------------ PostFilter


@pytest.mark.parametrize("answer", [Nominated("n1", ("default/v",), "found"), NoRoom("none"), NoRoom("", True)])
def test_post_filter(answer: object) -> None:
    plugin = Alpha(answer=answer)
    runner, cycle = running(plugin)
    assert runner.post_filter(plugin, cycle, Verdicts.all_fit(3)) == answer


# ------------------------------------------------------------------------------------------------- PreScore, Score


def test_pre_score_tells_who_does_not_score() -> None:
    runner, cycle = running(Alpha(answer=SKIP), Beta(), Gamma(answer=SKIP_SHAPE))
    assert runner.pre_score(cycle, cycle.nodes) == {"Alpha", "Gamma"}
    assert runner.pre_score(CLUSTER.cycle(make_pod("q")), cycle.nodes) == {"Alpha", "Gamma"}


def test_no_pod_is_rejected_before_scoring() -> None:
    runner, cycle = running(Alpha(answer=Rejection("too late", "for that")))
    text = 'running PreScore plugin "Alpha": too late, for that'
    assert failing(lambda: runner.pre_score(cycle, cycle.nodes)) == text


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        pytest.param(lambda _: 7, 7, id="one number stands for all"),
        pytest.param(lambda _: np.int64(7), 7, id="of any kind"),
        pytest.param(lambda n: np.arange(n), [0, 1, 2], id="an array"),
        pytest.param(lambda n: np.full(n, 100, np.int8), [100] * 3, id="of small numbers"),
        pytest.param(lambda n: np.full(n, 100, np.uint64), [100] * 3, id="without a sign"),
    ],
)
def test_scores(answer: Callable[[int], object], scores: object) -> None:
    plugin = AtOnce(answer=answer)
    runner, cycle = running(plugin)
    found = runner.score_nodes(plugin, cycle, cycle.nodes)
    if isinstance(found, np.ndarray):
        assert found.dtype == np.int64, "weights must not make it run over"
        assert found.tolist() == scores
    else:
        assert found == scores


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(lambda n: np.zeros(n), "it returned ndarray array([0., 0., 0.]), which", id="broken numbers"),
        pytest.param(lambda n: np.zeros(n + 1, int), "it returned results for 4 nodes, not for 3", id="too many"),
        pytest.param(lambda n: [1] * n, "it returned list [1, 1, 1], which is not", id="a list"),
        pytest.param(lambda n: None, "it returned NoneType None, which is not", id="nothing"),
    ],
)
def test_scores_that_are_none(answer: Callable[[int], object], text: str) -> None:
    plugin = AtOnce(answer=answer)
    runner, cycle = running(plugin)
    with pytest.raises(CycleFailed) as failed:
        runner.score_nodes(plugin, cycle, cycle.nodes)
    assert str(failed.value).startswith(f'running Score plugins: plugin "AtOnce" failed with: {text}')
    with pytest.raises(CycleFailed) as failed:
        runner.normalized(plugin, cycle, cycle.nodes, np.zeros(3, np.int64))
    assert str(failed.value).startswith(f'running Normalize on Score plugins: plugin "AtOnce" failed with: {text}')


@pytest.mark.parametrize(
    ("scores", "wrong"),
    [
        pytest.param([0, 100], None, id="0 and 100 are right"),
        pytest.param([0, 101], 101, id="too high"),
        pytest.param([-1, 100], -1, id="too low"),
        pytest.param([200, -5], 200, id="the first one is told"),
        pytest.param([], None, id="no nodes"),
    ],
)
def test_scores_are_within_0_and_100(scores: list[int], wrong: int | None) -> None:
    if wrong is None:
        check_range(Alpha(), np.array(scores, np.int64))
        return
    with pytest.raises(CycleFailed) as failed:
        check_range(Alpha(), np.array(scores, np.int64))
    assert str(failed.value) == (
        f'applying score defaultWeights on Score plugins: plugin "Alpha" returns an invalid score {wrong}, '
        "it should in the range of [0, 100] after normalizing"
    )


class InPlace(Score):
    """Scores by what the nodes can hold, and normalises that in place."""

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Any:
        return nodes.allowed_pods

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Any) -> Any:
        scores //= 2
        return scores


def test_normalising_in_place_does_not_change_the_cluster() -> None:
    plugin = InPlace()
    runner, cycle = running(plugin)
    scores = runner.score_nodes(plugin, cycle, cycle.nodes)
    assert not isinstance(scores, int)
    assert runner.normalized(plugin, cycle, cycle.nodes, scores).tolist() == [55] * 3
    assert cycle.nodes.allowed_pods.tolist() == [110] * 3


# ------------------------------------------------------------------------------------------------- Reserve, Permit


def test_the_first_rejection_ends_reserving() -> None:
    asked: list[str] = []
    runner, cycle = running(Alpha(), Beta(answer=PENDING), Gamma(answer=asked.append))
    assert runner.reserve(cycle, "n1") == PENDING.by("Beta")
    assert not asked


@pytest.mark.parametrize("answer", [SKIP, Wait(1)])
def test_neither_skip_nor_wait_is_an_answer_to_reserve(answer: object) -> None:
    runner, cycle = running(Alpha(answer=answer))
    assert failing(lambda: runner.reserve(cycle, "n1")).startswith('running Reserve plugin "Alpha": it returned')


def test_all_let_go_the_last_one_first_and_a_failure_stops_nobody() -> None:
    order: list[str] = []

    def letting_go(kind: type[Plain]) -> Plain:
        def go(node: str) -> None:
            order.append(f"{kind.__name__} {node}")
            if kind is Beta:
                raise KeyError("gone")

        return kind(answer=go)

    runner, cycle = running(*(letting_go(kind) for kind in (Alpha, Beta, Gamma)))
    [complaint] = runner.unreserve(cycle, "n1")
    assert order == ["Gamma n1", "Beta n1", "Alpha n1"]
    assert complaint.startswith("running Unreserve plugin \"Beta\": KeyError: 'gone'")


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        pytest.param([None, None], None, id="all permit"),
        pytest.param([Wait(5, "more to come"), None], {"Alpha": Wait(5, "more to come")}, id="one asks to wait"),
        pytest.param([Wait(5), Wait(3600)], {"Alpha": Wait(5), "Beta": Wait(900.0)}, id="nobody waits for an hour"),
        pytest.param([Wait(5), U], U.by("Beta"), id="a rejection ends all waiting"),
        pytest.param([UU, Wait(5)], UU.by("Alpha"), id="and all questions"),
    ],
)
def test_permit(answers: list[object], outcome: object) -> None:
    runner, cycle = running(*(kind(answer=answer) for kind, answer in zip((Alpha, Beta), answers, strict=True)))
    assert runner.permit(cycle, "n1") == outcome


def test_a_wait_without_a_time_is_a_failure() -> None:
    runner, cycle = running(Alpha(answer=Wait("long")))  # type: ignore[arg-type]
    assert failing(lambda: runner.permit(cycle, "n1")).startswith('running Permit plugin "Alpha": TypeError')


# --------------------------------------------------------------------------------------------------------- timings


def test_every_call_is_timed() -> None:
    timings, cycle = Timings(), CLUSTER.cycle(make_pod("p"))
    plugin, room, taste = Alpha(), Beta(answer=NoRoom("")), Flat()
    silent, makes_room, scores = (Runner(plugin_set_of(each), timings) for each in (plugin, room, taste))
    silent.pre_filter(cycle)
    verdicts = silent.filter_nodes(plugin, cycle, cycle.nodes)
    silent.filter_node(plugin, cycle, HERE)
    makes_room.post_filter(room, cycle, verdicts)
    silent.pre_score(cycle, cycle.nodes)
    found = scores.score_nodes(taste, cycle, cycle.nodes)
    scores.score_node(taste, cycle, HERE)
    scores.normalized(taste, cycle, cycle.nodes, np.asarray(found))
    silent.reserve(cycle, "n1")
    silent.permit(cycle, "n1")
    silent.unreserve(cycle, "n1")
    for add in (True, False):
        silent.change_notes(cycle, make_pod("other"), HERE, set(), add=add)
    once = {"PreFilter", "PreScore", "Reserve", "Permit", "Unreserve", "AddPod", "RemovePod"}
    expected = {("Alpha", point): 1 for point in once} | {("Alpha", "Filter"): 2, ("Beta", "PostFilter"): 1}
    expected |= {("Flat", "Score"): 2, ("Flat", "Normalize"): 1}
    assert {(name, point): timing.calls for name, point, timing in timings if timing.calls} == expected


# ----------------------------------------------------------------------------------------------------------- notes


class Ledger:
    """A note that can be copied."""

    def __init__(self, *entries: str) -> None:
        self.entries = list(entries)

    def clone(self) -> "Ledger":
        return Ledger(*self.entries)


class Torn(Ledger):
    """A note whose copy fails."""

    def clone(self) -> "Ledger":
        raise ValueError("torn")


def test_a_what_if_has_notes_of_its_own() -> None:
    cycle = CLUSTER.cycle(make_pod("p"))
    cycle.notes = {"Alpha": Ledger("a"), "Beta": ["b"]}
    copy = cycle.what_if()
    copy.notes["Alpha"].entries.append("c")
    assert cycle.notes["Alpha"].entries == ["a"]
    assert copy.notes["Beta"] is cycle.notes["Beta"], "what has no clone method is shared"


def test_notes_that_cannot_be_copied_are_the_fault_of_their_plugin() -> None:
    cycle = CLUSTER.cycle(make_pod("p"))
    cycle.notes = {"Alpha": Torn()}
    with pytest.raises(PluginFailed, match=r'^copying the notes of plugin "Alpha": ValueError: torn$'):
        cycle.what_if()
