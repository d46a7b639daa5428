"""Notices a policy that cannot work: since it was put in service, one of its plugins has failed for every pod."""

from collections.abc import Callable

from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.outcome import Outcome, Unplaced

ENOUGH = 3  # attempts of a profile, all of them spoiled by a failing plugin


class Probation:
    """Counts attempts of each profile since the last change, until one of them was not spoiled."""

    def __init__(self, tell_failing: Callable[[str, str, str], None], tell_well: Callable[[], None]) -> None:
        self._tell_failing = tell_failing
        self._tell_well = tell_well
        self._spoiled: dict[str, int] = {}  # by scheduler name
        self._has_worked: set[str] = set()
        self._failing: set[str] = set()

    def begin(self) -> None:
        """Forget everything: the policy is another one."""
        self._spoiled.clear()
        self._has_worked.clear()
        self._failing.clear()

    def decided(self, queued: QueuedPod, outcome: Outcome) -> None:
        """Take note of how an attempt ended."""
        name = queued.pod.scheduler_name
        if name in self._has_worked:
            return
        if not isinstance(outcome, Unplaced) or not outcome.failed_plugin:
            self._has_worked.add(name)
            if name in self._failing:
                self._failing.discard(name)
                self._tell_well()
            return
        self._spoiled[name] = self._spoiled.get(name, 0) + 1
        if self._spoiled[name] >= ENOUGH and name not in self._failing:
            self._failing.add(name)
            self._tell_failing(name, outcome.failed_plugin, outcome.message)
