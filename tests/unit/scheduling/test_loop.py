"""The main job: who is placed when, what keeps it from working, and that nobody keeps the others waiting."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from kit.live_core import DELETED, LiveCore, One
from kit.scripted_extender import node_json, pod_json
from pilotage.cluster.services.extender import Extender, ExtenderSettings
from pilotage.framework.api.verdicts import SKIP, Rejection, Wait
from pilotage.model.extender_messages import ExtenderFailed, FilterResult
from pilotage.model.pod import Pod
from pilotage.scheduling import loop as module
from pilotage.scheduling import preparing
from pilotage.scheduling.loop import LONGEST_BATCH, LONGEST_SILENCE
from pilotage.scheduling.outcome import Placed
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime


@asynccontextmanager
async def running(live: LiveCore) -> AsyncIterator["asyncio.Task[None]"]:
    """Let the loop run by itself."""
    task = asyncio.create_task(live.core.loop.run())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def pods(count: int, cpu: str = "1m", **fields: Any) -> list[Pod]:
    return [make_pod(f"p{i}", uid=f"p{i}", cpu=cpu, **fields) for i in range(count)]


class Clock:
    """Shows a later time each time somebody looks."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 100.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class TestBatches:
    async def test_others_get_their_turn_after_a_few_milliseconds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "perf_counter", Clock(step=LONGEST_BATCH / 10))
        live = LiveCore()
        live.add_node()
        live.create(*pods(50))
        assert live.core.loop._batch() is True
        placed = len(live.core.bindings)
        assert 1 <= placed <= 10
        async with running(live):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert placed < len(live.core.bindings) < 50  # another batch, and back to us
            await asyncio.sleep(1)
        assert len(live.api.binds) == 50

    async def test_it_rests_when_nobody_waits(self) -> None:
        live = LiveCore()
        live.add_node()
        assert live.core.loop._batch() is False
        async with running(live):
            await asyncio.sleep(0.1)
            live.create(*pods(1))
            await asyncio.sleep(0)
            for _ in range(5):
                await asyncio.sleep(0)
            assert len(live.api.binds) == 1  # it was woken, and did not sleep to the end

    async def test_the_end_of_a_back_off_is_not_slept_through(self) -> None:
        live = LiveCore(One(answers={"pre_flight": Rejection("off")}))
        live.add_node()
        [pod] = pods(1)
        async with running(live):
            live.create(pod)
            await asyncio.sleep(0.01)
            assert live.place(pod) == "backoff"
            queued = live.core.queue.find(pod.key)
            assert queued is not None
            tried = queued.attempts
            await asyncio.sleep(2.5)
            assert queued.attempts > tried


class TestBindsUnderWay:
    async def test_so_many_and_no_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_BINDS", 3)
        live = LiveCore()
        live.add_node()
        waiting = pods(5)
        answers = {pod.name: asyncio.get_running_loop().create_future() for pod in waiting}
        live.api.answers.update(answers)
        async with running(live):
            live.create(*waiting)
            await asyncio.sleep(0.5)
            assert [name for name, _ in live.api.binds] == ["p0", "p1", "p2"]
            assert live.place(waiting[3]) == "active"
            answers["p1"].set_result(None)
            for _ in range(10):
                await asyncio.sleep(0)
            assert [name for name, _ in live.api.binds] == ["p0", "p1", "p2", "p3"]  # at once


def future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


class TestPodsThatWaitBeforeTheirBind:
    """However many there are, nobody else has to wait for them: nothing is being sent."""

    @pytest.mark.parametrize(
        "answers",
        [
            pytest.param({"pre_bind": future}, id="for their volumes"),
            pytest.param({"permit": lambda: Wait(600.0)}, id="for a permission"),
        ],
    )
    async def test_another_tenant_s_pod_is_placed_at_once(self, answers: dict[str, Any]) -> None:
        needs = [True]
        only_them = {step: lambda answer=answer: answer() if needs[0] else None for step, answer in answers.items()}
        live = LiveCore(One(answers={"pre_flight": lambda: None if needs[0] else SKIP, **only_them}))
        live.add_node(allocatable={"pods": 2000})
        async with running(live):
            live.create(*pods(module.MOST_BINDS + 100, cpu="0"))
            await asyncio.sleep(0.5)
            assert len(live.core.bindings) == module.MOST_BINDS + 100
            needs[0] = False
            live.create(make_pod("other", uid="other", namespace="other", cpu="0"))
            for _ in range(20):
                await asyncio.sleep(0)
            assert live.api.binds == [("other", "n1")]

    async def test_of_one_namespace_only_so_many_wait_for_what_they_need(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(preparing, "MOST_OF_ONE", 3)
        answers = [asyncio.get_running_loop().create_future() for _ in range(8)]
        left = iter(answers)
        live = LiveCore(One(answers={"pre_bind": lambda: next(left)}))
        live.add_node()
        waiting = pods(5)
        async with running(live):
            live.create(*waiting, make_pod("other", uid="other", namespace="other", cpu="1m"))
            await asyncio.sleep(0.5)
            assert [live.place(pod) for pod in waiting] == ["binding"] * 3 + ["unschedulable"] * 2
            assert "other" in live.core.bindings._preparing
            [(name, reason, message, _), *_] = live.api.conditions
            assert (name, reason) == ("p3", "Queued")
            assert message == (
                "3 pods of namespace default wait for volumes or other preparation, which is the limit; "
                "the pod is retried when one of them is ready"
            )
            assert len(live.core.cache._assumed) == 4  # those that were sent back hold no place
            answers[0].set_result(None)
            await asyncio.sleep(0.5)
            assert [live.place(pod) for pod in waiting[1:]] == ["binding"] * 3 + ["unschedulable"]
            live.delete(waiting[4])
            answers[1].set_result(None)
            await asyncio.sleep(0.5)
            assert live.core.bindings.waiting_for_room() == 0

    @pytest.mark.parametrize("why", ["it fits nowhere by now", "it is deleted"])
    async def test_who_makes_no_use_of_the_room_keeps_it_from_nobody(
        self, monkeypatch: pytest.MonkeyPatch, why: str
    ) -> None:
        monkeypatch.setattr(preparing, "MOST_OF_ONE", 1)
        first, rest = asyncio.get_running_loop().create_future(), asyncio.get_running_loop().create_future()
        left = iter([first, rest, rest])
        live = LiveCore(One(answers={"pre_bind": lambda: next(left)}))
        live.add_node()
        small = make_pod("small", uid="small", cpu="1m")
        large = make_pod("large", uid="large", cpu="900m")
        last = make_pod("last", uid="last", cpu="1m")
        async with running(live):
            live.create(small, large, last)
            await asyncio.sleep(0.5)
            assert [live.place(pod) for pod in (small, large, last)] == ["binding", "unschedulable", "unschedulable"]
            if why == "it fits nowhere by now":
                live.create(make_pod("guest", uid="guest", cpu="900m", node="n1"))
            else:
                activate = live.core.queue.activate
                delete_large = iter([lambda: live.delete(large)])
                monkeypatch.setattr(
                    live.core.queue, "activate", lambda pods: (activate(pods), next(delete_large, lambda: None)())
                )
            first.set_result(None)
            await asyncio.sleep(0.5)
            assert live.place(last) == "binding"


class TestWhoIsPassedOver:
    async def test_a_pod_that_is_being_deleted(self) -> None:
        live = LiveCore()
        live.add_node()
        [pod] = pods(1, metadata=DELETED)
        live.create(pod)
        await live.settle()
        text = "skip schedule deleting pod: default/p0"
        assert live.api.events == [("p0", "Warning", "FailedScheduling", "Scheduling", text)]
        assert live.place(pod) == "nowhere"
        assert live.api.binds == []
        assert live.api.conditions == []
        assert live.held() == {}

    async def test_a_pod_that_has_its_place_already(self) -> None:
        live = LiveCore()
        live.add_node()
        [pod] = pods(1)
        live.core.cache.assume(pod.on("n1"))
        live.core.queue.add(pod)
        await live.settle()
        assert live.place(pod) == "nowhere"
        assert live.api.events == []

    async def test_a_pod_whose_profile_is_gone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        live = LiveCore()
        live.add_node()
        [pod] = pods(1)
        live.create(pod)
        monkeypatch.setattr(live.core.loop, "_served", {"another"})
        await live.settle()
        assert live.place(pod) == "nowhere"
        assert live.held() == {}


class TestTheRightToAct:
    async def test_it_ends_when_it_may_not_act(self) -> None:
        allowed = [True]
        live = LiveCore(may_act=lambda: allowed[0])
        live.add_node()
        async with running(live) as task:
            live.create(*pods(1))
            await asyncio.sleep(0.1)
            allowed[0] = False
            live.create(*(make_pod(f"late{i}", cpu="1m") for i in range(3)))
            await asyncio.sleep(0.1)
            assert task.done()
            assert task.exception() is None
            assert [name for name, _ in live.api.binds] == ["p0"]

    async def test_it_notices_that_within_a_second(self) -> None:
        allowed = [True]
        live = LiveCore(may_act=lambda: allowed[0])
        async with running(live) as task:
            await asyncio.sleep(0.1)
            allowed[0] = False
            await asyncio.sleep(1.1)
            assert task.done()

    async def test_it_never_begins_without_it(self) -> None:
        live = LiveCore(may_act=lambda: False)
        live.add_node()
        live.create(*pods(1))
        await live.core.loop.run()
        assert live.api.binds == []


class TestTrouble:
    async def test_silence_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = Clock()
        monkeypatch.setattr(module, "perf_counter", clock)
        live = LiveCore()
        assert live.core.loop.trouble() is None  # it has not begun
        async with running(live):
            await asyncio.sleep(0)
            clock.now += LONGEST_SILENCE
            assert live.core.loop.trouble() is None
            clock.now += 1
            assert live.core.loop.trouble() == "the event loop last ran 31 s ago"


async def test_each_decision_is_told() -> None:
    live = LiveCore()
    live.add_node()
    told: list[tuple[str, bool]] = []
    live.core.loop.on_decided.connect(
        lambda queued, outcome, started, ended: told.append(
            (queued.pod.name, isinstance(outcome, Placed) and started <= ended)
        )
    )
    live.create(make_pod("fits", cpu="1m"), make_pod("huge", cpu="9"))
    await live.settle()
    assert sorted(told) == [("fits", True), ("huge", False)]


# --------------------------------------------------------------------------------------------------------- extenders


class Slow(Extender):
    """Leaves all nodes, once it is told to answer."""

    def __init__(self, name: str = "http://slow", resource: str = "example.com/gpu") -> None:
        settings = ExtenderSettings(name, filter_verb="filter", managed_resources=frozenset({resource}))
        super().__init__(settings, pod_json, node_json)
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        self.failure: Exception | None = None

    async def filter(self, pod: Pod, nodes: Sequence[str]) -> FilterResult:
        self.asked.append(pod.name)
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        return FilterResult(names=list(nodes))


def with_gpus(*names: str, resource: str = "example.com/gpu") -> list[Pod]:
    return [make_pod(name, uid=name, requests={resource: 1}) for name in names]


def equipped(*extenders: Slow) -> LiveCore:
    live = LiveCore(extenders=extenders)
    live.add_node(allocatable={"example.com/gpu": 100, "example.com/fpga": 100})
    return live


class TestExtenders:
    async def test_a_slow_one_does_not_block_others(self) -> None:
        slow = Slow()
        live = equipped(slow)
        async with running(live):
            live.create(*with_gpus("a"), *pods(3))
            await asyncio.sleep(0.5)
            assert slow.asked == ["a"]
            assert sorted(name for name, _ in live.api.binds) == ["p0", "p1", "p2"]
            slow.may_answer.set()
            await asyncio.sleep(0.5)
            assert live.api.binds[-1] == ("a", "n1")

    async def test_each_is_asked_about_a_few_pods_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_ASKING", 2)
        slow, quick = Slow(), Slow("http://quick", "example.com/fpga")
        quick.may_answer.set()
        live = equipped(slow, quick)
        async with running(live):
            live.create(*with_gpus("a", "b", "c"), *with_gpus("x", "y", "z", resource="example.com/fpga"))
            await asyncio.sleep(0.5)
            assert slow.asked == ["a", "b"]
            assert quick.asked == ["x", "y", "z"]
            slow.may_answer.set()
            await asyncio.sleep(0.5)
            assert slow.asked == ["a", "b", "c"]
            assert len(live.api.binds) == 6

    @pytest.mark.parametrize(
        ("dying", "place"),
        [
            pytest.param(False, "nowhere", id="it is deleted"),
            pytest.param(True, "nowhere", id="it is being deleted"),
        ],
    )
    async def test_nobody_waits_for_the_answer_any_more(self, dying: bool, place: str) -> None:
        slow = Slow()
        live = equipped(slow)
        [pod] = with_gpus("a")
        live.create(pod)
        await live.settle()
        assert live.place(pod) == "in flight"
        if dying:
            live.change(pod, make_pod("a", uid="a", metadata=DELETED))
        else:
            live.delete(pod)
        slow.may_answer.set()
        await live.settle()
        assert live.place(pod) == place
        assert live.held() == {}
        assert live.api.binds == []

    async def test_one_that_fails_costs_an_attempt(self) -> None:
        slow = Slow()
        slow.failure = ExtenderFailed("it is down")
        slow.may_answer.set()
        live = equipped(slow)
        [pod] = with_gpus("a")
        live.create(pod)
        await live.settle()
        assert live.api.conditions == [("a", "SchedulerError", "it is down", "")]
        assert live.place(pod) == "backoff"
        assert live.held() == {}

    async def test_a_fault_of_our_own_ends_the_loop_and_is_not_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slow = Slow()
        slow.may_answer.set()
        live = equipped(slow)

        def fail(*_: object) -> None:
            raise ZeroDivisionError("oh")

        live.core.loop.on_decided.connect(fail)
        task = asyncio.create_task(live.core.loop.run())
        live.create(*with_gpus("a"))
        with pytest.raises(ZeroDivisionError):
            await task
