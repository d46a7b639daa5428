from typing import Any

import pytest

from pilotage.framework.events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, Action, Event, Resource, Retry
from pilotage.queue.hints import AFTER_BACKOFF, IMMEDIATELY, SKIP, Hints, Strategy
from pilotage.queue.queued_pod import QueuedPod
from pilotage.testing import make_node, make_pod

NODE_ADD = Event(Resource.NODE, Action.ADD)
POD = make_pod("a", uid="a")


def rejected(plugins: set[str], pending: set[str] | None = None, scheduler: str | None = None) -> QueuedPod:
    queued = QueuedPod(make_pod("a", uid="a", scheduler=scheduler), 0)
    queued.unschedulable_plugins, queued.pending_plugins = plugins, pending or set()
    return queued


@pytest.fixture
def hints(world: Any) -> Hints:
    return Hints(world.retries)


def strategy(hints: Hints, queued: QueuedPod, event: Event = NODE_ADD, old: Any = None, new: Any = None) -> Strategy:
    return hints.occasion(event, old, new).strategy(queued)


@pytest.mark.parametrize(
    ("rejectors", "pending", "no", "expected"),
    [
        pytest.param(set(), set(), set(), AFTER_BACKOFF, id="an error: anything is worth a try"),
        pytest.param({"Fit"}, set(), set(), AFTER_BACKOFF, id="the rejector says yes"),
        pytest.param({"Fit"}, set(), {"Fit"}, SKIP, id="the rejector says no"),
        pytest.param({"Labels"}, set(), set(), SKIP, id="the rejector waits for something else"),
        pytest.param({"Stranger"}, set(), set(), SKIP, id="the rejector waits for nothing"),
        pytest.param({"Fit", "Taint"}, set(), {"Fit"}, AFTER_BACKOFF, id="one of two rejectors says yes"),
        pytest.param({"Fit", "Labels"}, set(), set(), AFTER_BACKOFF, id="one of two rejectors waits for it"),
        pytest.param(set(), {"Fit"}, set(), IMMEDIATELY, id="trap 16: a plugin that left it pending says yes"),
        pytest.param(set(), {"Fit"}, {"Fit"}, SKIP, id="a plugin that left it pending says no"),
        pytest.param({"Fit"}, {"Taint"}, set(), IMMEDIATELY, id="both say yes: the better counts"),
        pytest.param({"Fit"}, {"Taint"}, {"Taint"}, AFTER_BACKOFF, id="only the rejector says yes"),
        pytest.param({"Fit"}, {"Fit"}, set(), IMMEDIATELY, id="a plugin that is both"),
    ],
)
def test_decisions(
    world: Any, hints: Hints, rejectors: set[str], pending: set[str], no: set[str], expected: Strategy
) -> None:
    for plugin in (world.fit, world.taint):
        plugin.answer = plugin.name not in no
    assert strategy(hints, rejected(rejectors, pending)) is expected


def test_trap_15_only_rejectors_are_asked(world: Any, hints: Hints) -> None:
    node = make_node("n1")
    strategy(hints, rejected({"Fit"}), new=node)
    assert world.fit.asked == [("a", "NodeAdd", None, node)]
    assert world.taint.asked == []


def test_trap_15_a_hint_that_fails_says_yes(world: Any, hints: Hints, caplog: pytest.LogCaptureFixture) -> None:
    world.fit.answer = ValueError("what is that?")
    assert strategy(hints, rejected({"Fit"})) is AFTER_BACKOFF
    assert strategy(hints, rejected(set(), {"Fit"})) is IMMEDIATELY
    # Once is enough: it may fail for thousands of pods.
    assert caplog.text.count("plugin Fit cannot tell whether NodeAdd helps pod default/a") == 1
    assert "what is that?" in caplog.text


def test_without_a_hint_the_event_always_helps(world: Any, hints: Hints) -> None:
    assert strategy(hints, rejected({"Door"}), Event(Resource.ASSIGNED_POD, Action.DELETE)) is AFTER_BACKOFF


@pytest.mark.parametrize(
    ("event", "new", "expected"),
    [
        pytest.param(UNSCHEDULABLE_TIMEOUT, None, AFTER_BACKOFF, id="meant for everybody"),
        pytest.param(FORCE_ACTIVATE, make_pod("a", uid="a"), AFTER_BACKOFF, id="meant for this pod"),
        pytest.param(FORCE_ACTIVATE, make_pod("a", uid="other"), SKIP, id="meant for another pod"),
        pytest.param(FORCE_ACTIVATE, make_node("n1"), SKIP, id="about something else"),
    ],
)
def test_wildcards(world: Any, hints: Hints, event: Event, new: Any, expected: Strategy) -> None:
    world.fit.answer = False
    assert strategy(hints, rejected({"Fit"}), event, new=new) is expected
    assert world.fit.asked == []


def test_profiles_have_their_own_rejectors(world: Any) -> None:
    hints = Hints(world.retries | {"batch": [(world.taint, Retry(Resource.NODE, Action.ADD))], "idle": []})
    assert strategy(hints, rejected({"Fit"}, scheduler="batch")) is SKIP
    assert strategy(hints, rejected({"Taint"}, scheduler="batch")) is AFTER_BACKOFF
    assert strategy(hints, rejected({"Taint"}, scheduler="idle")) is SKIP
    assert strategy(hints, rejected({"Fit"}, scheduler="nobody")) is AFTER_BACKOFF


def test_events_that_interest_nobody_are_known(hints: Hints) -> None:
    assert not hints.advisers(Event(Resource.CSI_NODE, Action.ADD))
    assert hints.advisers(NODE_ADD)


@pytest.mark.parametrize(
    ("answer", "result"), [(True, "Queue"), (False, "QueueSkip"), (ValueError("no"), "Error")], ids=str
)
def test_hints_are_measured(world: Any, answer: Any, result: str) -> None:
    seen: list[tuple[str, str, str]] = []
    hints = Hints(world.retries, lambda plugin, event, result, seconds: seen.append((plugin, event, result)))
    world.fit.answer = answer
    strategy(hints, rejected({"Fit"}))
    assert seen == [("Fit", "NodeAdd", result)]
