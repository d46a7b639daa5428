from typing import Any

import pytest

from pilotage.framework.api.events import (
    FORCE_ACTIVATE,
    NOT_UNDERSTOOD,
    UNSCHEDULABLE_TIMEOUT,
    Action,
    Event,
    Resource,
    Retry,
)
from pilotage.model.gangs import BY_LABELS, GangName
from pilotage.model.pod import Pod
from pilotage.queue.hints import AFTER_BACKOFF, IMMEDIATELY, SKIP, Hints, Strategy
from pilotage.queue.queued_pod import QueuedPod
from pilotage.testing import make_node, make_pod

NODE_ADD = Event(Resource.NODE, Action.ADD)
GANG_RETRY = Retry(Resource.NODE, Action.ADD, "helps", for_gang=True)
POD = make_pod("a", uid="a")


def rejected(plugins: set[str], pending: set[str] | None = None, scheduler: str | None = None) -> QueuedPod:
    queued = QueuedPod(make_pod("a", uid="a", scheduler=scheduler), 0)
    queued.unschedulable_plugins, queued.pending_plugins = plugins, pending or set()
    return queued


@pytest.fixture
def hints(world: Any) -> Hints:
    return Hints(world.retries)


def strategy(hints: Hints, queued: QueuedPod, event: Event = NODE_ADD, old: Any = None, new: Any = None) -> Strategy:
    return hints.evaluation(event, old, new).strategy(queued)


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
        pytest.param(set(), {"Fit"}, set(), IMMEDIATELY, id="a plugin that left it pending says yes"),
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


def test_of_an_object_that_cannot_be_understood_no_hint_is_asked_and_it_may_help(world: Any, hints: Hints) -> None:
    world.fit.answer = False
    assert strategy(hints, rejected({"Fit"}), new=NOT_UNDERSTOOD) is AFTER_BACKOFF
    assert strategy(hints, rejected({"Labels"}), new=NOT_UNDERSTOOD) is SKIP  # it does not wait for that kind
    assert world.fit.asked == []


def test_trap_15_a_hint_that_fails_says_yes(world: Any, hints: Hints, caplog: pytest.LogCaptureFixture) -> None:
    world.fit.answer = ValueError("what is that?")
    assert strategy(hints, rejected({"Fit"})) is AFTER_BACKOFF
    assert strategy(hints, rejected(set(), {"Fit"})) is IMMEDIATELY
    # Once is enough: it may fail for thousands of pods.
    assert caplog.text.count("the queueing hint of plugin Fit for NodeAdd failed for pod default/a") == 1
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
    assert not hints.hints_for(Event(Resource.CSI_NODE, Action.ADD))
    assert hints.hints_for(NODE_ADD)


@pytest.mark.parametrize(
    ("answer", "result"), [(True, "Queue"), (False, "QueueSkip"), (ValueError("no"), "Error")], ids=str
)
def test_hints_are_measured(world: Any, answer: Any, result: str) -> None:
    seen: list[tuple[str, str, str]] = []
    hints = Hints(world.retries, lambda plugin, event, result, seconds: seen.append((plugin, event, result)))
    world.fit.answer = answer
    strategy(hints, rejected({"Fit"}))
    assert seen == [("Fit", "NodeAdd", result)]


# -------------------------------------------------------------------------------------------- once for a whole gang


class Gangs:
    """Remembers about whom it was asked, and says yes to some gangs."""

    name = "Gangs"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def helps(self, pod: Pod, event: Event, old: Any, new: Any) -> bool:
        self.asked.append(pod.name)
        return pod.name.startswith("yes")


class Fit(Gangs):
    """Is asked about each pod."""

    name = "Fit"


def member(name: str, gang: str, rejectors: set[str], pending: set[str], scheduler: str = "one") -> QueuedPod:
    queued = QueuedPod(make_pod(name, uid=name, scheduler=scheduler), 0)
    queued.gang = GangName(BY_LABELS, "default", gang)
    queued.unschedulable_plugins, queued.pending_plugins = rejectors, pending
    return queued


@pytest.mark.parametrize(
    ("members", "asked", "expected"),
    [
        pytest.param([("yes-0", "yes"), ("yes-1", "yes")], ["yes-0"], [IMMEDIATELY] * 2, id="one answer for all"),
        pytest.param([("no-0", "no"), ("no-1", "no")], ["no-0"], [SKIP] * 2, id="also if it is no"),
        pytest.param([("yes-0", "yes"), ("no-0", "no")], ["yes-0", "no-0"], [IMMEDIATELY, SKIP], id="of each gang"),
    ],
)
def test_what_holds_for_a_gang_is_asked_once(
    members: list[tuple[str, str]], asked: list[str], expected: list[Strategy]
) -> None:
    plugin = Gangs()
    evaluation = Hints({"one": [(plugin, GANG_RETRY)]}).evaluation(NODE_ADD, None, None)
    found = [evaluation.strategy(member(name, gang, {"Gangs"}, {"Gangs"})) for name, gang in members]
    assert (plugin.asked, found) == (asked, expected)


def test_who_was_not_left_pending_backs_off_whatever_was_said_of_its_siblings() -> None:
    evaluation = Hints({"one": [(Gangs(), GANG_RETRY)]}).evaluation(NODE_ADD, None, None)
    pods = member("yes-0", "yes", {"Gangs"}, {"Gangs"}), member("yes-1", "yes", {"Gangs"}, set())
    assert [evaluation.strategy(pod) for pod in pods] == [IMMEDIATELY, AFTER_BACKOFF]


def test_each_scheduler_is_asked() -> None:
    one, other = Gangs(), Gangs()
    evaluation = Hints({"one": [(one, GANG_RETRY)], "other": [(other, GANG_RETRY)]}).evaluation(NODE_ADD, None, None)
    for scheduler in ("one", "other"):
        evaluation.strategy(member(f"yes-{scheduler}", "yes", {"Gangs"}, set(), scheduler))
    assert (one.asked, other.asked) == (["yes-one"], ["yes-other"])


def test_where_another_plugin_has_a_word_each_pod_is_asked_about() -> None:
    gangs, fit = Gangs(), Fit()
    each = Retry(Resource.NODE, Action.ADD, "helps")
    evaluation = Hints({"one": [(gangs, GANG_RETRY), (fit, each)]}).evaluation(NODE_ADD, None, None)
    for number in range(2):
        evaluation.strategy(member(f"no-{number}", "no", {"Gangs", "Fit"}, {"Gangs"}))
    assert gangs.asked == fit.asked == ["no-0", "no-1"]


def test_a_rejector_that_does_not_care_for_the_event_costs_nothing() -> None:
    plugin = Gangs()
    evaluation = Hints({"one": [(plugin, GANG_RETRY)]}).evaluation(NODE_ADD, None, None)
    found = [evaluation.strategy(member(f"yes-{n}", "yes", {"Gangs", "Fit"}, {"Gangs"})) for n in range(3)]
    assert (plugin.asked, found) == (["yes-0"], [IMMEDIATELY] * 3)
