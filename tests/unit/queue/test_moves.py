"""Events, and whom they move; gates, and whom they keep."""

from collections.abc import Callable
from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.model.gangs import BY_LABELS, MIN_LABEL, NAME_LABEL, GangName
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

NODE_ADD = Event(Resource.NODE, Action.ADD)
NODE_LABEL = Event(Resource.NODE, Action.UPDATE_NODE_LABEL)
POD_DELETE = Event(Resource.ASSIGNED_POD, Action.DELETE)


@pytest.fixture
def pod() -> Pod:
    return make_pod("a", uid="a")


class TestEvents:
    @pytest.mark.parametrize(
        ("plugins", "event", "expected"),
        [
            pytest.param(["Fit"], NODE_ADD, "active", id="what the rejector waits for"),
            pytest.param(["Fit", "Labels"], POD_DELETE, "active", id="what one of the rejectors waits for"),
            pytest.param(["Taint"], POD_DELETE, "unschedulable", id="what somebody else waits for"),
            pytest.param(["Fit"], NODE_LABEL, "unschedulable", id="what nobody waits for"),
            pytest.param(["Stranger"], NODE_ADD, "unschedulable", id="a rejector that waits for nothing"),
        ],
    )
    def test_who_is_moved(self, world: Any, pod: Pod, plugins: list[str], event: Event, expected: str) -> None:
        world.park(pod, plugins)
        world.wait_for_backoff()
        world.queue.move_all(event)
        assert world.place(pod) == expected

    @pytest.mark.parametrize(
        ("seconds", "pending", "expected"),
        [
            pytest.param(0.0, [], "backoff", id="within the back-off"),
            pytest.param(1.7, [], "backoff", id="in its last second"),
            pytest.param(1.75, [], "active", id="after the back-off"),
            pytest.param(0.0, ["Taint"], "active", id="a pending plugin cuts it short"),
        ],
    )
    def test_back_off_counts_from_the_failure(
        self, world: Any, pod: Pod, seconds: float, pending: list[str], expected: str
    ) -> None:
        world.park(pod, ["Fit"], pending)
        world.clock.now += seconds
        world.queue.move_all(NODE_ADD)
        assert world.place(pod) == expected

    def test_timestamps_stay(self, world: Any, pod: Pod) -> None:
        queued = world.park(pod)
        world.wait_for_backoff()
        world.queue.move_all(NODE_ADD)
        assert queued.timestamp == 1000.25
        assert world.queue.incoming["active", "NodeAdd"] == 1

    def test_only_pods_that_pass_the_check(self, world: Any) -> None:
        low, high = make_pod("low", priority=1), make_pod("high", priority=9)
        world.park(low)
        world.park(high)
        world.wait_for_backoff()
        world.queue.move_all(POD_DELETE, precheck=lambda pod: pod.priority <= 5)
        assert world.places(low, high) == ["active", "unschedulable"]

    def test_a_hint_that_fails_stops_nobody(self, world: Any) -> None:
        one, other = make_pod("a"), make_pod("b")
        world.park(one, ["Fit"])
        world.park(other, ["Taint"])
        world.fit.answer = ValueError("no")
        world.wait_for_backoff()
        world.queue.move_all(NODE_ADD)
        assert world.places(one, other) == ["active", "active"]

    @pytest.mark.parametrize(
        ("named", "rejectors", "asked"),
        [
            pytest.param("one", ["Fit"], ["one"], id="only the pods of the gang that the change concerns"),
            pytest.param(None, ["Fit"], [], id="a change that concerns no gang"),
            pytest.param("other", ["Fit", "Taint"], ["one", "other"], id="another rejector waits for it, too"),
            pytest.param(ValueError("no"), ["Fit"], ["one", "other"], id="all, where the plugin cannot tell"),
        ],
    )
    def test_a_change_for_one_gang_asks_nobody_else(
        self, make_world: Callable[..., Any], named: str | Exception | None, rejectors: list[str], asked: list[str]
    ) -> None:
        def only_gang(old: Any, new: Any) -> GangName | None:
            if isinstance(named, Exception):
                raise named
            return None if named is None else GangName(BY_LABELS, "default", named)

        plugins = make_world()
        fit, taint = plugins.fit, plugins.taint
        fit.only_gang = only_gang
        narrow = Retry(Resource.NODE, Action.ADD, "hint", only_gang="only_gang")
        wide = Retry(Resource.NODE, Action.ADD, "hint")
        world = make_world(retries={"default-scheduler": [(fit, narrow), (taint, wide)]})
        pods = [make_pod(name, labels={NAME_LABEL: name, MIN_LABEL: "2"}) for name in ("one", "other")]
        for pod in pods:
            world.park(pod, rejectors)
        world.wait_for_backoff()
        world.queue.move_all(NODE_ADD)
        assert sorted({name for plugin in (fit, taint) for name, *_ in plugin.asked}) == asked
        assert [place == "active" for place in world.places(*pods)] == [pod.name in asked for pod in pods]

    @pytest.mark.parametrize(
        ("named", "rejectors", "asked"),
        [
            pytest.param(["default/one", "default/gone"], ["Fit"], ["one"], id="only the pods that it concerns"),
            pytest.param([], ["Fit"], [], id="a change that concerns no pod"),
            pytest.param(None, ["Fit"], ["one", "other"], id="a change that may concern any"),
            pytest.param(["default/one"], ["Fit", "Taint"], ["one", "other"], id="another rejector waits for it, too"),
            pytest.param(ValueError("no"), ["Fit"], ["one", "other"], id="all, where the plugin cannot tell"),
        ],
    )
    def test_a_change_for_some_pods_asks_nobody_else(
        self,
        make_world: Callable[..., Any],
        named: list[str] | Exception | None,
        rejectors: list[str],
        asked: list[str],
    ) -> None:
        def only_pods(old: Any, new: Any) -> list[str] | None:
            if isinstance(named, Exception):
                raise named
            return named

        plugins = make_world()
        fit, taint = plugins.fit, plugins.taint
        fit.only_pods = only_pods
        narrow = Retry(Resource.NODE, Action.ADD, "hint", only_pods="only_pods")
        wide = Retry(Resource.NODE, Action.ADD, "hint")
        world = make_world(retries={"default-scheduler": [(fit, narrow), (taint, wide)]})
        pods = [make_pod(name) for name in ("one", "other")]
        for pod in pods:
            world.park(pod, rejectors)
        world.wait_for_backoff()
        world.queue.move_all(NODE_ADD)
        assert sorted({name for plugin in (fit, taint) for name, *_ in plugin.asked}) == asked

    def test_profiles_are_apart(self, make_world: Callable[..., Any]) -> None:
        world = make_world()
        world = make_world(retries=world.retries | {"batch": []})
        one, other = make_pod("a"), make_pod("b", scheduler="batch")
        world.park(one)
        world.park(other)
        world.wait_for_backoff()
        world.queue.move_all(NODE_ADD)
        assert world.places(one, other) == ["active", "unschedulable"]


class TestGates:
    @pytest.mark.parametrize(
        ("event", "open_", "expected", "asked"),
        [
            pytest.param(POD_DELETE, True, "active", 3, id="an event that its gate waits for, and the gate opens"),
            pytest.param(POD_DELETE, False, "gated", 2, id="an event that its gate waits for, but it stays shut"),
            pytest.param(NODE_ADD, True, "gated", 1, id="any other event: the gate is not even asked"),
        ],
    )
    def test_events(self, world: Any, pod: Pod, event: Event, open_: bool, expected: str, asked: int) -> None:
        world.door.shut("a")
        world.queue.add(pod)
        if open_:
            world.door.open()
        world.queue.move_all(event)
        assert world.place(pod) == expected
        assert len(world.door.asked) == asked

    def test_its_earlier_rejectors_do_not_wake_a_gated_pod(self, world: Any, pod: Pod) -> None:
        world.park(pod)
        world.gate.shut("a")
        world.queue.activate([pod])
        assert world.place(pod) == "gated"
        world.gate.open()
        world.queue.move_all(NODE_ADD)
        assert world.place(pod) == "gated"
        assert world.fit.asked == []

    def test_trap_47_when_its_gates_are_gone_a_pod_is_active_at_once(self, world: Any) -> None:
        gated, free = make_pod("a", uid="a", gates=["x"]), make_pod("a", uid="a")
        world.gate.shut("a")
        world.queue.add(gated)
        world.gate.open()
        world.clock.now += 3
        world.queue.update(gated, free)
        assert world.place(free) == "active"
        assert world.queue.find("default/a").initial_attempt_timestamp == 1003.25
        assert world.queue.incoming["active", "TargetPodUpdatePodSchedulingGatesEliminated"] == 1

    def test_any_other_update_leaves_it_where_it_is(self, world: Any) -> None:
        gated = make_pod("a", uid="a", gates=["x", "y"])
        world.gate.shut("a")
        world.queue.add(gated)
        world.gate.open()
        world.queue.update(gated, make_pod("a", uid="a", gates=["x"]))
        assert world.place(gated) == "gated"

    def test_two_gates_one_after_the_other(self, world: Any, pod: Pod) -> None:
        world.gate.shut("a")
        world.door.shut("a", "not you")
        world.queue.add(pod)
        world.gate.open()
        world.queue.activate([pod])
        queued = world.queue.find("default/a")
        assert (world.place(pod), queued.gating_plugin, queued.gating_reason) == ("gated", "Door", "not you")
        world.door.open()
        world.queue.move_all(POD_DELETE)
        assert world.place(pod) == "active"

    def test_gates_are_asked_on_the_way_into_back_off_and_not_out_of_it(self, world: Any, pod: Pod) -> None:
        world.park(pod)
        world.gate.shut("a")
        world.queue.move_all(NODE_ADD)
        assert world.place(pod) == "gated"
        world.gate.open()
        world.queue.activate([pod])
        world.queue.add_unschedulable(world.pop())
        assert world.place(pod) == "backoff"
        world.gate.shut("a")
        world.wait_for_backoff()
        world.queue.tick()
        assert world.place(pod) == "active"
