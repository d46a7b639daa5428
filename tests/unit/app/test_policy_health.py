"""When a policy is told to do harm: every attempt is spoiled, or a plugin takes too long a few times."""

from collections.abc import Callable
from typing import Any

import pytest

from kit.live_core import LiveCore, One
from pilotage.app.policy_health import PolicyHealth
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.outcome import Unplaced
from pilotage.testing import make_pod

SPOILED = Unplaced("it raised", failed_plugin="Mine")
REJECTED = Unplaced("no room")
Step = Callable[["World"], None]


class World:
    """What is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.is_there = True
        self.policy_health = PolicyHealth(
            lambda name, plugin, message: self.told.append(f"{name} {plugin}: {message}"),
            lambda: self.told.append("well"),
        )

    def decided(self, outcome: Any, scheduler: str = "batch") -> None:
        self.policy_health.decided(queued(scheduler), outcome)

    def overran(self, scheduler: str = "batch") -> None:
        self.policy_health.overran(scheduler, "Mine", "too long", lambda: self.is_there)


def queued(scheduler: str) -> QueuedPod:
    return QueuedPod(make_pod("a", scheduler=scheduler), 0.0)


def spoiled(world: World) -> None:
    world.decided(SPOILED)


def rejected(world: World) -> None:
    world.decided(REJECTED)


def bound(world: World) -> None:
    world.policy_health.bound(queued("batch"))


def overran(world: World) -> None:
    world.overran()


def changed(world: World) -> None:
    world.policy_health.begin()


def replaced(world: World) -> None:
    world.is_there = False
    world.policy_health.begin()


RAISED, SLOW = "batch Mine: it raised", "batch Mine: too long"


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        pytest.param([spoiled] * 2, [], id="two attempts are not enough"),
        pytest.param([spoiled] * 5, [RAISED], id="three are, and told once"),
        pytest.param([bound, *[spoiled] * 5], [], id="one that worked speaks for it"),
        pytest.param([rejected, *[spoiled] * 5], [], id="so does one in which no plugin failed"),
        pytest.param([*[spoiled] * 3, bound], [RAISED, "well"], id="also later"),
        pytest.param([*[spoiled] * 2, changed, spoiled], [], id="a change begins anew"),
        pytest.param([overran] * 2, [], id="two calls that took too long"),
        pytest.param([overran] * 4, [SLOW], id="three, and told once"),
        pytest.param([overran, bound, overran, bound, overran, bound], [SLOW], id="whatever worked meanwhile"),
        pytest.param([*[spoiled] * 3, *[overran] * 3, bound], [RAISED, SLOW, "well", SLOW], id="and is not forgotten"),
        pytest.param([*[overran] * 3, changed], [SLOW, SLOW], id="a change of something else does not help"),
        pytest.param([*[overran] * 3, replaced], [SLOW], id="another plugin in its place does"),
    ],
)
def test_what_is_told(steps: list[Step], told: list[str]) -> None:
    world = World()
    for step in steps:
        step(world)
    assert world.told == told


def test_profiles_are_judged_apart() -> None:
    world = World()
    for scheduler in ("one", "two", "one", "two"):
        world.overran(scheduler)
    assert world.told == []
    world.overran("two")
    assert world.told == ["two Mine: too long"]


@pytest.mark.parametrize("step", ["reserve", "pre_bind"])
@pytest.mark.looptime
async def test_it_hears_of_attempts_without_any_metrics(step: str) -> None:
    faults = [ValueError("no")]

    def answer() -> None:
        if faults:
            raise faults[0]

    live, world = LiveCore(One(answers={step: answer})), World()
    world.policy_health.watch(live.core.loop, live.core.bindings)
    live.add_node()
    live.create(*(make_pod(name, uid=name, cpu="1m") for name in ("a", "b")))
    await live.settle()
    assert world.told == []
    live.create(make_pod("c", uid="c", cpu="1m"))
    await live.settle()
    assert len(world.told) == 1
    assert "One" in world.told[0]
    faults.clear()
    live.create(make_pod("d", uid="d", cpu="1m"))
    await live.settle()
    assert world.told[1:] == ["well"]
