"""The bind itself: when it may be sent, what the watch says meanwhile, and what its outcome means."""

import asyncio
from typing import Any

import pytest

from kit.live_core import DELETED
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.write.bind_outcomes import BindOutcome, Bound, Refusal, Refused, Unknown
from pilotage.cluster.write.binder import Binder
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.pod import Pod
from pilotage.scheduling.posting import Posting
from pilotage.testing import make_node, make_pod

POD = make_pod("a", uid="a")


class World:
    """A node, and what is known about pods."""

    def __init__(self, known: Pod | None = POD, *, leads: bool = True) -> None:
        self.leads = leads
        cache = ClusterCache()
        cache.put_node(make_node("n1"))
        self.posting = Posting(cache, {POD.key: known}.get, lambda: self.leads)


@pytest.mark.parametrize(
    ("known", "node", "leads", "allowed"),
    [
        pytest.param(POD, "n1", True, True, id="we lead, and both are there"),
        pytest.param(POD, "n1", False, False, id="we do not lead"),
        pytest.param(None, "n1", True, False, id="the pod is gone"),
        pytest.param(make_pod("a", uid="successor"), "n1", True, False, id="another pod has its name"),
        pytest.param(make_pod("a", uid="a", metadata=DELETED), "n1", True, False, id="the pod is being deleted"),
        pytest.param(POD, "n2", True, False, id="the node is gone"),
    ],
)
async def test_may_write(known: Pod | None, node: str, leads: bool, allowed: bool) -> None:
    assert World(known, leads=leads).posting.may_write(POD, node) is allowed


class Answers(Binder):
    """Answers as it is told, or with what the watch saw."""

    def __init__(self, outcome: BindOutcome | None = None) -> None:
        self._outcome = outcome
        self.seen: list[str | None] = []

    async def bind(self, pod: Pod, node: str, resolved: Any = None) -> BindOutcome:
        if self._outcome is not None:
            return self._outcome
        self.seen.append(await resolved)
        return Bound()


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        pytest.param(Bound(), None, id="it is bound"),
        pytest.param(
            Refused(Refusal.DELETING, "pod a is being deleted"), "pod a is being deleted", id="the words of the server"
        ),
        pytest.param(Unknown(), "the outcome of the bind is unknown", id="nobody knows"),
    ],
)
async def test_what_the_outcome_means(outcome: BindOutcome, message: str | None) -> None:
    world = World()
    if message is None:
        await world.posting.post(Answers(outcome), POD, "n1")
    else:
        with pytest.raises(PluginFailed) as failed:
            await world.posting.post(Answers(outcome), POD, "n1")
        assert str(failed.value) == message
    assert world.posting._sightings == {}


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        pytest.param([(make_pod("a", uid="a", node="n2"), "a")], "n2", id="it has a node"),
        pytest.param([(None, "a")], "", id="it is gone"),
        pytest.param([(None, "b"), (make_pod("a", uid="a", node="n1"), "a")], "n1", id="others do not count"),
        pytest.param([(make_pod("a", uid="a", node="n1"), "a"), (None, "a")], "n1", id="the first news counts"),
    ],
)
async def test_what_the_watch_says_meanwhile(told: list[tuple[Pod | None, str]], seen: str) -> None:
    world, binder = World(), Answers()
    task = asyncio.create_task(world.posting.post(binder, POD, "n1"))
    await asyncio.sleep(0)
    for pod, uid in told:
        world.posting.resolved(pod, uid)
    await task
    assert binder.seen == [seen]
    assert world.posting._sightings == {}
    world.posting.resolved(None, "a")  # nobody listens any more


@pytest.mark.parametrize("node", ["n1", "n2"])
async def test_what_the_watch_has_said_before(node: str) -> None:
    world, binder = World(make_pod("a", uid="a", node=node)), Answers()
    await world.posting.post(binder, POD, "n1")
    assert binder.seen == [node]


async def test_nobody_listens_after_a_cancellation() -> None:
    world = World()
    task = asyncio.create_task(world.posting.post(Answers(), POD, "n1"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.posting._sightings == {}
