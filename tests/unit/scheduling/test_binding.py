"""From a place to a bound pod: the order of the steps, and that every failure gives everything back."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kit.live_core import DELETED, LiveCore, One, Two
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import STATIC, Filter, Permit, PreBind
from pilotage.framework.api.verdicts import SKIP, PluginFailed, Rejection, Wait
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

WAIT = Wait(60.0)
Answers = dict[str, Any]


def future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


def world(one: Answers | None = None, two: Answers | None = None, *more: Any) -> LiveCore:
    """A node and two plugins; what they say stands between what is told to the API server."""
    said: list[str] = []
    live = LiveCore(One(answers=one or {}, said=said), Two(answers=two or {}, said=said), *more)
    live.api.said = said
    live.add_node("n1", uid="node")
    return live


async def started(live: LiveCore, **fields: Any) -> Pod:
    """Create a pod and let it come as far as it can."""
    pod = make_pod("a", uid="a", cpu="600m", **fields)
    live.create(pod)
    await live.settle()
    return pod


class TestTheWayToANode:
    async def test_the_order_of_the_steps(self) -> None:
        live = world({"permit": WAIT})
        pod = await started(live)
        assert live.place(pod) == "binding"
        assert live.core.queue.is_in_flight("a")  # it can still be parked
        [waiting] = live.core.waiting
        waiting.allow("One")
        await live.settle()
        assert live.api.said == [
            *("One.reserve", "Two.reserve", "One.permit", "Two.permit"),
            *("One.pre_flight", "Two.pre_flight", "nominate a"),
            *("One.pre_bind", "Two.pre_bind"),
            *("drop", "bind a", "event Scheduled a"),
            *("One.post_bind", "Two.post_bind"),
        ]
        assert live.api.nominations == [("a", "n1")]
        assert live.api.events == [("a", "Normal", "Scheduled", "Binding", "Successfully assigned default/a to n1")]
        assert live.held() == {"assumed": {"a"}}  # until the watch shows it
        live.change(pod, pod.on("n1"))
        assert live.held() == {}

    async def test_nothing_to_prepare_and_nobody_to_wait_for(self) -> None:
        live = world({"pre_flight": SKIP}, {"pre_flight": SKIP})
        await started(live)
        assert live.api.nominations == []
        assert "One.pre_bind" not in live.api.said
        assert live.api.binds == [("a", "n1")]

    @pytest.mark.parametrize(
        ("one", "nominated"),
        [
            pytest.param({"pre_flight": SKIP, "permit": WAIT}, True, id="it waits for permission"),
            pytest.param({"permit": None}, True, id="something is to be prepared"),
            pytest.param({"pre_flight": SKIP}, False, id="neither"),
        ],
    )
    async def test_who_sees_where_it_is_about_to_go(self, one: Answers, nominated: bool) -> None:
        live = world(one, {"pre_flight": SKIP})
        await started(live)
        assert live.api.nominations == [("a", "n1")] * nominated

    async def test_after_permission_it_cannot_be_parked(self) -> None:
        live = world({"pre_bind": future()})
        await started(live)
        assert live.core.bindings._preparing == {"a": ""}
        assert not live.core.queue.is_in_flight("a")

    async def test_a_nomination_ends_with_a_place(self) -> None:
        live = world()
        live.create(make_pod("a", uid="a", status={"nominatedNodeName": "n1"}))
        assert list(live.core.queue.nominator.nodes) == ["n1"]
        await live.settle()
        assert list(live.core.queue.nominator.nodes) == []

    async def test_a_status_that_is_being_written_is_waited_for(self) -> None:
        live = world()
        live.api.patches["a"] = asyncio.Event()
        await started(live)
        assert live.api.said[-1] == "drop"
        live.api.patches["a"].set()
        await live.settle()
        assert live.api.said[-5:] == ["settled", "bind a", "event Scheduled a", "One.post_bind", "Two.post_bind"]

    async def test_the_watch_is_quicker_than_the_answer(self) -> None:
        live = world()
        live.api.answers["a"] = future()
        pod = await started(live)
        live.change(pod, pod.on("n1"))
        live.api.answers["a"].set_result(None)
        await live.settle()
        assert live.held() == {}
        assert live.core.cache.find_pod("a") is not None

    async def test_a_late_error_after_the_watch_has_shown_it(self) -> None:
        live = world()
        live.api.answers["a"] = future()
        pod = await started(live)
        live.change(pod, pod.on("n1"))
        live.api.answers["a"].set_result(PluginFailed("the answer was lost"))
        await live.settle()
        assert live.place(pod) == "nowhere"
        assert live.core.cache.find_pod("a") is not None
        assert live.held() == {}

    async def test_post_bind_that_fails_changes_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        live = world({"post_bind": PluginFailed("oh")})
        pod = await started(live)
        assert 'pod default/a: running PostBind plugin "One": oh' in caplog.text
        assert live.place(pod) == "nowhere"
        assert live.api.conditions == []

    async def test_what_is_told_of_each_bind(self) -> None:
        live, told = world(), []
        live.core.bindings.on_bound.connect(lambda queued, placed, started: told.append((queued.attempts, placed.node)))
        await started(live)
        assert told == [(1, "n1")]

    async def test_others_wait_until_all_have_come_to_their_end(self) -> None:
        live = world()
        live.api.answers["a"] = future()
        await started(live)
        ending = asyncio.create_task(live.core.bindings.finished())
        await asyncio.sleep(1)
        assert not ending.done()
        live.api.answers["a"].set_result(None)
        await ending
        await live.core.bindings.finished()  # nothing is under way


class TestExtendersThatBind:
    @pytest.mark.parametrize(
        ("binds", "by_plugin"),
        [pytest.param(True, [], id="it does"), pytest.param(False, [("a", "n1")], id="it does not")],
    )
    async def test_who_binds(self, binds: bool, by_plugin: list[Any]) -> None:
        live = world()

        async def bind(pod: Pod, node: str) -> bool:
            return binds

        live.core.bindings.bind_by_extender = bind
        await started(live)
        assert live.api.binds == by_plugin
        assert live.api.events[-1][2] == "Scheduled"

    async def test_one_that_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        live = world()

        async def bind(pod: Pod, node: str) -> bool:
            raise ExtenderFailed("it is down")

        live.core.bindings.bind_by_extender = bind
        pod = await started(live)
        assert live.api.conditions == [("a", "SchedulerError", "it is down", "")]
        assert live.place(pod) == "backoff"
        assert "Traceback" not in caplog.text


ERROR, REJECTED = "SchedulerError", "Unschedulable"
FIT_ERROR = "0/1 nodes are available: 1 {}."


def refuse_waiting(live: LiveCore) -> None:
    [waiting] = live.core.waiting
    waiting.reject("One", "the gang is not complete")


def preempt_waiting(live: LiveCore) -> None:
    [waiting] = live.core.waiting
    waiting.preempt("preempted")


def cancel(live: LiveCore) -> None:
    assert live.core.bindings.cancel("a", "preempted by DefaultPreemption")
    assert not live.core.bindings.cancel("a", "again")


def nothing(live: LiveCore) -> None:
    """Let it fail by itself."""


FAILURES = [
    pytest.param(
        {"pre_flight": PluginFailed("off")},
        nothing,
        (ERROR, 'running PreBindPreFlight "One": off', "backoff", set()),
        id="pre-flight fails",
    ),
    pytest.param(
        {"pre_flight": PluginFailed("off"), "permit": WAIT},
        nothing,
        (ERROR, 'running PreBindPreFlight "One": off', "backoff", set()),
        id="pre-flight fails though it would wait for permission",
    ),
    pytest.param(
        {"permit": WAIT},
        refuse_waiting,
        (REJECTED, FIT_ERROR.format("the gang is not complete"), "unschedulable", {"One"}),
        id="permission is denied",
    ),
    pytest.param(
        {"permit": WAIT},
        preempt_waiting,
        (ERROR, "waiting on permit for pod: preempted", "backoff", set()),
        id="it is preempted while it waits for permission",
    ),
    pytest.param(
        {"pre_bind": Rejection("no disk")}, nothing, (REJECTED, "no disk", "backoff", set()), id="pre-bind rejects"
    ),
    pytest.param(
        {"pre_bind": PluginFailed("off")},
        nothing,
        (ERROR, 'running PreBind plugin "One": off', "backoff", set()),
        id="pre-bind fails",
    ),
    pytest.param(
        {"pre_bind": lambda: future()},
        cancel,
        (ERROR, "preempted by DefaultPreemption", "backoff", set()),
        id="it is preempted while something is prepared",
    ),
]


@pytest.mark.parametrize(("one", "deed", "expected"), FAILURES)
async def test_every_failure_gives_everything_back(
    one: Answers, deed: Callable[[LiveCore], None], expected: tuple[str, str, str, set[str]]
) -> None:
    live = world(one)
    failed: list[str] = []
    live.core.bindings.on_failed.connect(lambda _queued, outcome, _started: failed.append(outcome.message))
    pod = await started(live)
    deed(live)
    await live.settle()
    reason, message, place, plugins = expected
    assert live.held() == {}
    assert live.api.binds == []
    assert live.core.cache.find_pod("a") is None
    assert [each for each in live.api.said if "unreserve" in each] == ["Two.unreserve", "One.unreserve"]
    assert live.api.conditions == [("a", reason, message, "")]
    assert live.api.events == [("a", "Warning", "FailedScheduling", "Scheduling", message)]
    assert live.place(pod) == place
    queued = live.core.queue.find(pod.key)
    assert queued is not None
    assert queued.unschedulable_plugins == plugins
    assert failed == [message]


async def test_permission_that_does_not_come_in_time() -> None:
    live = world({"permit": Wait(5.0)}, {"permit": Wait(300.0)})
    pod = await started(live)
    await asyncio.sleep(5.1)
    await live.settle()
    text = FIT_ERROR.format("rejected due to timeout after waiting 5s at plugin One")
    assert live.api.conditions == [("a", REJECTED, text, "")]
    assert live.place(pod) == "unschedulable"
    assert live.held() == {}


class Stubborn(PreBind):
    """Takes no notice of being cancelled, or fails because of it."""

    how: str = ""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        try:
            await future()
        except asyncio.CancelledError:
            if self.how == "fails":
                raise PluginFailed("I was disturbed") from None


@pytest.mark.parametrize("how", ["fails", "goes on"])
async def test_a_victim_is_not_bound_whatever_its_plugins_make_of_it(how: str) -> None:
    live = world(None, None, Stubborn(how=how))
    pod = await started(live)
    cancel(live)
    await live.settle()
    assert live.api.binds == []
    assert live.api.conditions == [("a", ERROR, "preempted by DefaultPreemption", "")]
    assert live.place(pod) == "backoff"
    assert live.held() == {}


async def test_who_is_not_preparing_cannot_be_cancelled() -> None:
    live = world()
    live.api.answers["a"] = future()
    await started(live)
    assert not live.core.bindings.cancel("a", "preempted")
    assert not live.core.bindings.cancel("stranger", "preempted")
    live.api.answers["a"].set_result(None)
    await live.settle()
    assert live.api.events[-1][2] == "Scheduled"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            PluginFailed('pod a is already assigned to node "n2"'),
            'running Bind plugin "DefaultBinder": pod a is already assigned to node "n2"',
            id="the API server says why",
        ),
        pytest.param(
            RuntimeError("oh"), 'running Bind plugin "DefaultBinder": RuntimeError: oh', id="a surprise of our own"
        ),
    ],
)
async def test_the_bind_fails(answer: Exception, message: str) -> None:
    live = world()
    live.api.answers["a"] = answer
    pod = await started(live)
    [(name, reason, text, nomination)] = live.api.conditions
    assert (name, reason, nomination) == ("a", ERROR, "")
    assert text.startswith(message)
    assert live.place(pod) == "backoff"
    assert live.held() == {}
    del live.api.answers["a"]
    await asyncio.sleep(10)
    await live.settle()
    assert live.api.binds == [("a", "n1")] * 2


SURPRISE = ZeroDivisionError("oh")


@pytest.mark.parametrize("step", ["reserve", "permit", "pre_flight", "pre_bind"])
async def test_a_plugin_that_raises_costs_its_pod_one_attempt(step: str) -> None:
    live = world({step: SURPRISE})
    pod = await started(live)
    [(_, reason, message, _)] = live.api.conditions
    assert reason == ERROR
    assert "ZeroDivisionError: oh" in message
    assert '"One"' in message
    assert live.place(pod) == "backoff"
    assert [each for each in live.api.said if "unreserve" in each] == ["Two.unreserve", "One.unreserve"]
    assert live.held() == {}


async def test_unreserve_that_raises_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    live = world({"unreserve": SURPRISE, "pre_bind": PluginFailed("off")}, {"unreserve": SURPRISE})
    pod = await started(live)
    assert [each for each in live.api.said if "unreserve" in each] == ["Two.unreserve", "One.unreserve"]
    assert caplog.text.count("running Unreserve plugin") == 2
    assert live.place(pod) == "backoff"
    assert live.held() == {}


async def test_what_fails_after_the_bind_is_told(caplog: pytest.LogCaptureFixture) -> None:
    live = world()

    def fail(*_: object) -> None:
        raise SURPRISE

    live.core.bindings.on_bound.connect(fail)
    await started(live)
    assert "the work after the binding of pod a failed: ZeroDivisionError('oh')" in caplog.text
    assert not len(live.core.bindings)


# ---------------------------------------------------------------------------------- the node is not what it was


class Rack(Filter):
    """Lets pods only on nodes that have the label, and is asked about the node object alone."""

    depends_on = STATIC
    answer: Any = None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        if node.node.labels.get("rack") == "broken":
            raise ValueError("no such rack")
        return Rejection("node is in another rack") if node.node.labels.get("rack") == "other" else None


TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"uid": "another"}, 'node "n1" was deleted before the pod could be bound to it', id="replaced"),
        pytest.param(
            {"taints": [TAINT]},
            'node "n1" has changed: node(s) had untolerated taint(s)',
            id="tainted",
        ),
        pytest.param({"unschedulable": True}, 'node "n1" has changed: node(s) were unschedulable', id="cordoned"),
        pytest.param({"cpu": "500m"}, 'node "n1" has changed: Insufficient cpu', id="shrunk"),
        pytest.param({"pods": 0}, 'node "n1" has changed: Too many pods', id="it takes fewer pods"),
        pytest.param({"labels": {"rack": "other"}}, 'node "n1" has changed: node is in another rack', id="relabelled"),
        pytest.param(
            {"labels": {"rack": "broken"}},
            'running "Rack" filter plugin: ValueError: no such rack',
            id="a plugin fails",
        ),
    ],
)
async def test_the_node_changes_between_decision_and_bind(changes: dict[str, Any], message: str) -> None:
    prepared = future()
    live = world({"pre_bind": prepared}, None, Rack())
    pod = await started(live)
    node = live.core.cache.find_node("n1")
    assert node is not None
    live.core.nodes.updated(node.node, live.node("n1", **{"uid": "node", **changes}))
    prepared.set_result(None)
    await live.settle()
    assert live.api.binds == []
    [(_, reason, text, _)] = live.api.conditions
    assert reason == ERROR
    assert text.startswith(message)
    assert live.place(pod) == "backoff"
    assert live.held() == {}


@pytest.mark.parametrize("comes_back", [False, True])
async def test_the_node_is_deleted_between_decision_and_bind(comes_back: bool) -> None:
    prepared = future()
    live = world({"pre_bind": lambda: prepared})
    pod = await started(live)
    live.core.nodes.deleted(live.node("n1"))
    if comes_back:
        live.add_node("n1")
    prepared.set_result(None)
    await live.settle()
    assert live.api.binds == []
    assert live.api.conditions[0][1:3] == (ERROR, 'node "n1" was deleted before the pod could be bound to it')
    assert live.place(pod) == "backoff"
    assert live.held() == {}
    if not comes_back:
        live.add_node("n1")
    await asyncio.sleep(10)
    await live.settle()
    assert live.api.binds == [("a", "n1")]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="a heartbeat"),
        pytest.param({"labels": {"x": "y"}}, id="a label that nobody asks for"),
        pytest.param({"cpu": "600m"}, id="it shrinks and still holds the pod"),
        pytest.param({"taints": [TAINT | {"effect": "PreferNoSchedule"}]}, id="a taint that only warns"),
    ],
)
async def test_a_change_that_does_not_matter(changes: dict[str, Any]) -> None:
    prepared = future()
    live = world({"pre_bind": prepared}, None, Rack())
    await started(live)
    node = live.core.cache.find_node("n1")
    assert node is not None
    live.core.nodes.updated(node.node, live.node("n1", **{"uid": "node", **changes}))
    prepared.set_result(None)
    await live.settle()
    assert live.api.binds == [("a", "n1")]


# ------------------------------------------------------------------------------------------- the pod is deleted


@pytest.mark.parametrize(
    "one",
    [
        pytest.param({"permit": WAIT}, id="while it waits for permission"),
        pytest.param({"pre_bind": lambda: future()}, id="while something is prepared"),
        pytest.param({}, id="while it is bound"),
    ],
)
async def test_the_pod_is_gone(one: Answers) -> None:
    live = world(one)
    live.api.answers["a"] = future()
    pod = await started(live)
    assert live.place(pod) == "binding"
    live.delete(pod)
    live.api.answers["a"].set_result(PluginFailed('pods "a" not found'))
    with suppress(AssertionError):
        cancel(live)  # somebody else gives up waiting for what was to be prepared
    await live.settle()
    assert live.place(pod) == "nowhere"
    assert live.held() == {}
    assert live.core.cache.find_pod("a") is None
    assert live.api.conditions == []


async def test_the_pod_is_replaced_by_a_namesake() -> None:
    live = world({"pre_bind": PluginFailed("off")})
    live.api.answers["a"] = future()
    pod = make_pod("a", uid="a", cpu="600m")
    live.create(pod)
    live.core.loop._batch()
    live.delete(pod)
    live.create(make_pod("a", uid="successor", cpu="2"))
    await live.settle()
    queued = live.core.queue.find(pod.key)
    assert queued is not None
    assert queued.pod.uid == "successor"
    assert all(message.startswith("0/1 nodes") for _, _, message, _ in live.api.conditions)  # of the successor
    assert live.held() == {}


async def test_a_deleting_pod_that_waits_is_sent_back_and_then_skipped() -> None:
    live = world({"permit": WAIT})
    pod = await started(live)
    live.change(pod, make_pod("a", uid="a", cpu="600m", metadata=DELETED))
    await live.settle()
    assert live.held() == {}
    assert live.api.binds == []
    assert live.api.conditions == [("a", REJECTED, FIT_ERROR.format("removed"), "")]


# ----------------------------------------------------------------------------------------- who is woken by a failure


class Picky(Permit):
    """Rejects pods whose name begins with p, and writes down whom a deletion could help."""

    retry_on = (Retry(Resource.ASSIGNED_POD, Action.DELETE, "hint"),)
    asked: Any = None

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Rejection | None:
        return Rejection("parked") if pod.name.startswith("p") else None

    def hint(self, pod: Pod, event: Event, old: Any, new: Any) -> bool:
        self.asked.append((pod.name, old.name))
        return True


class Gang(Permit):
    """Lets pods wait, and would be helped by any deletion."""

    retry_on = (Retry(Resource.ASSIGNED_POD, Action.DELETE),)

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Wait | None:
        return Wait(60.0) if pod.name == "a" else None


@pytest.mark.parametrize("rejected", [pytest.param(True, id="a rejection"), pytest.param(False, id="an error")])
async def test_the_place_that_is_free_again_helps_others(rejected: bool) -> None:
    asked: list[tuple[str, str]] = []
    live = world(None, None, Picky(asked=asked), Gang())
    parked = make_pod("parked", cpu="100m")
    live.create(parked)
    await live.settle()
    assert live.place(parked) == "unschedulable"
    pod = await started(live)
    await asyncio.sleep(30)
    asked.clear()
    [waiting] = live.core.waiting
    waiting.reject("Gang", "no") if rejected else waiting.preempt("preempted")
    for _ in range(5):
        await asyncio.sleep(0)
    assert asked == [("parked", "a")]
    assert live.place(parked) == "active"
    assert live.place(pod) == ("unschedulable" if rejected else "backoff")  # its own leaving does not help it


def spied(live: LiveCore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write down when pods come back, and when others are woken."""
    said: list[str] = []
    queue = live.core.queue

    def spy(word: str, method: Callable[..., None]) -> Callable[..., None]:
        def say(*given: Any, **options: Any) -> None:
            said.append(word)
            method(*given, **options)

        return say

    monkeypatch.setattr(queue, "add_unschedulable", spy("parked", queue.add_unschedulable))
    monkeypatch.setattr(queue, "move_all", spy("move", queue.move_all))
    return said


@pytest.mark.parametrize(
    ("rejected", "order"),
    [
        pytest.param(True, ["parked", "move"], id="after a rejected pod is parked"),
        pytest.param(False, ["move", "parked"], id="before a pod with an error is back"),
    ],
)
async def test_when_others_are_woken(rejected: bool, order: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    live = world(None, None, Gang())
    await started(live)
    said = spied(live, monkeypatch)
    [waiting] = live.core.waiting
    waiting.reject("Gang", "no") if rejected else waiting.preempt("preempted")
    for _ in range(5):
        await asyncio.sleep(0)
    assert said == order


async def test_a_place_that_the_watch_took_back_is_not_freed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    live = world({"pre_bind": PluginFailed("off")})
    said = spied(live, monkeypatch)
    pod = make_pod("a", uid="a")
    live.create(pod)
    live.core.loop._batch()
    live.delete(pod)
    await live.settle()
    assert said == ["move"]


async def test_who_waits_for_what_it_needs_keeps_nobody_waiting() -> None:
    answer = future()
    live = world({"pre_bind": answer})
    await started(live)
    assert (live.core.bindings.being_sent(), len(live.core.bindings)) == (0, 1)
    live.api.answers["a"] = future()
    answer.set_result(None)
    await asyncio.sleep(0.1)
    assert (live.core.bindings.being_sent(), len(live.core.bindings)) == (1, 1)  # now it is being sent
    live.api.answers["a"].set_result(None)
    await asyncio.sleep(0.1)
    assert (live.core.bindings.being_sent(), len(live.core.bindings)) == (0, 0)
