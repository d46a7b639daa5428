"""Calls of plugins that are not ours: however one ends or does not, it is one failure of one plugin, and no more."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from typing import Any

import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import POD_GONE, Action, Resource, Retry
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import (
    Bind,
    EvictionRule,
    Filter,
    Permit,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Reserve,
    Score,
)
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Verdicts
from pilotage.framework.runtime import plugin_guard
from pilotage.framework.runtime.binding_runner import BindingRunner
from pilotage.framework.runtime.call_watch import NO_LIMIT, WATCH, Overrun, Suspicion, TookTooLong
from pilotage.framework.runtime.plugin_guard import guard
from pilotage.framework.runtime.preemption import eviction_rules
from pilotage.framework.runtime.runner import Runner
from pilotage.framework.runtime.timings import Timings
from pilotage.framework.runtime.watchdog import WATCHDOG
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_name import NodeName
from pilotage.queue.active import active_queue, order_of
from pilotage.queue.gated import Gates
from pilotage.queue.hints import AFTER_BACKOFF, Hints
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod, plugin_set_of

BUDGET = 0.1
AT_ONCE = 10.0  # seconds: long before anything ends by itself, and enough on a busy machine


@pytest.fixture
def overruns() -> Iterator[list[Overrun]]:
    """Watch with a small budget, and collect what took too long."""
    found: list[Overrun] = []
    WATCH.budget, WATCH.on_overrun = BUDGET, found.append
    WATCH.next_turn()
    WATCHDOG.start()
    yield found
    WATCHDOG.stop()
    turn = WATCH.turn
    WATCH.__init__()  # type: ignore[misc]  # as it was when the process began, but for the turns of methods
    WATCH.turn = turn + 1
    WATCH.on_ended, WATCH.on_foreign = WATCHDOG._ended, WATCHDOG._wake.set


class Does(Score):
    """Does what it is told to."""

    deed: Any = None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        return int(self.deed() or 0)


def guarded(deed: Callable[[], object]) -> Does:
    plugin = Does(deed=deed)
    guard([plugin])
    WATCH.next_turn()
    return plugin


def ask(plugin: Any) -> int:
    return int(plugin.score(None, make_pod("a"), None))


def loops() -> None:
    while True:
        pass


def sleeps() -> None:
    time.sleep(30)


def swallows() -> None:
    while True:
        try:  # noqa: SIM105
            time.sleep(30)
        except BaseException:  # noqa: S110
            pass


def swallows_in_both() -> None:
    while True:
        with suppress(BaseException):
            swallows()


def swallows_twice() -> None:
    while True:
        try:
            try:
                swallows_in_both()
            except BaseException:  # noqa: S112
                continue
        except BaseException:  # noqa: S110
            pass


def swallows_within_a_block() -> None:
    with nullcontext():
        while True:
            try:  # noqa: SIM105
                sum(range(100))
            except:  # noqa: E722, S110
                pass


def makes_something_else_of_it() -> None:
    try:
        loops()
    except BaseException as error:
        raise ValueError("never mind") from error


def keeps_it_to_itself() -> int:
    with suppress(BaseException):
        loops()
    return 50


def is_in_our_code() -> None:
    while True:
        make_pod("x", cpu="1")


class TestTooLong:
    @pytest.mark.parametrize(
        "deed",
        [
            pytest.param(loops, id="it loops"),
            pytest.param(sleeps, id="it sleeps"),
            pytest.param(swallows, id="it swallows whatever is raised"),
            pytest.param(swallows_in_both, id="so does who calls that"),
            pytest.param(swallows_twice, id="twice in one function"),
            pytest.param(swallows_within_a_block, id="within a block of its own, and without a pause"),
            pytest.param(makes_something_else_of_it, id="it raises something else then"),
            pytest.param(keeps_it_to_itself, id="it answers after all"),
            pytest.param(is_in_our_code, id="it asks us for something again and again"),
        ],
    )
    def test_it_is_ended(self, overruns: list[Overrun], deed: Callable[[], object]) -> None:
        # What measures coverage traces, too: whatever was there before must be there again.
        tracing = sys.gettrace(), sys.getprofile()
        plugin, start = guarded(deed), time.perf_counter()
        with pytest.raises(TookTooLong, match=r"it did not return within 0\.1s in score") as told:
            ask(plugin)
        assert BUDGET <= time.perf_counter() - start < AT_ONCE
        assert told.value.rest >= 30 * BUDGET
        assert [(each.plugin, each.point) for each in overruns] == [(plugin, "score")]
        assert overruns[0].pod is not None
        assert overruns[0].pod.key == "default/a"
        assert (WATCH.call, WATCH.is_doomed(), sys.gettrace(), sys.getprofile()) == (None, False, *tracing)
        assert sys.exc_info() == (None, None, None)

    def test_the_line_is_told(self, overruns: list[Overrun]) -> None:
        with pytest.raises(TookTooLong, match=rf"score \({__file__}:\d+\)"):
            ask(guarded(sleeps))

    def test_its_own_cleaning_up_is_done(self, overruns: list[Overrun]) -> None:
        done = []

        def cleans_up() -> None:
            try:
                loops()
            finally:
                done.append("cleaned up")

        with pytest.raises(TookTooLong):
            ask(guarded(cleans_up))
        assert done == ["cleaned up"]

    def test_what_many_nodes_take_together_is_one_call(self, overruns: list[Overrun]) -> None:
        cluster = FakeCluster([make_node(f"n{number}") for number in range(100)])
        plugin, start = Does(deed=lambda: time.sleep(0.01)), time.perf_counter()
        outcome = FakeScheduler(plugin, cluster=cluster).schedule(make_pod("a"))
        assert isinstance(outcome, Unplaced)
        assert outcome.failed_plugin == "Does"
        assert 'plugin "Does" failed with: it did not return within 0.1s in score' in outcome.message
        assert outcome.cost >= BUDGET
        assert outcome.rest >= 30 * BUDGET
        assert time.perf_counter() - start < AT_ONCE
        assert len(overruns) == 1

    def test_many_short_calls_in_one_turn_count_together(self, overruns: list[Overrun]) -> None:
        WATCHDOG.ask_for_turn = lambda: None  # the event loop is held
        try:
            plugin, start = guarded(lambda: time.sleep(0.02)), time.perf_counter()
            with pytest.raises(TookTooLong):
                [ask(plugin) for _ in range(100)]
            assert time.perf_counter() - start < AT_ONCE
        finally:
            WATCHDOG.ask_for_turn = WATCH.next_turn

    def test_in_many_turns_they_do_not(self, overruns: list[Overrun]) -> None:
        WATCH.budget = 1.0
        plugin = guarded(lambda: time.sleep(0.1))
        for _ in range(15):
            WATCH.next_turn()
            ask(plugin)
        assert not overruns

    def test_without_a_budget_nothing_is_ended(self, overruns: list[Overrun]) -> None:
        WATCH.budget = NO_LIMIT
        assert ask(guarded(lambda: [time.sleep(3 * BUDGET), 7][1])) == 7  # type: ignore[func-returns-value]

    def test_it_never_lands_outside_of_the_plugin(self, overruns: list[Overrun]) -> None:
        """Calls that end at the very moment when they have to, again and again; what is not caught fails the test."""
        WATCH.budget = 0.002
        ended = within = outside = 0
        deadline = time.perf_counter() + 4
        while time.perf_counter() < deadline:
            length = WATCH.budget + (ended + within) % 41 * 0.0002 - 0.001

            def spins(until: float = time.perf_counter() + length) -> int:
                count = 0
                while time.perf_counter() < until:
                    count += 1
                return count % 100

            plugin = guarded(spins)
            try:
                ask(plugin)
                within += 1
            except TookTooLong:
                ended += 1
            for _ in range(200):  # somebody else's code
                outside += 1
            assert WATCH.call is None
        assert ended
        assert within


class TestPauses:
    def test_each_time_the_method_is_not_asked_for_longer(self, overruns: list[Overrun]) -> None:
        now = [1000.0]
        WATCH.clock, WATCH.budget = lambda: now[0], 0.02
        plugin, pauses = guarded(sleeps), []
        for _ in range(7):
            WATCH.next_turn()
            with pytest.raises(TookTooLong, match="did not return"):
                ask(plugin)
            with pytest.raises(TookTooLong, match="it is not called for") as told:
                ask(plugin)
            pauses.append(told.value.rest)
            now[0] += told.value.rest
        assert pauses == [3, 6, 30, 60, 120, 300, 300]
        assert len(overruns) == 7

    def test_what_is_long_ago_does_not_count(self, overruns: list[Overrun]) -> None:
        now = [1000.0]
        WATCH.clock, WATCH.budget = lambda: now[0], 0.02
        plugin = guarded(sleeps)
        for _ in range(2):
            with pytest.raises(TookTooLong, match="did not return"):
                ask(plugin)
            with pytest.raises(TookTooLong) as told:
                ask(plugin)
            assert told.value.rest == 3
            now[0] += 601
            WATCH.next_turn()

    def test_another_plugin_of_the_same_kind_is_asked(self, overruns: list[Overrun]) -> None:
        with pytest.raises(TookTooLong):
            ask(guarded(loops))
        assert ask(guarded(lambda: 7)) == 7

    def test_after_the_pause_it_is_asked_again(self, overruns: list[Overrun]) -> None:
        now = [1000.0]
        deeds: list[Callable[[], object]] = [loops, lambda: 7]
        WATCH.clock = lambda: now[0]
        plugin = guarded(lambda: deeds.pop(0)())
        with pytest.raises(TookTooLong):
            ask(plugin)
        now[0] += 3
        WATCH.next_turn()
        assert ask(plugin) == 7

    def test_what_cleans_up_after_it_has_less_time(self, overruns: list[Overrun]) -> None:
        class Holds(Reserve):
            def reserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
                time.sleep(30)

            def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
                time.sleep(30)

        WATCHDOG.ask_for_turn = lambda: None  # all of it is one turn
        try:
            start = time.perf_counter()
            outcome = FakeScheduler(Holds(), cluster=FakeCluster([make_node("n1")])).schedule(make_pod("a"))
        finally:
            WATCHDOG.ask_for_turn = WATCH.next_turn
        assert isinstance(outcome, Unplaced)
        assert "within 0.1s in reserve" in outcome.message
        assert [each.point for each in overruns] == ["reserve", "unreserve"]
        assert "within 0.02s in unreserve" in overruns[1].message
        assert time.perf_counter() - start < AT_ONCE


def leaves(*_: object) -> Any:
    sys.exit(3)


def raiser(error: BaseException) -> Callable[..., Any]:
    def deed(*_: object) -> Any:
        raise error

    return deed


DEEDS = [
    pytest.param(leaves, "SystemExit: 3", id="sys.exit()"),
    pytest.param(raiser(KeyboardInterrupt("now")), "KeyboardInterrupt: now", id="KeyboardInterrupt"),
    pytest.param(raiser(asyncio.CancelledError("why")), "CancelledError: why", id="CancelledError"),
    pytest.param(raiser(GeneratorExit("gone")), "GeneratorExit: gone", id="GeneratorExit"),
    pytest.param(raiser(StopIteration("over")), "StopIteration", id="StopIteration"),
    pytest.param(lambda *_: loops(), "it did not return within 0.1s", id="a loop"),
    pytest.param(lambda *_: time.sleep(30), "it did not return within 0.1s", id="a sleep"),
    pytest.param(raiser(ValueError("no")), "ValueError: no", id="an error"),
    pytest.param(raiser(MemoryError()), "MemoryError: it asked for more memory", id="no memory"),
]

POINTS: dict[str, type] = {
    "pre_filter": PreFilter,
    "filter": Filter,
    "filter_nodes": Filter,
    "pre_score": PreScore,
    "score": Score,
    "score_nodes": Score,
    "normalize": Score,
    "reserve": Reserve,
    "permit": Permit,
}


def plugin_that(method: str, base: type, deed: Callable[..., Any], **more: Any) -> Any:
    """Return a plugin with one method of its own, as somebody might have written it in a file."""
    made = {method: deed_of(deed), "__module__": __name__, **more}
    return type("Foreign", (base,), made)()


def deed_of(deed: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return deed(*args)

    return method


class TestEveryPoint:
    @pytest.mark.parametrize("point", POINTS)
    @pytest.mark.parametrize(("deed", "told"), DEEDS)
    def test_the_attempt_of_one_pod_is_spoiled(
        self, overruns: list[Overrun], point: str, deed: Callable[..., Any], told: str
    ) -> None:
        more = {"score": deed_of(lambda *_: 50)} if point == "normalize" else {}
        plugin = plugin_that(point, POINTS[point], deed, **more)
        scheduler = FakeScheduler(
            plugin, Does(deed=lambda: 50), cluster=FakeCluster([make_node("n1"), make_node("n2")])
        )
        outcome = scheduler.schedule(make_pod("a"))
        assert isinstance(outcome, Unplaced)
        assert outcome.failed_plugin == "Foreign"
        assert told in outcome.message
        assert __file__ in outcome.message
        assert not scheduler.cluster.cache.is_assumed("a")

    @pytest.mark.parametrize(("deed", "told"), DEEDS)
    def test_who_makes_room_fails(self, overruns: list[Overrun], deed: Callable[..., Any], told: str) -> None:
        plugin = plugin_that("post_filter", PostFilter, deed)
        full = plugin_that("filter", Filter, lambda *_: Rejection("full"))
        outcome = FakeScheduler(full, plugin, cluster=FakeCluster([make_node("n1")])).schedule(make_pod("a"))
        assert isinstance(outcome, Unplaced)
        assert told in outcome.message

    @pytest.mark.parametrize("method", ["may_evict", "objection", "enough_leave"])
    @pytest.mark.parametrize(("deed", "told"), DEEDS)
    def test_a_rule_about_evictions_fails(
        self, overruns: list[Overrun], method: str, deed: Callable[..., Any], told: str
    ) -> None:
        rule, cycle = plugin_that(method, EvictionRule, deed), FakeCluster([make_node("n1")]).cycle(make_pod("a"))
        guard([rule])
        about = {"may_evict": (cycle, make_pod("b")), "objection": (cycle,), "enough_leave": (cycle, None)}[method]
        with pytest.raises(PluginFailed, match=told.replace(".", r"\.")):
            getattr(eviction_rules, method)([rule], *about)

    @pytest.mark.parametrize(("deed", "told"), DEEDS)
    def test_the_gate_stays_shut(self, overruns: list[Overrun], deed: Callable[..., Any], told: str) -> None:
        plugin, queued = plugin_that("pre_enqueue", PreEnqueue, deed), QueuedPod(make_pod("a"), 0.0)
        guard([plugin])
        assert Gates(lambda _: [plugin]).keep_out(queued)
        assert told.rpartition(": ")[2].replace("StopIteration", "over") in queued.gating_reason

    @pytest.mark.parametrize(("deed", "told"), DEEDS)
    def test_priority_and_time_order_the_queue(
        self, overruns: list[Overrun], deed: Callable[..., Any], told: str
    ) -> None:
        plugin = plugin_that("less", QueueSort, deed)
        guard([plugin])
        heap = active_queue(order_of(plugin))
        for number in range(3):
            heap.add(QueuedPod(make_pod(f"p{number}", priority=number), 0.0))
        first = heap.first()
        assert first is not None
        assert first.key == "default/p2"

    @pytest.mark.parametrize(("deed", "told"), DEEDS)
    def test_a_hint_that_fails_is_a_yes(self, overruns: list[Overrun], deed: Callable[..., Any], told: str) -> None:
        waits_for = (Retry(Resource.ASSIGNED_POD, Action.DELETE, "helps"),)
        plugin = plugin_that("helps", Filter, deed, retry_on=waits_for)
        guard([plugin])
        queued = QueuedPod(make_pod("a", scheduler="x"), 0.0)
        queued.unschedulable_plugins = {"Foreign"}
        evaluation = Hints({"x": [(plugin, waits_for[0])]}).evaluation(POD_GONE, make_pod("b"), None)
        assert evaluation.strategy(queued) is AFTER_BACKOFF

    @pytest.mark.parametrize(("deed", "told"), DEEDS)
    def test_who_is_only_told_stops_nobody(self, overruns: list[Overrun], deed: Callable[..., Any], told: str) -> None:
        cycle = FakeCluster([make_node("n1")]).cycle(make_pod("a"))
        after, holds = plugin_that("post_bind", PostBind, deed), plugin_that("unreserve", Reserve, deed)
        binding, runner = BindingRunner(plugin_set_of(after), Timings()), Runner(plugin_set_of(holds))
        guard([after])
        for complaint in (*binding.post_bind(cycle, "n1"), *runner.unreserve(cycle, "n1")):
            assert told.replace("0.1s", "0.") in complaint
        eviction_rules.evictions_began([_guarded_rule("evictions_began", deed)], make_pod("a"), [])
        eviction_rules.evictions_cancelled([_guarded_rule("evictions_cancelled", deed)], [])

    @pytest.mark.parametrize("point", ["pre_bind", "bind"])
    @pytest.mark.parametrize(("deed", "told"), [*DEEDS[:4], *DEEDS[5:]])
    async def test_what_is_awaited_fails(
        self, overruns: list[Overrun], point: str, deed: Callable[..., Any], told: str
    ) -> None:
        async def method(self: Any, *args: Any) -> Any:
            await asyncio.sleep(0)
            return deed(*args)

        kind: type = PreBind if point == "pre_bind" else Bind
        plugin = type("Foreign", (kind,), {point: method, "__module__": __name__})()
        guard([plugin])
        cycle = FakeCluster([make_node("n1")]).cycle(make_pod("a"))
        runner = BindingRunner(plugin_set_of(plugin), Timings())
        work = runner.pre_bind(cycle, "n1", [plugin]) if point == "pre_bind" else runner.bind(cycle, "n1")
        with pytest.raises(PluginFailed, match=told.replace(".", r"\.")) as failure:
            await work
        assert failure.value.plugin == "Foreign"  # type: ignore[attr-defined]


def _guarded_rule(method: str, deed: Callable[..., Any]) -> Any:
    rule = plugin_that(method, EvictionRule, deed)
    guard([rule])
    return rule


class TestAwaited:
    """Calls that wait: only what they do between two waits holds everybody."""

    @staticmethod
    def plugin(deed: Callable[[], Any]) -> Any:
        async def method(self: Any, cycle: Any, pod: Any, node: Any) -> Any:
            return await deed()

        found = type("Foreign", (PreBind,), {"pre_bind": method, "__module__": __name__})()
        guard([found])
        return found

    async def test_to_wait_takes_nobody_s_time(self, overruns: list[Overrun]) -> None:
        assert await self.plugin(lambda: asyncio.sleep(3 * BUDGET)).pre_bind(None, None, None) is None
        assert not overruns

    async def test_a_wait_without_end_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plugin_guard, "LONGEST_AWAIT", 0.05)
        with pytest.raises(PluginFailed, match=r"it did not finish within 0\.05s in pre_bind"):
            await self.plugin(lambda: asyncio.sleep(3600)).pre_bind(None, None, None)

    async def test_a_time_out_of_its_own_is_its_own_error(self) -> None:
        async def gives_up() -> None:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(1)

        with pytest.raises(TimeoutError):
            await self.plugin(gives_up).pre_bind(None, None, None)

    async def test_our_own_task_can_be_cancelled(self) -> None:
        task = asyncio.create_task(self.plugin(lambda: asyncio.sleep(3600)).pre_bind(None, None, None))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    async def test_what_is_awaited_answers_and_raises_as_ever(self) -> None:
        async def asks() -> str:
            with suppress(ValueError):
                await asyncio.wait_for(fails(), 1)
            return await asyncio.get_running_loop().run_in_executor(None, lambda: "an answer")

        async def fails() -> None:
            raise ValueError("of somebody else")

        assert await self.plugin(asks).pre_bind(None, None, None) == "an answer"

    async def test_no_coroutine_at_all_is_a_failure(self) -> None:
        plugin = plugin_that("pre_bind", PreBind, lambda *_: None)
        runner = BindingRunner(plugin_set_of(plugin), Timings())
        guard([plugin])
        with pytest.raises(PluginFailed, match='running PreBind plugin "Foreign"'):
            await runner.pre_bind(FakeCluster([make_node("n1")]).cycle(make_pod("a")), "n1", [plugin])


class TestOthers:
    def test_our_own_plugins_are_called_as_they_are(self) -> None:
        before = dict(vars(NodeName))
        guard([NodeName()])
        assert dict(vars(NodeName)) == before

    def test_to_guard_twice_changes_nothing(self) -> None:
        plugin = guarded(lambda: 1)
        before = Does.score, Does.score_nodes
        guard([plugin])
        assert (Does.score, Does.score_nodes) == before

    def test_a_plugin_within_the_call_of_another_takes_that_one_s_time(self, overruns: list[Overrun]) -> None:
        inner = guarded(loops)
        outer = guarded(lambda: ask(inner))
        with pytest.raises(TookTooLong):
            ask(outer)
        assert [each.plugin for each in overruns] == [outer]

    def test_it_is_placed_as_ever(self, overruns: list[Overrun]) -> None:
        scheduler = FakeScheduler(Does(deed=lambda: 5), cluster=FakeCluster([make_node("n1")]))
        assert isinstance(scheduler.schedule(make_pod("a")), Placed)

    def test_named_arguments_reach_the_method(self) -> None:
        class Asks(Filter):
            def filter(self, cycle: Cycle, pod: Pod, info: NodeInfo) -> Any:
                return cycle, pod, info

            def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
                return self.filter(cycle, pod, info=nodes)  # type: ignore[no-any-return,arg-type]

        plugin: Any = Asks()
        guard([plugin])
        assert plugin.filter_nodes(1, 2, 3) == (1, 2, 3)
        assert plugin.filter(1, 2, info=3) == (1, 2, 3)

    def test_failing_each_time_where_no_attempt_shows_it_is_told(self) -> None:
        told: list[str] = []
        WATCH.on_failing = lambda plugin, _point, message: told.append(f"{plugin.name}: {message}")
        plugin = plugin_that("pre_enqueue", PreEnqueue, raiser(ValueError("no")))
        guard([plugin])
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                plugin.pre_enqueue(make_pod("a"))
        WATCH.on_failing = lambda *_: None
        assert len(told) == 1
        assert told[0].startswith("Foreign: pre_enqueue fails every time: ValueError: no (")

    def test_a_call_that_the_last_process_did_not_survive_is_not_made(self) -> None:
        plugin: Any = guarded(lambda: 7)
        pod = make_pod("a", uid="7")
        end = time.perf_counter() + 30
        WATCH.suspicions = {("Does", "7"): Suspicion("Does", "score", "x", "7", "default/a", 2, end)}
        try:
            with pytest.raises(TookTooLong, match=r"exited 2 times while .* called for pod default/a in score") as told:
                plugin.score(None, pod, None)
            assert 29 < told.value.rest <= 30
            assert ask(plugin) == 7
        finally:
            WATCH.suspicions = {}
