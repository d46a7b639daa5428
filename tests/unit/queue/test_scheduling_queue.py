"""Who comes into the queue, who leaves it and who comes back."""

from collections.abc import Callable
from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.model.pod import Pod
from pilotage.queue.pending import Pending
from pilotage.testing import make_pod

NODE_ADD = Event(Resource.NODE, Action.ADD)


@pytest.fixture
def pod() -> Pod:
    return make_pod("a", uid="a")


class TestArrival:
    def test_a_new_pod_is_active(self, world: Any, pod: Pod) -> None:
        world.queue.add(pod)
        queued = world.queue.find("default/a")
        assert world.place(pod) == "active"
        assert (queued.timestamp, queued.initial_attempt_timestamp, queued.attempts) == (1000.25, 1000.25, 0)
        assert world.queue.incoming == {("active", "UnscheduledPodAdd"): 1}

    def test_a_gated_pod_is_not_and_its_time_has_not_begun(self, world: Any, pod: Pod) -> None:
        world.gate.shut("a", "waiting")
        world.queue.add(pod)
        queued = world.queue.find("default/a")
        assert world.place(pod) == "gated"
        assert (queued.gating_plugin, queued.gating_reason) == ("Gate", "waiting")
        assert queued.initial_attempt_timestamp is None
        assert world.queue.pop() is None
        assert world.queue.incoming == {("unschedulable", "UnscheduledPodAdd"): 1}

    def test_its_nomination_is_known(self, world: Any) -> None:
        world.queue.add(make_pod("a", status={"nominatedNodeName": "n1"}))
        assert [pod.name for pod in world.queue.nominator.pods_for_node("n1")] == ["a"]

    @pytest.mark.parametrize("place", ["active", "backoff", "unschedulable", "gated"])
    def test_a_successor_takes_the_place_of_the_pod_of_its_name(self, world: Any, place: str) -> None:
        pod = make_pod("a", uid="a", status={"nominatedNodeName": "n1"})
        world.bring(pod, place)
        successor = make_pod("a", uid="successor")
        world.queue.update(pod, successor)
        assert world.queue.find("default/a").pod is successor
        assert len(world.queue) == 1
        assert list(world.queue.nominator.nodes) == []

    def test_a_pod_in_flight_is_not_taken_in_again(self, world: Any, pod: Pod) -> None:
        world.take(pod)
        world.queue.add(pod)
        assert world.place(pod) == "in flight"
        assert world.queue.pop() is None


class TestTaking:
    def test_the_first_in_order(self, world: Any) -> None:
        for name, priority in (("a", 1), ("b", 9), ("c", 1)):
            world.queue.add(make_pod(name, priority=priority))
            world.clock.now += 1
        assert [world.pop().pod.name for _ in range(3)] == ["b", "a", "c"]
        assert world.queue.pop() is None
        assert world.queue.cycles == 3

    def test_an_attempt_is_counted(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        assert (queued.attempts, queued.place) == (1, None)
        world.queue.add_unschedulable(queued, ["Fit"])
        world.queue.activate([pod])
        assert world.pop().attempts == 2

    def test_trap_11_without_active_pods_a_rejected_one_is_taken_out_of_its_back_off(
        self, world: Any, pod: Pod
    ) -> None:
        world.bring(pod, "backoff")
        assert world.pop().pod is pod
        assert world.queue.incoming["active", "PopFromBackoffQ"] == 1

    def test_an_active_pod_goes_before_it(self, world: Any, pod: Pod) -> None:
        world.bring(pod, "backoff")
        world.queue.add(make_pod("b", priority=-5))
        assert world.pop().pod.name == "b"

    def test_traps_10_and_11_a_pod_that_met_an_error_waits_in_any_case(self, world: Any, pod: Pod) -> None:
        world.queue.add_unschedulable(world.take(pod))
        assert world.place(pod) == "backoff"
        assert world.queue.pop() is None
        world.clock.now = 1002
        world.queue.tick()
        assert world.pop().pod is pod


class TestTheWayBack:
    @pytest.mark.parametrize(
        ("history", "expected"),
        [
            pytest.param(["rejected"], (1, 0), id="a rejection"),
            pytest.param(["error"], (0, 1), id="an error"),
            pytest.param(["error", "error"], (0, 2), id="errors in a row"),
            pytest.param(["rejected", "error"], (1, 1), id="an error after a rejection"),
            pytest.param(["error", "error", "rejected"], (1, 0), id="a rejection ends the row"),
            pytest.param(["pending"], (1, 0), id="to be left pending is a rejection"),
        ],
    )
    def test_counts(self, world: Any, pod: Pod, history: list[str], expected: tuple[int, int]) -> None:
        world.queue.add(pod)
        for outcome in history:
            queued = world.pop()
            plugins = {"rejected": ({"Fit"}, ()), "pending": ((), {"Fit"}), "error": ((), ())}[outcome]
            world.queue.add_unschedulable(queued, *plugins)
            world.queue.activate([pod])
        assert (queued.unschedulable_count, queued.consecutive_errors) == expected

    def test_time_starts_anew(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        queued.was_flushed, queued.flush_timestamp, queued.backoff_expiration = True, 1000.0, 7.0
        world.clock.now += 5
        world.queue.add_unschedulable(queued, ["Fit"])
        assert (queued.timestamp, queued.initial_attempt_timestamp) == (1005.25, 1000.25)
        assert (queued.was_flushed, queued.flush_timestamp, queued.backoff_expiration) == (False, 0.0, None)

    def test_old_rejectors_and_gates_are_forgotten(self, world: Any, pod: Pod) -> None:
        world.gate.shut("a")
        world.queue.add(pod)
        world.gate.open()
        world.queue.activate([pod])
        queued = world.pop()
        assert queued.unschedulable_plugins == {"Gate"}
        world.queue.add_unschedulable(queued, ["Fit"], ["Taint"])
        assert (queued.unschedulable_plugins, queued.pending_plugins) == ({"Fit"}, {"Taint"})

    def test_a_rejected_pod_waits_for_an_event(self, world: Any, pod: Pod) -> None:
        world.park(pod)
        assert world.place(pod) == "unschedulable"
        assert world.queue.incoming["unschedulable", "ScheduleAttemptFailure"] == 1
        assert not world.queue.is_in_flight("a")

    def test_it_comes_back_as_it_is_now(self, world: Any, pod: Pod) -> None:
        queued, newer = world.take(pod), make_pod("a", uid="a", priority=5)
        world.queue.add_unschedulable(queued, ["Fit"], pod=newer)
        assert world.queue.find("default/a").pod is newer

    def test_a_pod_whose_successor_waits_already_does_not_come_back(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        world.queue.delete(pod)
        successor = make_pod("a", uid="successor")
        world.queue.add(successor)
        world.queue.add_unschedulable(queued, ["Fit"])
        assert world.queue.find("default/a").pod is successor
        assert not world.queue.is_in_flight("a")

    def test_a_gate_can_have_shut_meanwhile(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        world.gate.shut("a")
        world.queue.add_unschedulable(queued)
        assert world.place(pod) == "gated"

    def test_trap_24_after_done_a_pod_cannot_be_parked(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        world.queue.done("a")
        world.queue.add_unschedulable(queued, ["Fit"])
        assert world.place(pod) == "backoff"


class TestCounts:
    def test_by_place(self, world: Any) -> None:
        for number, place in enumerate(["gated", "backoff", "unschedulable", "unschedulable", "active", "active"]):
            world.bring(make_pod(f"pod-{number}", priority=number), place)
        assert world.queue.pending() == Pending(active=2, backoff=1, unschedulable=2, gated=1)
        assert len(world.queue) == 6
        assert len(list(world.queue)) == 6

    def test_by_rejector(self, world: Any) -> None:
        world.park(make_pod("a"), ["Fit", "Taint"])
        world.park(make_pod("b"), ["Fit"], ["Labels"])
        world.gate.shut("c")
        world.queue.add(make_pod("c"))
        default = "default-scheduler"
        assert world.queue.rejections() == {
            ("Fit", default): 2,
            ("Taint", default): 1,
            ("Labels", default): 1,
            ("Gate", default): 1,
        }

    def test_hints_can_be_observed(self, make_world: Callable[..., Any], pod: Pod) -> None:
        seen: list[tuple[Any, ...]] = []
        world = make_world(observe_hint=lambda *what: seen.append(what[:3]))
        world.park(pod)
        world.queue.move_all(NODE_ADD)
        assert seen == [("Fit", "NodeAdd", "Queue")]


def test_trap_48_one_order_serves_all_profiles(make_world: Callable[..., Any]) -> None:
    world = make_world(sort=lambda queued: queued.pod.name)
    for name, scheduler in (("c", "batch"), ("a", "default-scheduler"), ("b", "batch")):
        world.queue.add(make_pod(name, scheduler=scheduler))
    assert [world.pop().pod.name for _ in range(3)] == ["a", "b", "c"]


def test_nothing_is_nominated_to_pods_that_are_gone(make_world: Callable[..., Any], pod: Pod) -> None:
    world = make_world(known={"default/b": make_pod("b")}.get)
    world.queue.nominator.add(pod, "n1")
    world.queue.nominator.add(make_pod("b"), "n1")
    assert [each.name for each in world.queue.nominator.pods_for_node("n1")] == ["b"]
