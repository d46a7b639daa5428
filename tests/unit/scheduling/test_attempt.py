"""What is said about a pod that finds no place, and what is nominated for it."""

from typing import Any

import pytest

from kit.tiny_plugins import (
    EVERYWHERE,
    NEVER,
    NO,
    SCOPES,
    Alpha,
    Also,
    Before,
    Beta,
    Parlour,
    Room,
    node_of,
    scheduler_of,
    scoped,
    unplaced,
)
from pilotage.framework.api.caching import Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Filter, Plugin, PreFilter
from pilotage.framework.api.verdicts import (
    SKIP,
    SKIP_SHAPE,
    Nominated,
    NoRoom,
    OnlyNodes,
    PluginFailed,
    Rejection,
    Verdicts,
)
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import UNSCHEDULABLE, Placed
from pilotage.testing import make_pod

# ------------------------------------------------------------------------------------------------- before nodes


@pytest.mark.parametrize(
    ("plugins", "message", "rejected_by"),
    [
        pytest.param([Before(answer=NO)], "0/3 nodes are available: no.", {"Before"}, id="a rejection before any node"),
        pytest.param(
            [Before(answer=Rejection("a", "b"))], "0/3 nodes are available: a, b.", {"Before"}, id="with two reasons"
        ),
        pytest.param([Before(answer=Rejection())], "0/3 nodes are available:", {"Before"}, id="without a reason"),
        pytest.param(
            [Before(answer=NO), Also(answer=Rejection("nor"))], "0/3 nodes are available: nor.", {"Also"}, id="two"
        ),
        pytest.param(
            [Before(answer=NEVER), Also(answer=NO)], "0/3 nodes are available: never.", {"Before"}, id="one for ever"
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset())), Alpha(about=EVERYWHERE)],
            "0/3 nodes are available: node(s) didn't satisfy plugin Before.",
            {"Before"},
            id="no node by name",
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset({"n1"}))), Also(answer=OnlyNodes(frozenset({"n2"})))],
            "0/3 nodes are available: node(s) didn't satisfy plugin(s) [Also Before] simultaneously.",
            {"Before", "Also"},
            id="no node that both name",
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset({"n1"}))), Also(answer=NO)],
            "0/3 nodes are available: no.",
            {"Before", "Also"},
            id="a restriction and a rejection",
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset({"n1"}))), Also(answer=NEVER)],
            "0/3 nodes are available: never.",
            {"Also"},
            id="a restriction and a rejection for ever",
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset({"n1"}))), Alpha(about=EVERYWHERE)],
            "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [Before].",
            {"Before", "Alpha"},
            id="one node by name, which does not do",
        ),
        pytest.param(
            [
                Before(answer=OnlyNodes(frozenset({"n1", "n2"}))),
                Also(answer=OnlyNodes(frozenset({"n2", "n3"}))),
                Alpha(about=EVERYWHERE),
            ],
            "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [Also Before].",
            {"Before", "Also", "Alpha"},
            id="one node that two name",
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset({"ghost"})))],
            "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [Before].",
            {"Before"},
            id="a name that no node has",
        ),
    ],
)
def test_before_any_node(plugins: list[Plugin], message: str, rejected_by: set[str]) -> None:
    outcome = unplaced(scheduler_of(*plugins).schedule(make_pod()))
    assert (outcome.message, outcome.reason, set(outcome.rejected_by)) == (message, UNSCHEDULABLE, rejected_by)


def test_names_that_no_node_has_are_passed_over() -> None:
    scheduler = scheduler_of(Before(answer=OnlyNodes(frozenset({"ghost", "n2"}))))
    outcome = scheduler.schedule(make_pod())
    assert isinstance(outcome, Placed)
    assert (outcome.node, outcome.feasible) == ("n2", 1)


def test_nobody_looks_at_nodes_outside() -> None:
    broken = {"n1": KeyError("not asked"), "n3": KeyError("not asked")}
    for depends_on in SCOPES:
        plugin = scoped(depends_on, Alpha)(about=broken)
        scheduler = scheduler_of(Before(answer=OnlyNodes(frozenset({"n2"}))), plugin)
        assert node_of(scheduler.schedule(make_pod())) == "n2"


class Skipping(PreFilter, Filter):
    """Has nothing to filter, and would be wrong about all nodes."""

    skip: Any = SKIP

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
        return self.skip

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        raise AssertionError("not asked")

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        raise AssertionError("not asked")


@pytest.mark.parametrize("skip", [SKIP, SKIP_SHAPE], ids=["for this pod", "for this shape"])
@pytest.mark.parametrize("depends_on", SCOPES, ids=lambda scope: scope.name)
def test_who_skips_does_not_filter(skip: object, depends_on: Scope) -> None:
    scheduler = scheduler_of(scoped(depends_on, Skipping)(skip=skip))
    scheduler.cluster.nominations["n1"] = [make_pod("other")]
    assert all(isinstance(scheduler.schedule(make_pod(f"p{i}")), Placed) for i in range(3))


# --------------------------------------------------------------------------------------------------- fit errors


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        pytest.param(
            [Alpha(about={"n1": NO, "n2": NO}), Beta(about={"n2": NEVER, "n3": NEVER})],
            "0/3 nodes are available: 1 never, 2 no.",
            id="the first plugin that rejects a node gives the reason",
        ),
        pytest.param(
            [Alpha(about=dict.fromkeys(("n1", "n2", "n3"), Rejection("b", "a")))],
            "0/3 nodes are available: 3 a, 3 b.",
            id="each of several reasons counts",
        ),
        pytest.param(
            [Alpha(about=dict.fromkeys(("n1", "n2", "n3"), Rejection()))],
            "0/3 nodes are available:",
            id="without any reason",
        ),
        pytest.param(
            [
                Alpha(about={"n1": Rejection("same"), "n2": Rejection("same", preemption_helps=False)}),
                Beta(about=EVERYWHERE),
            ],
            "0/3 nodes are available: 1 no, 2 same.",
            id="one reason counts once, whatever else differs",
        ),
        pytest.param(
            [Alpha(about={name: Rejection(f"{name} is full") for name in ("n1", "n2", "n3")})],
            "0/3 nodes are available: 1 n1 is full, 1 n2 is full, 1 n3 is full.",
            id="reasons with names of nodes",
        ),
    ],
)
def test_fit_error(plugins: list[Plugin], message: str) -> None:
    assert unplaced(scheduler_of(*plugins).schedule(make_pod())).message == message


def test_counts_are_sorted_as_texts() -> None:
    about = {f"n{i}": Rejection("y" if i > 10 else "x") for i in range(1, 13)}
    outcome = unplaced(scheduler_of(Alpha(about=about), nodes=12).schedule(make_pod()))
    assert outcome.message == "0/12 nodes are available: 10 x, 2 y."


def test_pending_plugins_are_told_apart_and_are_rejectors_too() -> None:
    about = {"n1": Rejection("soon", pending=True), "n2": NO}
    outcome = unplaced(scheduler_of(Alpha(about=about), Beta(about={"n3": NO})).schedule(make_pod()))
    assert outcome.message == "0/3 nodes are available: 1 soon, 2 no."
    assert (set(outcome.rejected_by), set(outcome.pending)) == ({"Alpha", "Beta"}, {"Alpha"})


# -------------------------------------------------------------------------------------------------- PostFilter


def test_what_came_of_making_room_is_told_after_the_reasons() -> None:
    scheduler = scheduler_of(Alpha(about=EVERYWHERE), Room(answer=NoRoom("preemption: no.")))
    assert unplaced(scheduler.schedule(make_pod())).message == "0/3 nodes are available: 3 no. preemption: no."


@pytest.mark.parametrize(
    ("plugins", "nominate", "after"),
    [
        pytest.param([], "", "", id="without plugins a nomination is taken back"),
        pytest.param([Room(answer=NoRoom("none"))], "", " none", id="no room takes it back"),
        pytest.param([Room(answer=NoRoom("not eligible", True))], None, " not eligible", id="not eligible keeps it"),
        pytest.param([Room(answer=NoRoom("", True))], None, "", id="nothing to say"),
        pytest.param([Room(answer=PluginFailed("not found"))], None, " not found", id="an error keeps it"),
        pytest.param([Room(answer=Nominated("n2", ("a/v",), "found"))], "n2", " found", id="success"),
        pytest.param(
            [Room(answer=NoRoom("none", True)), Parlour(answer=Nominated("n1", (), "found"))],
            "n1",
            " found",
            id="the second finds something: that alone is told",
        ),
        pytest.param(
            [Room(answer=Nominated("n1", (), "found")), Parlour(answer=AssertionError("not asked"))],
            "n1",
            " found",
            id="after a success nobody is asked any more",
        ),
        pytest.param(
            [Room(answer=NoRoom("a", True)), Parlour(answer=NoRoom("b", True))], None, " a, b", id="both keep it"
        ),
        pytest.param(
            [Room(answer=NoRoom("a")), Parlour(answer=NoRoom("b", True))], "", " a, b", id="one takes it back"
        ),
        pytest.param(
            [Room(answer=NoRoom("a")), Parlour(answer=PluginFailed("lost"))],
            None,
            " lost",
            id="an error goes before all",
        ),
        pytest.param(
            [Room(answer=PluginFailed("lost")), Parlour(answer=AssertionError("not asked"))],
            None,
            " lost",
            id="after an error nobody is asked any more",
        ),
    ],
)
def test_the_nomination(plugins: list[Plugin], nominate: str | None, after: str) -> None:
    outcome = unplaced(scheduler_of(Alpha(about=EVERYWHERE), *plugins).schedule(make_pod()))
    assert outcome.message == f"0/3 nodes are available: 3 no.{after}"
    assert (outcome.reason, outcome.nominate, outcome.rejected_by) == (UNSCHEDULABLE, nominate, frozenset({"Alpha"}))


def test_victims_are_told() -> None:
    scheduler = scheduler_of(Alpha(about=EVERYWHERE), Room(answer=Nominated("n2", ("a/v", "a/w"), "found")))
    assert unplaced(scheduler.schedule(make_pod())).victims == ("a/v", "a/w")


@pytest.mark.parametrize(
    ("plugins", "verdicts"),
    [
        pytest.param([Before(answer=NO)], [NO.by("Before")] * 3, id="all nodes may be freed after a rejection"),
        pytest.param([Before(answer=NEVER)], [NEVER.by("Before")] * 3, id="none after one for ever"),
        pytest.param(
            [Alpha(about={"n1": NO, "n2": NEVER}), Beta(about=EVERYWHERE)],
            [NO.by("Alpha"), NEVER.by("Alpha"), NO.by("Beta")],
            id="each by its own verdict",
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset({"n2"}))), Alpha(about=EVERYWHERE)],
            [
                Rejection("node(s) didn't satisfy plugin(s) [Before]", preemption_helps=False),
                NO.by("Alpha"),
                Rejection("node(s) didn't satisfy plugin(s) [Before]", preemption_helps=False),
            ],
            id="no eviction helps outside of the named nodes",
        ),
    ],
)
def test_who_makes_room_sees_the_verdict_about_every_node(plugins: list[Plugin], verdicts: list[Rejection]) -> None:
    seen: list[Rejection | None] = []

    def look(found: Verdicts) -> NoRoom:
        seen.extend(found[place] for place in range(len(found.codes)))
        return NoRoom("")

    scheduler_of(*plugins, Room(answer=look)).schedule(make_pod())
    assert seen == verdicts
