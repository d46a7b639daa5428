"""Pods that wait for permission: who decides, what they are told, and that nothing of them is left behind."""

import asyncio
from collections.abc import Callable

import pytest

from pilotage.framework.api.verdicts import PluginFailed, Rejection, Wait
from pilotage.framework.api.waiting import WaitingPod, WaitingPods
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

POD = make_pod("a", uid="a", node="n1")
Decision = Rejection | None | str  # a text stands for PluginFailed

Deed = Callable[[WaitingPod], object]


def allow(plugin: str) -> Deed:
    return lambda pod: pod.allow(plugin)


def reject(plugin: str, message: str = "no") -> Deed:
    return lambda pod: pod.reject(plugin, message)


def preempt(pod: WaitingPod) -> bool:
    return pod.preempt("preempted")


async def decided(waiting: WaitingPods, uid: str = "a") -> Decision:
    try:
        return await waiting.wait(uid)
    except PluginFailed as error:
        return str(error)


def expecting(**seconds: float) -> WaitingPods:
    waiting = WaitingPods()
    waiting.expect(POD, {plugin: Wait(each) for plugin, each in seconds.items()})
    return waiting


@pytest.mark.parametrize(
    ("deeds", "expected"),
    [
        pytest.param([allow("One"), allow("Two")], None, id="when all have allowed it, it goes"),
        pytest.param([allow("One"), reject("Two")], Rejection("no", plugin="Two"), id="one rejection is enough"),
        pytest.param(
            [reject("One"), preempt], Rejection("no", plugin="One"), id="a rejection before a preemption counts"
        ),
        pytest.param(
            [preempt, reject("One")], "waiting on permit for pod: preempted", id="who is preempted is not blamed"
        ),
        pytest.param(
            [allow("One"), allow("Two"), reject("Two"), preempt],
            None,
            id="what comes after the last permission is late",
        ),
        pytest.param(
            [allow("Stranger"), allow("One"), allow("One"), allow("Two")], None, id="nobody can allow for another one"
        ),
        pytest.param([reject("Stranger", "mine")], Rejection("mine", plugin="Stranger"), id="but anybody can reject"),
    ],
)
async def test_the_first_decision_counts(deeds: list[Deed], expected: Decision) -> None:
    waiting = expecting(One=60, Two=60)
    found = waiting.get("a")
    assert found is not None
    for deed in deeds:
        deed(found)
    assert await decided(waiting) == expected


async def test_whoever_decides_too_late_is_told_so() -> None:
    waiting = expecting(One=60)
    [found] = waiting
    assert found.reject("One", "no")
    assert not found.reject("One", "again")
    assert not found.preempt("preempted")
    assert not waiting.remove("a")


@pytest.mark.parametrize(
    ("seconds", "message", "ended"),
    [
        pytest.param(
            {"One": 300.0}, "rejected due to timeout after waiting 5m0s at plugin One", 300.0, id="in Go's words"
        ),
        pytest.param(
            {"One": 90.0, "Two": 1.5},
            "rejected due to timeout after waiting 1.5s at plugin Two",
            1.5,
            id="the shortest time counts",
        ),
        pytest.param({"One": 0.0}, "rejected due to timeout after waiting 0s at plugin One", 0.0, id="no time at all"),
    ],
)
async def test_time_is_up(seconds: dict[str, float], message: str, ended: float) -> None:
    waiting = expecting(**seconds)
    start = asyncio.get_running_loop().time()
    found = await decided(waiting)
    assert isinstance(found, Rejection)
    assert found.message == message
    assert found.plugin == message.split()[-1]
    assert asyncio.get_running_loop().time() - start == pytest.approx(ended)


async def test_the_time_of_a_plugin_that_has_allowed_it_does_not_run_out() -> None:
    waiting = expecting(One=1, Two=100)
    [found] = waiting
    found.allow("One")
    assert found.pending_plugins == {"Two"}
    await asyncio.sleep(50)
    found.allow("Two")
    assert await decided(waiting) is None


async def test_a_pod_that_is_removed_is_sent_back_by_nobody() -> None:
    waiting = expecting(One=60)
    assert not waiting.remove("b")
    assert waiting.remove("a")
    assert await decided(waiting) == Rejection("removed", plugin="")


async def test_who_waits_is_found_until_it_was_decided() -> None:
    waiting = expecting(One=60)
    assert len(waiting) == 1
    [found] = waiting
    assert found.pod is POD
    task = asyncio.create_task(decided(waiting))
    await asyncio.sleep(0)
    assert waiting.get("a") is found
    found.allow("One")
    assert await task is None
    assert len(waiting) == 0
    assert waiting.get("a") is None


async def test_a_pod_whose_binding_failed_before_it_waited_leaves_nothing_behind() -> None:
    waiting = expecting(One=60)
    [found] = waiting
    waiting.forget("a")
    waiting.forget("a")
    assert len(waiting) == 0
    assert not found.reject("One", "no")
    assert not found.preempt("preempted")
    assert all(timer.cancelled() for timer in found._timers.values())
    found.allow("One")
    await asyncio.sleep(100)


async def test_one_that_was_preempted_before_that_neither() -> None:
    waiting = expecting(One=60)
    [found] = waiting
    assert found.preempt("preempted")
    waiting.forget("a")  # an exception that nobody looks at would be told when it is collected
    del found


async def test_waiting_ends_when_the_waiter_is_cancelled() -> None:
    waiting, told = expecting(One=60), []
    waiting.on_ended.connect(lambda result, seconds: told.append(result))
    task = asyncio.create_task(waiting.wait("a"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(waiting) == 0
    assert told == ["Error"]


@pytest.mark.parametrize(
    ("deed", "result"),
    [
        pytest.param(allow("One"), "Success", id="allowed"),
        pytest.param(reject("One"), "Unschedulable", id="rejected"),
        pytest.param(preempt, "Error", id="preempted"),
    ],
)
async def test_what_the_metric_says(deed: Deed, result: str) -> None:
    waiting, told = expecting(One=60), []
    waiting.on_ended.connect(lambda result, seconds: told.append((result, seconds >= 0)))
    [found] = waiting
    deed(found)
    await decided(waiting)
    assert told == [(result, True)]
