"""Updates, deletions and activations of pods, wherever they are."""

from typing import Any

import pytest

from pilotage.model.pod import Pod
from pilotage.queue.pending import Pending
from pilotage.testing import make_pod


@pytest.fixture
def pod() -> Pod:
    return make_pod("a", uid="a")


class TestUpdates:
    @pytest.mark.parametrize("place", ["active", "backoff"])
    def test_trap_19_of_ready_pods_ask_neither_gates_nor_hints(self, world: Any, pod: Pod, place: str) -> None:
        world.bring(pod, place)
        world.gate.shut("a")
        asked = len(world.gate.asked)
        newer = make_pod("a", uid="a", labels={"x": "1"}, gates=["x"])
        world.queue.update(pod, newer)
        assert world.place(newer) == place
        assert world.queue.find("default/a").pod is newer
        assert (len(world.gate.asked), world.labels.asked) == (asked, [])

    @pytest.mark.parametrize("place", ["active", "backoff"])
    def test_their_order_follows(self, world: Any, pod: Pod, place: str) -> None:
        other = make_pod("b", priority=1)
        world.bring(other, place)
        world.bring(pod, place)
        newer = make_pod("a", uid="a", priority=2)
        world.queue.update(pod, newer)
        assert [world.pop().pod, world.pop().pod] == [newer, other]

    @pytest.mark.parametrize(
        ("plugins", "seconds", "expected"),
        [
            pytest.param(["Labels"], 12, "active", id="what its rejector waits for"),
            pytest.param(["Labels"], 0, "backoff", id="what its rejector waits for, within the back-off"),
            pytest.param(["Fit"], 12, "unschedulable", id="what its rejector does not wait for"),
        ],
    )
    def test_of_rejected_pods(self, world: Any, pod: Pod, plugins: list[str], seconds: float, expected: str) -> None:
        world.park(pod, plugins)
        world.clock.now += seconds
        newer = make_pod("a", uid="a", labels={"x": "1"})
        world.queue.update(pod, newer)
        assert world.place(newer) == expected
        assert world.queue.find("default/a").pod is newer

    def test_the_first_change_that_helps_is_enough(self, world: Any, pod: Pod) -> None:
        world.park(pod, ["Labels", "Gate"])
        world.wait_for_backoff()
        gated = make_pod("a", uid="a", gates=["x"])
        world.queue.update(gated, make_pod("a", uid="a", labels={"x": "1"}))
        assert world.queue.incoming["active", "TargetPodUpdatePodLabel"] == 1
        assert world.queue.incoming["active", "TargetPodUpdatePodSchedulingGatesEliminated"] == 0

    def test_of_an_unknown_pod_it_is_new(self, world: Any, pod: Pod) -> None:
        world.queue.update(pod, pod)
        assert world.place(pod) == "active"

    @pytest.mark.parametrize("place", ["active", "backoff", "unschedulable", "gated"])
    def test_the_nomination_of_a_node_is_kept_until_the_status_says_otherwise(
        self, world: Any, pod: Pod, place: str
    ) -> None:
        world.bring(pod, place)
        world.queue.nominator.add(pod, "n1")
        newer = make_pod("a", uid="a")
        world.queue.update(pod, newer)
        assert world.queue.nominator.node_of(newer) == "n1"
        newest = make_pod("a", uid="a", status={"nominatedNodeName": "n2"})
        world.queue.update(newer, newest)
        assert world.queue.nominator.pods_for_node("n2") == [newest]

    def test_trap_27_while_it_is_in_flight_the_nomination_is_to_nobody_in_particular(self, world: Any) -> None:
        pod = make_pod("a", priority=7, cpu="1")
        world.queue.add(pod)
        world.queue.nominator.add(pod, "n1")
        assert [each.priority for each in world.queue.nominator.pods_for_node("n1")] == [7]
        queued = world.pop()
        assert [each.priority for each in world.queue.nominator.pods_for_node("n1")] == [0]
        world.queue.add_unschedulable(queued, ["Fit"])
        assert [each.priority for each in world.queue.nominator.pods_for_node("n1")] == [7]


class TestDeletion:
    @pytest.mark.parametrize("place", ["active", "backoff", "unschedulable", "gated"])
    def test_a_pod_is_gone_wherever_it_was(self, world: Any, pod: Pod, place: str) -> None:
        world.bring(pod, place)
        world.queue.nominator.add(pod, "n1")
        world.queue.delete(pod)
        assert world.place(pod) == "nowhere"
        assert world.queue.pending() == Pending(0, 0, 0, 0)
        assert world.queue.nominator.pods_for_node("n1") == []
        world.queue.delete(pod)

    def test_its_successor_stays(self, world: Any, pod: Pod) -> None:
        world.queue.add(make_pod("a", uid="successor"))
        world.queue.delete(pod)
        assert len(world.queue) == 1

    def test_of_a_pod_in_flight_the_nomination_ends(self, world: Any, pod: Pod) -> None:
        world.take(pod)
        world.queue.nominator.add(pod, "n1")
        world.queue.delete(pod)
        assert world.queue.nominator.node_of(pod) is None
        assert world.place(pod) == "in flight"


class TestActivation:
    @pytest.mark.parametrize("place", ["backoff", "unschedulable", "gated", "active"])
    def test_a_pod_is_active_at_once(self, world: Any, pod: Pod, place: str) -> None:
        world.bring(pod, place)
        world.queue.activate([pod, make_pod("unknown")])
        assert world.place(pod) == "active"
        assert len(world.queue) == 1
        assert world.queue.incoming["active", "ForceActivate"] == (place != "active")

    @pytest.mark.parametrize(
        ("place", "expected"),
        [("unschedulable", "gated"), ("gated", "gated"), ("backoff", "active")],
    )
    def test_gates_are_asked_unless_they_were(self, world: Any, pod: Pod, place: str, expected: str) -> None:
        world.bring(pod, place)
        world.gate.shut("a")
        world.queue.activate([pod])
        assert world.place(pod) == expected
