"""Our view beside a list of the API server: every way in which they can differ has its sentence."""

from collections.abc import Callable
from typing import Any

import pytest

from kit.live_core import LiveCore
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.scheduling.comparison import Comparison
from pilotage.testing import make_pod

Deed = Callable[[LiveCore], Any]


def pod(**fields: Any) -> Pod:
    return make_pod("a", uid="a", **fields)


def assume(live: LiveCore) -> None:
    live.core.cache.assume(pod(node="n1"))


def take(live: LiveCore) -> None:
    live.core.queue.add(pod())
    live.core.queue.pop()


def nothing(live: LiveCore) -> None:
    """Know nothing of the pod."""


def problems(live: LiveCore, pods: list[Pod], nodes: list[Node]) -> list[str]:
    comparison = Comparison(live.core.cache, live.core.queue, {"default-scheduler"})
    found = comparison.differences({each.key: each for each in pods}, {node.name: node for node in nodes})
    assert all(
        difference.kind in difference.problem or difference.kind[:-1] in difference.problem for difference in found
    )
    return sorted(difference.problem for difference in found)


@pytest.mark.parametrize(
    ("deed", "listed", "expected"),
    [
        pytest.param(lambda live: live.core.cache.put_pod(pod(node="n1")), [pod(node="n1")], [], id="on its node"),
        pytest.param(lambda live: live.core.queue.add(pod()), [pod()], [], id="in the queue"),
        pytest.param(take, [pod()], [], id="in flight"),
        pytest.param(assume, [pod()], [], id="it is being bound"),
        pytest.param(assume, [], [], id="it was deleted while it was bound: that is on its way"),
        pytest.param(nothing, [pod(scheduler="somebody-elses")], [], id="a foreign one waits"),
        pytest.param(
            nothing, [pod(node="n1")], ["pod default/a is on node n1 and not in the cache"], id="it does not count"
        ),
        pytest.param(
            lambda live: live.core.cache.put_pod(pod(node="n2")),
            [pod(node="n1")],
            ["pod default/a is on node n1 and counted on n2"],
            id="it counts elsewhere",
        ),
        pytest.param(nothing, [pod()], ["pod default/a waits for a node and is not in the queue"], id="it is lost"),
        pytest.param(
            lambda live: live.core.queue.add(make_pod("a", uid="namesake")),
            [pod()],
            ["pod default/a waits for a node and is not in the queue"],
            id="a namesake is in the queue",
        ),
        pytest.param(
            lambda live: live.core.cache.put_pod(pod(node="n1")),
            [],
            ["pod default/a is in the cache and does not exist"],
            id="it is gone and still counts",
        ),
    ],
)
async def test_pods(deed: Deed, listed: list[Pod], expected: list[str]) -> None:
    live = LiveCore()
    node = live.add_node("n1")
    deed(live)
    assert problems(live, listed, [node]) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        pytest.param(["n1"], ["n1"], [], id="the same"),
        pytest.param([], ["n1"], ["node n1 is not in the cache"], id="one is missing"),
        pytest.param(["n1"], [], ["node n1 is in the cache and does not exist"], id="one is left over"),
    ],
)
async def test_nodes(ours: list[str], theirs: list[str], expected: list[str]) -> None:
    live = LiveCore()
    for name in ours:
        live.add_node(name, uid=name)
    assert problems(live, [], [live.node(name, uid=name) for name in theirs]) == expected


async def test_a_node_that_was_replaced() -> None:
    live = LiveCore()
    live.add_node("n1", uid="old")
    assert problems(live, [], [live.node("n1", uid="new")]) == ["node n1 is not in the cache"]
