"""What happens while a pod is in flight."""

from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.model.pod import Pod
from pilotage.testing import make_node, make_pod

NODE_ADD = Event(Resource.NODE, Action.ADD)
POD_DELETE = Event(Resource.ASSIGNED_POD, Action.DELETE)
NOBODYS = Event(Resource.CSI_NODE, Action.ADD)


@pytest.fixture
def pod() -> Pod:
    return make_pod("a", uid="a")


class TestWhatHappensInFlight:
    """Events that come while a pod is being tried count when it returns to the queue."""

    @pytest.mark.parametrize(
        ("pending", "expected"),
        [
            pytest.param([], "backoff", id="something that helps"),
            pytest.param(["Taint"], "active", id="something that a pending plugin waits for"),
        ],
    )
    def test_it_counts_on_return(self, world: Any, pod: Pod, pending: list[str], expected: str) -> None:
        queued = world.take(pod)
        world.queue.move_all(NODE_ADD)
        world.queue.add_unschedulable(queued, ["Fit"], pending)
        assert world.place(pod) == expected

    def test_what_does_not_help_does_not_count(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        world.fit.answer = False
        world.queue.move_all(NODE_ADD)
        world.queue.add_unschedulable(queued, ["Fit"])
        assert world.place(pod) == "unschedulable"

    def test_what_happened_before_does_not_count(self, world: Any, pod: Pod) -> None:
        world.take(make_pod("earlier"))
        world.queue.move_all(NODE_ADD)
        world.park(pod)
        assert world.place(pod) == "unschedulable"
        assert world.fit.asked == []

    def test_events_are_replayed_in_order_until_one_helps(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        nodes = [make_node(name) for name in ("n1", "n2", "n3")]
        for node in nodes:
            world.queue.move_all(NODE_ADD, None, node)
        world.fit.answer = False
        world.queue.add_unschedulable(queued, ["Fit"])
        assert [new for _, _, _, new in world.fit.asked] == nodes
        world.fit.answer = True
        world.queue.activate([pod])
        queued = world.pop()
        for node in nodes:
            world.queue.move_all(NODE_ADD, None, node)
        world.fit.asked.clear()
        world.queue.add_unschedulable(queued, ["Fit"])
        assert [new for _, _, _, new in world.fit.asked] == nodes[:1]

    def test_a_better_event_may_come_later_for_a_pending_plugin(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        world.queue.move_all(POD_DELETE)
        world.queue.move_all(NODE_ADD)
        world.queue.add_unschedulable(queued, ["Fit"], ["Taint"])
        assert world.place(pod) == "active"

    def test_events_that_interest_nobody_are_not_kept(self, world: Any, pod: Pod) -> None:
        world.take(pod)
        world.queue.move_all(NOBODYS)
        assert world.queue.in_flight_counts() == {"PodPopped": 1}
        world.queue.move_all(NODE_ADD)
        assert world.queue.in_flight_counts() == {"PodPopped": 1, "NodeAdd": 1}

    def test_an_update_of_the_pod_itself_counts(self, world: Any, pod: Pod) -> None:
        queued = world.take(pod)
        newer = make_pod("a", uid="a", labels={"x": "1"})
        world.queue.update(pod, newer)
        assert world.place(pod) == "in flight"
        world.queue.add_unschedulable(queued, ["Labels"], pod=newer)
        assert world.place(pod) == "backoff"
        assert world.labels.asked == [("a", "TargetPodUpdatePodLabel", pod, newer)]

    def test_a_pod_that_is_activated_counts(self, world: Any, pod: Pod) -> None:
        queued, other = world.take(pod), world.take(make_pod("b"))
        world.queue.activate([pod])
        world.queue.add_unschedulable(other, ["Fit"])
        world.queue.add_unschedulable(queued, ["Fit"])
        assert world.places(pod, other.pod) == ["backoff", "unschedulable"]

    def test_the_timeout_of_others_counts(self, world: Any, pod: Pod) -> None:
        world.park(make_pod("b"))
        world.clock.now += 301
        queued = world.take(pod)
        world.queue.flush_unschedulable()
        world.queue.add_unschedulable(queued, ["Labels"])
        assert world.place(pod) == "backoff"
