"""The plugins around a binding: whom is asked, in which order, and what a failure sounds like."""

import asyncio
from typing import Any

import pytest

from kit.live_core import One, Two
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import Bind, Plugin
from pilotage.framework.api.verdicts import SKIP, PluginFailed, Rejection
from pilotage.framework.runtime.binding_runner import BindingRunner
from pilotage.framework.runtime.timings import Timings
from pilotage.model.pod import Pod
from pilotage.testing import FakeCluster, make_node, make_pod, plugin_set_of


class Binds(Bind):
    """Answers as it is told."""

    answer: Any = None

    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class AlsoBinds(Binds):
    """The second one."""


def runner(*plugins: Plugin) -> BindingRunner:
    return BindingRunner(plugin_set_of(*plugins), Timings())


@pytest.fixture
def cycle() -> Cycle:
    return FakeCluster([make_node("n1")]).cycle(make_pod("a"))


async def told(work: Any) -> object:
    """Return the answer, or the text of the failure."""
    try:
        return await work if asyncio.iscoroutine(work) else work
    except PluginFailed as error:
        return str(error)


class TestPreFlight:
    @pytest.mark.parametrize(
        ("one", "two", "expected"),
        [
            pytest.param(None, None, ["One", "Two"], id="both have something to do"),
            pytest.param(SKIP, None, ["Two"], id="one has not"),
            pytest.param(SKIP, SKIP, [], id="nobody has"),
        ],
    )
    def test_who_has_something_to_prepare(self, cycle: Cycle, one: Any, two: Any, expected: list[str]) -> None:
        found = runner(One(answers={"pre_flight": one}), Two(answers={"pre_flight": two})).pre_flight(cycle, "n1")
        assert [plugin.name for plugin in found] == expected

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            pytest.param(Rejection("no"), "no", id="a rejection is not for this point"),
            pytest.param(PluginFailed("off"), "off", id="a failure in the plugin's words"),
            pytest.param(True, "it returned bool True, which is not valid here", id="nonsense"),
        ],
    )
    def test_what_is_an_error(self, cycle: Cycle, answer: Any, text: str) -> None:
        with pytest.raises(PluginFailed) as failed:
            runner(One(answers={"pre_flight": answer})).pre_flight(cycle, "n1")
        assert str(failed.value) == f'running PreBindPreFlight "One": {text}'

    def test_a_surprise_is_told_with_its_type_and_line(self, cycle: Cycle) -> None:
        with pytest.raises(PluginFailed, match=r'^running PreBindPreFlight "One": KeyError: 1 \(.*live_core.py:\d+\)$'):
            runner(One(answers={"pre_flight": KeyError(1)})).pre_flight(cycle, "n1")


class TestPreBind:
    async def test_one_after_the_other(self, cycle: Cycle) -> None:
        said: list[str] = []
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        one, two = One(answers={"pre_bind": first}, said=said), Two(said=said)
        task = asyncio.create_task(runner(one, two).pre_bind(cycle, "n1", [one, two]))
        await asyncio.sleep(0)
        assert said == ["One.pre_bind"]
        first.set_result(None)
        assert await task is None
        assert said == ["One.pre_bind", "Two.pre_bind"]

    async def test_only_those_that_are_named(self, cycle: Cycle) -> None:
        said: list[str] = []
        one, two = One(said=said), Two(said=said)
        assert await runner(one, two).pre_bind(cycle, "n1", [two]) is None
        assert said == ["Two.pre_bind"]

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            pytest.param(Rejection("no"), Rejection("no", plugin="One"), id="a rejection names the plugin"),
            pytest.param(PluginFailed("off"), 'running PreBind plugin "One": off', id="a failure"),
            pytest.param(
                SKIP, f'running PreBind plugin "One": it returned Skip {SKIP!r}, which is not valid here', id="skip"
            ),
        ],
    )
    async def test_what_ends_it(self, cycle: Cycle, answer: Any, expected: object) -> None:
        said: list[str] = []
        one, two = One(answers={"pre_bind": answer}, said=said), Two(said=said)
        assert await told(runner(one, two).pre_bind(cycle, "n1", [one, two])) == expected
        assert said == ["One.pre_bind"]

    async def test_who_is_cancelled_does_not_fail(self, cycle: Cycle) -> None:
        one = One(answers={"pre_bind": asyncio.get_running_loop().create_future()})
        task = asyncio.create_task(runner(one).pre_bind(cycle, "n1", [one]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


class TestBind:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            pytest.param(None, ValueError("not asked"), None, id="the first that binds is the last that is asked"),
            pytest.param(SKIP, None, None, id="who skips leaves it to the next"),
            pytest.param(Rejection("no"), None, Rejection("no", plugin="Binds"), id="a rejection names the plugin"),
            pytest.param(PluginFailed("409"), None, 'running Bind plugin "Binds": 409', id="a failure"),
            pytest.param(SKIP, SKIP, "no Bind plugin binds this pod: all of them skip it", id="nobody wants to"),
            pytest.param(
                7, None, 'running Bind plugin "Binds": it returned int 7, which is not valid here', id="nonsense"
            ),
        ],
    )
    async def test_who_binds(self, cycle: Cycle, first: Any, second: Any, expected: object) -> None:
        both = runner(Binds(answer=first), AlsoBinds(answer=second))
        assert await told(both.bind(cycle, "n1")) == expected

    async def test_nobody_is_there(self, cycle: Cycle) -> None:
        assert await told(runner().bind(cycle, "n1")) == "no Bind plugin binds this pod: all of them skip it"


class TestPostBind:
    def test_everybody_is_told_whatever_the_others_do(self, cycle: Cycle) -> None:
        said: list[str] = []
        both = runner(One(answers={"post_bind": PluginFailed("oh")}, said=said), Two(said=said))
        assert both.post_bind(cycle, "n1") == ['running PostBind plugin "One": oh']
        assert said == ["One.post_bind", "Two.post_bind"]


async def test_everything_is_timed(cycle: Cycle) -> None:
    timings, one, binds = Timings(), One(), Binds()
    asked = BindingRunner(plugin_set_of(one, binds), timings)
    await asked.pre_bind(cycle, "n1", [one])
    await asked.bind(cycle, "n1")
    asked.post_bind(cycle, "n1")
    points = (("One", "PreBind"), ("Binds", "Bind"), ("One", "PostBind"))
    assert [timings.of(plugin, point).calls for plugin, point in points] == [1, 1, 1]
