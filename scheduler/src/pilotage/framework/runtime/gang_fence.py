"""A fence around a custom plugin that forms gangs: its failures affect only its own pods."""

import logging
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, TypeVar, cast

from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.verdicts import Rejection
from pilotage.framework.runtime.fence import CycleFailed, expect, fence
from pilotage.framework.runtime.plugin_guard import is_foreign
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
FAILED = 'running "{}" for a gang: {}'
ONE = 1  # pod is missing, so that `objection` is called


class GangFailure(Rejection):
    """In place of an objection: the plugin has failed."""

    error: CycleFailed

    def __init__(self, error: CycleFailed) -> None:
        super().__init__(str(error))
        object.__setattr__(self, "error", error)


def fenced(plugin: FormsGangs | None) -> FormsGangs | None:
    """Return the plugin behind a fence; our own plugin unchanged."""
    if plugin is None or not is_foreign(type(plugin)):
        return plugin
    return cast(FormsGangs, FencedGangs(plugin))  # it has the same interface


class FencedGangs:
    """Calls the plugin; a failure becomes an objection where the method can return one, and is otherwise logged."""

    def __init__(self, plugin: FormsGangs) -> None:
        self.name = plugin.name
        self._plugin = plugin
        self._failure: CycleFailed | None = None  # of the last call of `missing`
        self._complaints: set[str] = set()

    def missing(self, gang: GangName, pod: Pod) -> int | None:
        """Return how many more pods must be placed at once."""
        try:
            with fence(FAILED, self._plugin):
                answer = self._plugin.missing(gang, pod)
                expect(answer, int, NoneType)
        except CycleFailed as error:
            self._failure = error
            return ONE
        self._failure = None
        return answer

    def objection(self, gang: GangName, pod: Pod, waiting: int, gated: int) -> Rejection | None:
        """Return why not to try a gang now, possibly because the plugin has failed."""
        if self._failure is not None:
            return GangFailure(self._failure)
        return self._rejection(self._plugin.objection, gang, pod, waiting, gated)

    def shortage(self, gang: GangName, pod: Pod) -> Rejection | None:
        """Return which resources the cluster lacks for a gang, or that the plugin has failed."""
        return self._rejection(self._plugin.shortage, gang, pod)

    def known_rejection(self, gang: GangName, waiting: Sequence[Pod]) -> str | None:
        """Return why a gang was just rejected; None if the plugin fails."""
        return self._known(self._plugin.known_rejection, (str, NoneType), None, gang, waiting)

    def gang_rejected(self, gang: GangName, waiting: Sequence[Pod], why: str) -> bool:
        """Return whether the time of the retry is known; False if the plugin fails."""
        return bool(self._known(self._plugin.gang_rejected, (object,), False, gang, waiting, why))

    def placed_together(self, gang: GangName) -> None:
        """Record it."""
        self._known(self._plugin.placed_together, (object,), None, gang)

    def _rejection(self, ask: Callable[..., Any], *args: Any) -> Rejection | None:
        try:
            with fence(FAILED, self._plugin):
                answer: Rejection | None = ask(*args)
                expect(answer, Rejection, NoneType)
        except CycleFailed as error:
            return GangFailure(error)
        return answer

    def _known(self, ask: Callable[..., Answer], kinds: tuple[type, ...], otherwise: Answer, *args: Any) -> Answer:
        try:
            with fence(FAILED, self._plugin):
                answer = ask(*args)
                expect(answer, *kinds)
        except CycleFailed:
            new = ask.__name__ not in self._complaints
            self._complaints.add(ask.__name__)
            level = logging.ERROR if new else logging.DEBUG
            log.log(level, "plugin %s failed at %s", self.name, ask.__name__, exc_info=new)
            return otherwise
        return answer
