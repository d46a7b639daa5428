"""Runs the plugins of the binding cycle, each behind a fence, concurrently with other pods."""

from time import perf_counter
from types import NoneType

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import PreBind
from pilotage.framework.api.verdicts import Rejection, Skip
from pilotage.framework.runtime.fence import CycleFailed, expect, fence
from pilotage.framework.runtime.plugin_guard import is_foreign
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.framework.runtime.timings import UNSCHEDULABLE, Timings


class BindingRunner:
    """Runs PreBind, Bind and PostBind of one profile."""

    def __init__(self, plugin_set: PluginSet, timings: Timings) -> None:
        self._plugin_set = plugin_set
        self._timings = timings
        self.binds_by_foreign = any(is_foreign(type(plugin)) for plugin in plugin_set.bind)

    def pre_flight(self, cycle: Cycle, node: str) -> list[PreBind]:
        """Return the plugins that need to prepare something."""
        found = []
        for plugin in self._plugin_set.pre_bind:
            with fence('running PreBindPreFlight "{}": {}', plugin):
                answer: object = plugin.pre_bind_pre_flight(cycle, cycle.pod, node)
                expect(answer, Skip, NoneType)
            if answer is None:
                found.append(plugin)
        return found

    async def pre_bind(self, cycle: Cycle, node: str, plugins: list[PreBind]) -> Rejection | None:
        """Run PreBind of these plugins one after the other, until one rejects the pod."""
        begun = perf_counter()
        for plugin in plugins:
            start = perf_counter()
            try:
                with fence('running PreBind plugin "{}": {}', plugin):
                    answer: object = await plugin.pre_bind(cycle, cycle.pod, node)
                    expect(answer, Rejection, NoneType)
            finally:
                self._note(plugin.name, "PreBind", start)
            if isinstance(answer, Rejection):
                self._timings.past("PreBind", begun, UNSCHEDULABLE)
                return answer.by(plugin.name)
        self._timings.past("PreBind", begun)
        return None

    async def bind(self, cycle: Cycle, node: str) -> Rejection | None:
        """Bind the pod with the first plugin that does not skip it."""
        for plugin in self._plugin_set.bind:
            start = perf_counter()
            try:
                with fence('running Bind plugin "{}": {}', plugin):
                    answer: object = await plugin.bind(cycle, cycle.pod, node)
                    expect(answer, Rejection, Skip, NoneType)
            finally:
                self._note(plugin.name, "Bind", start)
            if answer is None:
                self._timings.past("Bind", start)
                return None
            if isinstance(answer, Rejection):
                return answer.by(plugin.name)
        raise CycleFailed("no Bind plugin binds this pod: all of them skip it")

    def post_bind(self, cycle: Cycle, node: str) -> list[str]:
        """Run PostBind of every plugin; returns the errors, which do not stop the other plugins."""
        complaints = []
        for plugin in self._plugin_set.post_bind:
            start = perf_counter()
            try:
                with fence('running PostBind plugin "{}": {}', plugin):
                    plugin.post_bind(cycle, cycle.pod, node)
            except CycleFailed as error:
                complaints.append(str(error))
            self._note(plugin.name, "PostBind", start)
        return complaints

    def _note(self, plugin: str, point: str, start: float) -> None:
        self._timings.of(plugin, point).add(perf_counter() - start)
