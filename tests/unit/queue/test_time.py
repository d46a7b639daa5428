"""What the passing of time does."""

from collections.abc import Callable
from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.model.pod import Pod
from pilotage.queue.sweep import SWEEP_EVERY
from pilotage.testing import make_pod

NODE_ADD = Event(Resource.NODE, Action.ADD)


@pytest.fixture
def pod() -> Pod:
    return make_pod("a", uid="a")


class TestTime:
    def test_back_off_ends_with_a_whole_second(self, world: Any) -> None:
        pods = [make_pod(name) for name in ("a", "b")]
        for queued in [world.take(pod) for pod in pods]:
            world.queue.add_unschedulable(queued)
            world.clock.now += 0.8
        assert world.clock.now == pytest.approx(1001.85)  # failed at 1000.25 and at 1001.05
        assert world.queue.next_wake_up() == 1002
        world.queue.tick()
        assert world.places(*pods) == ["backoff", "backoff"]
        world.clock.now = 1002.0
        world.queue.tick()
        assert world.places(*pods) == ["active", "backoff"]
        assert world.queue.incoming["active", "BackoffComplete"] == 1
        world.clock.now = world.queue.next_wake_up()
        world.queue.tick()
        assert world.places(*pods) == ["active", "active"]
        assert world.queue.next_wake_up() is None

    @pytest.mark.parametrize("place", ["unschedulable", "gated"])
    def test_pods_that_wait_for_too_long_get_another_try(self, world: Any, pod: Pod, place: str) -> None:
        world.bring(pod, place)
        queued = world.queue.find("default/a")
        world.clock.now += 300
        world.queue.flush_unschedulable()
        assert world.place(pod) == place
        world.clock.now += 0.1
        world.queue.flush_unschedulable()
        assert world.place(pod) == "active"
        assert (queued.was_flushed, queued.flush_timestamp) == (True, world.clock.now)
        assert world.queue.incoming["active", "UnschedulableTimeout"] == 1

    def test_a_gate_that_stays_shut_is_asked_every_five_minutes(self, world: Any, pod: Pod) -> None:
        world.gate.shut("a")
        world.queue.add(pod)
        for _ in range(40):
            world.clock.now += 30
            world.queue.tick()
        queued = world.queue.find("default/a")
        assert (queued.is_gated, queued.was_flushed, queued.timestamp) == (True, False, 1000.25)
        assert len(world.gate.asked) == 1 + 1200 // 330

    def test_the_look_for_them_is_taken_every_thirty_seconds(self, world: Any, pod: Pod) -> None:
        assert world.queue.next_wake_up() is None
        world.park(pod)
        assert world.queue.next_wake_up() == 1000.25 + SWEEP_EVERY
        world.clock.now += 30
        world.queue.tick()
        assert world.queue.next_wake_up() == 1000.25 + 2 * SWEEP_EVERY
        world.clock.now = 1000.25 + 330
        world.queue.tick()
        assert world.place(pod) == "active"

    def test_limits_can_be_set(self, make_world: Callable[..., Any], pod: Pod) -> None:
        world = make_world(initial_backoff=4, max_backoff=6, longest_unschedulable=60)
        world.park(pod)
        world.clock.now += 61
        world.queue.flush_unschedulable()
        world.queue.add_unschedulable(world.pop())
        world.clock.now += 4
        world.queue.tick()
        assert world.place(pod) == "backoff"
        world.clock.now += 1
        world.queue.tick()
        assert world.place(pod) == "active"


class TestAlarms:
    """A plugin may name the time of the next try."""

    def test_a_pod_gets_another_try_when_its_time_has_come(self, world: Any, pod: Pod) -> None:
        world.queue.add_unschedulable(world.take(pod), ["Fit"], again_at=1010.5)
        assert world.queue.next_wake_up() == 1010.5
        world.clock.now = 1010.4
        world.queue.tick()
        assert world.place(pod) == "unschedulable"
        world.clock.now = 1010.5
        world.queue.tick()
        assert world.place(pod) == "active"
        assert world.queue.incoming["active", "RetryDue"] == 1

    def test_only_those_whose_time_it_is(self, world: Any) -> None:
        pods = [make_pod(name) for name in "abc"]
        for queued, again_at in zip([world.take(pod) for pod in pods], (1030.0, 1020.0, None), strict=True):
            world.queue.add_unschedulable(queued, ["Fit"], again_at=again_at)
        world.clock.now = 1025.0
        world.queue.tick()
        assert world.places(*pods) == ["unschedulable", "active", "unschedulable"]

    def test_back_off_is_kept_and_a_time_that_is_past_is_due_at_once(self, world: Any, pod: Pod) -> None:
        world.queue.add_unschedulable(world.take(pod), ["Fit"], again_at=1.0)
        world.queue.tick()
        assert world.place(pod) == "backoff"

    def test_an_event_may_come_first_and_the_next_attempt_sets_its_own_time(self, world: Any, pod: Pod) -> None:
        world.queue.add_unschedulable(world.take(pod), ["Fit"], again_at=1020.0)
        world.wait_for_backoff()
        world.queue.move_all(NODE_ADD)
        world.queue.add_unschedulable(world.pop(), ["Fit"])
        world.clock.now = 1025.0
        world.queue.tick()
        assert world.place(pod) == "unschedulable"

    def test_a_pod_that_is_gone_has_no_time(self, world: Any, pod: Pod) -> None:
        world.queue.add_unschedulable(world.take(pod), ["Fit"], again_at=1020.0)
        world.queue.delete(pod)
        world.clock.now = 1025.0
        world.queue.tick()
        assert world.place(pod) == "nowhere"
        assert world.queue.next_wake_up() is None
