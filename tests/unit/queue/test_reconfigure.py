"""Other profiles while pods wait: nobody is lost, and nobody waits for a plugin that is gone."""

from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.queue.active import by_priority
from pilotage.testing import make_pod

NODE_ADD = Event(Resource.NODE, Action.ADD)
SCHEDULER = "default-scheduler"


def test_the_new_order_holds_for_pods_that_wait(world: Any) -> None:
    for name in "cab":
        world.queue.add(make_pod(name))
    world.queue.reconfigure(lambda queued: queued.pod.name, lambda pod: [], world.retries)
    assert [world.pop().pod.name for _ in range(3)] == ["a", "b", "c"]


def test_pods_in_back_off_stay_there_and_sort_anew(world: Any) -> None:
    taken = [world.take(make_pod(name)) for name in ("b", "a", "error")]
    world.queue.move_all(NODE_ADD)
    for queued in taken:
        world.queue.add_unschedulable(queued, [] if queued.pod.name == "error" else ["Fit"])
    assert world.queue.pending().backoff == 3
    world.queue.reconfigure(lambda queued: queued.pod.name, lambda pod: [], world.retries)
    assert world.queue.pending().backoff == 3
    assert [world.pop().pod.name for _ in range(2)] == ["a", "b"]
    assert world.queue.pop() is None


@pytest.mark.parametrize("seconds", [0, 12], ids=["within back-off", "after back-off"])
def test_rejected_pods_get_another_try(world: Any, seconds: float) -> None:
    pod = make_pod("a")
    world.park(pod)
    world.clock.now += seconds
    world.queue.reconfigure(by_priority, lambda pod: [], {SCHEDULER: []})
    assert world.place(pod) == ("active" if seconds else "backoff")


def test_pods_whose_gate_is_gone_are_active(world: Any) -> None:
    pod = make_pod("a")
    world.gate.shut("a")
    world.queue.add(pod)
    world.queue.reconfigure(by_priority, lambda pod: [world.door], world.retries)
    assert world.place(pod) == "active"
    assert not world.queue.find("default/a").is_gated


@pytest.mark.parametrize("place", ["active", "backoff", "unschedulable"])
def test_a_new_gate_holds_for_pods_that_wait(world: Any, place: str) -> None:
    pod = make_pod("a")
    queued = world.take(pod)
    if place == "active":
        world.queue.done(pod.uid)
        world.queue.add(pod)
    else:
        world.queue.add_unschedulable(queued, ["Fit"] if place == "unschedulable" else [])
    assert world.place(pod) == place
    world.gate.shut("a")
    world.queue.reconfigure(by_priority, lambda pod: [world.gate], world.retries)
    assert world.place(pod) == "gated"
    assert world.queue.pop() is None


def test_pods_in_flight_get_another_try_on_return(world: Any) -> None:
    pod = make_pod("a")
    queued = world.take(pod)
    world.queue.reconfigure(by_priority, lambda pod: [], {SCHEDULER: []})
    world.queue.add_unschedulable(queued, ["Fit"])
    assert world.place(pod) == "backoff"


def test_new_hints_hold(world: Any) -> None:
    pod = make_pod("a")
    world.queue.reconfigure(by_priority, lambda pod: [], {SCHEDULER: []})
    world.park(pod)
    world.queue.move_all(NODE_ADD)
    assert world.place(pod) == "unschedulable"


def test_what_is_known_about_a_pod_stays(world: Any) -> None:
    pod = make_pod("a", status={"nominatedNodeName": "n1"})
    before = world.park(pod)
    facts = (before.attempts, before.timestamp, before.initial_attempt_timestamp, before.unschedulable_count)
    world.queue.reconfigure(by_priority, lambda pod: [], world.retries)
    after = world.queue.find("default/a")
    assert (after.attempts, after.timestamp, after.initial_attempt_timestamp, after.unschedulable_count) == facts
    assert world.queue.nominator.node_of(pod) == "n1"


def test_who_rests_because_of_a_plugin_does_not_with_other_profiles(world: Any) -> None:
    pod = make_pod("a")
    world.queue.add_unschedulable(world.take(pod), rest=300.0)
    world.clock.now += 12
    world.queue.flush_backoff()
    assert world.place(pod) == "backoff"
    world.queue.reconfigure(by_priority, lambda pod: [], world.retries)
    world.queue.flush_backoff()
    assert world.place(pod) == "active"
