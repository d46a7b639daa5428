"""Placing pods that extenders have a word in, who are asked over a real connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web

from kit.scripted_extender import POD, Extenders, extended_scheduler, leaves, schedule
from kit.tiny_plugins import NEVER, NO, Alpha, Before, Likes, Room, cluster_of, node_of, unplaced
from pilotage.extenders.extended_cycle import OVERTAKEN
from pilotage.framework.api.verdicts import NoRoom, OnlyNodes, Verdicts
from pilotage.model.pod import Pod
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import SCHEDULER_ERROR, UNSCHEDULABLE, Placed
from pilotage.testing import FakeCluster, make_node, make_pod

EVEN = {"n1": 0, "n2": 0, "n3": 0}


@pytest.fixture
async def start() -> AsyncIterator[Extenders]:
    async with AsyncExitStack() as stack:
        yield Extenders(stack)


# ------------------------------------------------------------------------------------------------------------ filter


async def test_a_node_that_the_extender_leaves(start: Extenders) -> None:
    extender = await start({"filter": leaves("n2", n1="too old", n3="too new")})
    outcome = await schedule(Likes(scores={"n1": 9, "n2": 1, "n3": 5}), extenders=[extender])
    assert isinstance(outcome, Placed)
    assert (outcome.node, outcome.feasible) == ("n2", 1)


async def test_each_extender_is_asked_about_what_the_one_before_left(start: Extenders) -> None:
    first = await start({"filter": leaves("n1", "n3")}, ignorable=True)
    second = await start({"filter": leaves("n2", "n3")})
    third = await start({"filter": leaves()}, managed_resources=frozenset({"a.com/x"}))
    outcome = await schedule(Alpha(about={"n1": NO}), extenders=[first, second, third])
    assert node_of(outcome) == "n3"
    # The first may fail, so it comes after the second; the third has no interest in the pod.
    assert start.asked() == [[("filter", ["n2", "n3"])], [("filter", ["n2", "n3"])], []]


async def test_nobody_is_asked_after_no_node_is_left(start: Extenders) -> None:
    first, second = await start({"filter": leaves()}), await start({"filter": leaves()})
    unplaced(await schedule(extenders=[first, second]))
    assert start.asked()[1] == []


@pytest.mark.parametrize(
    ("plugins", "answer", "message", "rejected_by"),
    [
        pytest.param(
            [Alpha(about={"n1": NO})],
            leaves(n2="too old", n3="too old"),
            "0/3 nodes are available: 1 no, 2 too old.",
            {"Alpha", "Extender"},
            id="reasons of both are counted",
        ),
        pytest.param(
            [],
            leaves(n1="old"),
            "0/3 nodes are available: 1 old.",
            {"Extender"},
            id="without a word there is no reason",
        ),
        pytest.param(
            [],
            {"NodeNames": [], "FailedNodes": {"n1": "a"}, "FailedAndUnresolvableNodes": {"n1": "b"}},
            "0/3 nodes are available: 1 b.",
            {"Extender"},
            id="where no eviction helps goes before",
        ),
        pytest.param(
            [Alpha(about={"n1": NO})],
            leaves(n1="mine", n9="who?"),
            "0/3 nodes are available: 1 mine.",
            {"Alpha", "Extender"},
            id="it may speak of nodes that it was not asked about, if they are there",
        ),
        pytest.param(
            [Before(answer=OnlyNodes(frozenset({"n1"})))],
            leaves(),
            "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [Before].",
            {"Before", "Extender"},
            id="without a word it counts as ruled out by name, if others are",
        ),
    ],
)
async def test_no_node_is_left(
    start: Extenders, plugins: list[Any], answer: Any, message: str, rejected_by: set[str]
) -> None:
    extender = await start({"filter": answer})
    outcome = unplaced(await schedule(*plugins, extenders=[extender]))
    assert (outcome.message, outcome.reason) == (message, UNSCHEDULABLE)
    assert outcome.rejected_by == rejected_by


async def test_where_evicting_pods_can_help(start: Extenders) -> None:
    seen: list[dict[str, bool]] = []

    def look(verdicts: Verdicts) -> NoRoom:
        said = {f"n{place + 1}": verdicts[place] for place in range(4)}
        seen.append({name: bool(each and each.preemption_helps) for name, each in said.items()})
        return NoRoom("no room")

    answer = leaves(n2="full") | {"FailedAndUnresolvableNodes": {"n3": "never"}}
    extender = await start({"filter": answer})
    plugins = Alpha(about={"n1": NO}), Room(answer=look)
    outcome = unplaced(await schedule(*plugins, extenders=[extender], cluster=cluster_of(4)))
    assert seen == [{"n1": True, "n2": True, "n3": False, "n4": False}]
    assert outcome.message == "0/4 nodes are available: 1 full, 1 never, 1 no. no room"


async def test_a_pod_that_plugins_reject_everywhere_is_none_of_their_business(start: Extenders) -> None:
    extender = await start({"filter": leaves()})
    for plugin, text in ((Alpha(about=dict.fromkeys(EVEN, NO)), "3 no"), (Before(answer=NEVER), "never")):
        outcome = unplaced(await schedule(plugin, extenders=[extender]))
        assert outcome.message == f"0/3 nodes are available: {text}."
        assert outcome.rejected_by == {plugin.name}
    assert unplaced(await schedule(extenders=[extender], cluster=FakeCluster())).message.startswith("no nodes")
    assert start.asked() == [[]]


async def test_extenders_see_as_many_nodes_as_the_profile_wants_scored(start: Extenders) -> None:
    extender = await start({"filter": leaves()})
    likes = Likes(scores={f"n{i}": 0 for i in range(1, 301)})
    outcome = unplaced(await schedule(likes, extenders=[extender], cluster=cluster_of(300), percentage=50))
    [[(_, asked)]] = start.asked()
    assert len(asked) == 150
    assert outcome.message == "0/300 nodes are available:"
    await schedule(extenders=[extender], cluster=cluster_of(300), percentage=50)
    assert len(start.asked()[0][1][1]) == 300  # nobody scores: all, not one


# ----------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param({"Error": "out of order"}, "out of order", id="its own error"),
        pytest.param(
            leaves("n9"),
            'extender "URL" claims a filtered node "n9" which is not found in the input node list',
            id="a node that was not asked about",
        ),
    ],
)
async def test_a_failure_ends_the_attempt_unless_it_may_fail(start: Extenders, answer: Any, text: str) -> None:
    broken = await start({"filter": answer})
    outcome = unplaced(await schedule(extenders=[broken]))
    assert (outcome.message.replace(broken.name, "URL"), outcome.reason) == (text, SCHEDULER_ERROR)
    assert outcome.rejected_by == frozenset()
    broken.ignorable = True
    good = await start({"filter": leaves("n3")})
    assert node_of(await schedule(extenders=[broken, good])) == "n3"
    assert node_of(await schedule(Likes(scores=EVEN | {"n2": 1}), extenders=[broken])) == "n2"


async def test_a_failure_of_a_plugin_is_one_here_too(start: Extenders) -> None:
    extender = await start({"filter": leaves("n1", "n2")})
    for plugin in (Alpha(about={"n1": KeyError("x")}), Likes(scores={"n1": KeyError("x")})):
        outcome = unplaced(await schedule(plugin, extenders=[extender]))
        assert outcome.reason == SCHEDULER_ERROR
        assert f'"{plugin.name}"' in outcome.message


# ------------------------------------------------------------------------------------------------------------- scores


def gives(**scores: int) -> list[dict[str, Any]]:
    return [{"Host": node, "Score": score} for node, score in scores.items()]


@pytest.mark.parametrize(
    ("plugin", "answers", "node"),
    [
        pytest.param({"n1": 60}, [(1, gives(n2=7))], "n2", id="seven of ten are seventy of a hundred"),
        pytest.param({"n1": 80}, [(1, gives(n2=7))], "n1", id="a plugin can weigh more"),
        pytest.param({"n1": 100}, [(2, gives(n2=6))], "n2", id="a weight counts"),
        pytest.param({"n1": 100}, [(1, gives(n2=6)), (1, gives(n2=6))], "n2", id="two together"),
        pytest.param({"n1": 100}, [(1, gives(n1=-11, n3=-2)), (1, gives(n2=1))], "n2", id="below zero"),
        pytest.param({"n1": 100}, [(1, "nonsense"), (1, gives(n9=10))], "n1", id="failures and ghosts give nothing"),
        pytest.param({"n1": 100}, [(2**62, gives(n2=2**63 - 1)), (1, gives(n3=-(2**63)))], "n2", id="endless numbers"),
    ],
)
async def test_scores(start: Extenders, plugin: dict[str, int], answers: list[Any], node: str) -> None:
    extenders = [await start({"prioritize": answer}, weight=weight) for weight, answer in answers]
    assert node_of(await schedule(Likes(scores=EVEN | plugin), extenders=extenders)) == node


async def test_they_alone_decide_where_no_plugin_scores(start: Extenders) -> None:
    extender = await start({"prioritize": gives(n1=1, n3=2)})
    outcome = await schedule(extenders=[extender])
    assert isinstance(outcome, Placed)
    assert (outcome.node, outcome.feasible) == ("n3", 3)


async def test_the_only_node_is_not_scored(start: Extenders) -> None:
    extender = await start({"filter": leaves("n1"), "prioritize": AssertionError})
    assert node_of(await schedule(Likes(scores={"n1": KeyError("not asked")}), extenders=[extender])) == "n1"


# -------------------------------------------------------------------------------------------------- a nominated node


def nominated(node: str) -> Pod:
    return make_pod("p", status={"nominatedNodeName": node})


@pytest.mark.parametrize(
    ("plugin", "answer", "node", "asked"),
    [
        pytest.param(Alpha(), lambda q: leaves(*q["NodeNames"]), "n2", [["n2"]], id="is taken alone"),
        pytest.param(
            Alpha(),
            lambda q: leaves("n1") if "n1" in q["NodeNames"] else leaves(),
            "n1",
            [["n2"], ["n1", "n2"]],
            id="is not taken if an extender does not leave it",
        ),
        pytest.param(
            Alpha(about={"n2": NO}),
            lambda q: leaves(*q["NodeNames"]),
            "n1",
            [["n1"]],
            id="is no question for extenders if plugins reject it",
        ),
        pytest.param(
            Alpha(),
            lambda q: leaves("n1") if "n1" in q["NodeNames"] else {"Error": "no"},
            "n1",
            [["n2"], ["n1", "n2"]],
            id="is left alone if an extender fails there",
        ),
    ],
)
async def test_a_nominated_node(start: Extenders, plugin: Any, answer: Any, node: str, asked: list[list[str]]) -> None:
    extender = await start({"filter": answer})
    outcome = await schedule(plugin, extenders=[extender], pod=nominated("n2"), cluster=cluster_of(2))
    assert node_of(outcome) == node
    assert [names for _, names in start.asked()[0]] == asked


# ----------------------------------------------------------------------------------------- what happens in between


async def test_a_place_that_was_taken_meanwhile_is_not_given_away_again(start: Extenders) -> None:
    cluster = FakeCluster([make_node("n1", cpu=1), make_node("n2", cpu=1)])

    def take_n1(question: Any) -> dict[str, Any]:
        if "n1" in question["NodeNames"]:
            cluster.add_pod(make_pod("quick", cpu=1, node="n1"))
        return leaves("n1") if "n1" in question["NodeNames"] else leaves(*question["NodeNames"])

    extender = await start({"filter": take_n1})
    assert node_of(await schedule(NodeResourcesFit(), extenders=[extender], cluster=cluster)) == "n2"
    assert start.asked() == [[("filter", ["n1", "n2"]), ("filter", ["n2"])]]


async def test_who_is_overtaken_again_and_again_tries_later(start: Extenders) -> None:
    cluster = FakeCluster([make_node(f"n{i}", cpu=1) for i in range(9)])

    def take_all(question: Any) -> dict[str, Any]:
        cluster.add_pod(make_pod(f"quick-{question['NodeNames'][0]}", cpu=1, node=question["NodeNames"][0]))
        return leaves(question["NodeNames"][0])

    outcome = unplaced(
        await schedule(NodeResourcesFit(), extenders=[await start({"filter": take_all})], cluster=cluster)
    )
    assert (outcome.message, outcome.reason) == (OVERTAKEN, SCHEDULER_ERROR)


async def test_the_best_of_what_is_still_free_is_taken(start: Extenders) -> None:
    cluster = FakeCluster([make_node(f"n{i}", cpu=1) for i in (1, 2, 3)])

    def take_n1(question: Any) -> Any:
        cluster.add_pod(make_pod("quick", cpu=1, node="n1"))
        return gives(n1=10, n2=1, n3=5)

    extender = await start({"filter": leaves("n1", "n2", "n3"), "prioritize": take_n1})
    assert node_of(await schedule(NodeResourcesFit(), extenders=[extender], cluster=cluster)) == "n3"


@pytest.mark.parametrize("pod", [POD, nominated("n2")], ids=["any node", "a nominated node"])
async def test_a_pod_that_nobody_waits_for_any_more_holds_nothing(start: Extenders, pod: Pod) -> None:
    cluster, asked = cluster_of(3), []
    extender = await start({"filter": lambda question: leaves(*question["NodeNames"])})

    def is_waiting(given: Pod) -> bool:
        asked.append(given)
        return False

    made = extended_scheduler(extenders=[extender], cluster=cluster, is_waiting=is_waiting)
    assert await made.schedule_with_extenders(pod) is None
    assert asked == [pod]
    assert cluster.cache.find_pod(pod.uid) is None


async def test_others_are_scheduled_while_an_extender_thinks(start: Extenders) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def think(request: web.Request) -> web.Response:
        asked.set()
        await go_on.wait()
        return web.json_response(leaves("n1", "n2"))

    extender = await start({"filter": None}, managed_resources=frozenset({"a.com/x"}))
    start.scripted[0].handler = think
    made = extended_scheduler(Likes(scores=EVEN), extenders=[extender])
    pod = make_pod("slow", requests={"a.com/x": 1})
    assert made.extenders_for(pod) == [extender]
    assert made.extenders_for(POD) == []
    slow = asyncio.create_task(made.schedule_with_extenders(pod))
    await asked.wait()
    assert isinstance(made.schedule(POD), Placed)
    assert not slow.done()
    go_on.set()
    assert node_of(await slow) in ("n1", "n2")  # type: ignore[arg-type]  # somebody waits
