"""Notices a policy that cannot work: since it was put in service, one of its plugins has failed for every pod.

A plugin that takes too long harms everybody, so that a few such calls are enough, whatever else it has answered.
"""

from collections.abc import Callable

from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.binding import Bindings
from pilotage.scheduling.loop import Loop
from pilotage.scheduling.outcome import Outcome, Unplaced

IsThere = Callable[[], bool]

ENOUGH = 3  # attempts of a profile, all of them spoiled by a failing plugin; or calls of its plugins that took too long


class PolicyHealth:
    """Counts attempts of each profile since the last change, until one of them was not spoiled."""

    def __init__(self, tell_failing: Callable[[str, str, str], None], tell_well: Callable[[], None]) -> None:
        self._tell_failing = tell_failing
        self._tell_well = tell_well
        self._spoiled: dict[str, int] = {}  # by scheduler name
        self._overruns: dict[str, int] = {}
        self._has_worked: set[str] = set()
        self._failing: set[str] = set()
        # Profiles with a plugin that no attempt absolves, why, and whether it is still in service.
        self._condemned: dict[str, tuple[str, str, IsThere]] = {}

    def watch(self, loop: Loop, bindings: Bindings) -> None:
        """Hear how attempts end, from those who end them."""
        loop.on_decided.connect(lambda queued, outcome, _started, _ended: self.decided(queued, outcome))
        bindings.on_bound.connect(lambda queued, _placed, _started: self.bound(queued))
        bindings.on_failed.connect(lambda queued, outcome, _started: self.decided(queued, outcome))

    def begin(self) -> None:
        """Forget everything, the policy is another one; except plugins that did harm and stayed as they are."""
        for each in (self._spoiled, self._overruns, self._has_worked, self._failing):
            each.clear()
        self._condemned = {name: found for name, found in self._condemned.items() if found[2]()}
        self.remind()

    def decided(self, queued: QueuedPod, outcome: Outcome) -> None:
        """Take note of how an attempt ended, unless its pod has got a place and is about to be bound."""
        if isinstance(outcome, Unplaced):
            self._take(queued.pod.scheduler_name, outcome)

    def bound(self, queued: QueuedPod) -> None:
        """Take note of an attempt that ended well."""
        self._take(queued.pod.scheduler_name, None)

    def overran(self, name: str, plugin: str, message: str, is_there: IsThere) -> None:
        """Take note that a plugin of a profile has taken too long."""
        self._overruns[name] = self._overruns.get(name, 0) + 1
        if self._overruns[name] >= ENOUGH:
            self.condemn(name, plugin, message, is_there)

    def condemn(self, name: str, plugin: str, message: str, is_there: IsThere) -> None:
        """Tell of a plugin that does harm; as long as it is there, no attempt that works changes that."""
        if name not in self._condemned:
            self._condemned[name] = plugin, message, is_there
            self._tell_failing(name, plugin, message)

    def troubles(self) -> dict[str, str]:
        """Return why profiles do not work, by scheduler name."""
        failing = dict.fromkeys(self._failing, "one of its plugins has failed for every pod since the last change")
        return failing | {name: f"{plugin}: {message}" for name, (plugin, message, _) in self._condemned.items()}

    def _take(self, name: str, outcome: Unplaced | None) -> None:
        if name in self._has_worked:
            return
        if outcome is None or not outcome.failed_plugin:
            self._has_worked.add(name)
            if name in self._failing:
                self._failing.discard(name)
                self._all_is_well()
            return
        self._spoiled[name] = self._spoiled.get(name, 0) + 1
        if self._spoiled[name] >= ENOUGH and name not in self._failing:
            self._failing.add(name)
            self._tell_failing(name, outcome.failed_plugin, outcome.message)

    def _all_is_well(self) -> None:
        self._tell_well()
        self.remind()

    def remind(self) -> None:
        """Tell again of plugins that do harm."""
        for name, (plugin, message, _) in self._condemned.items():
            self._tell_failing(name, plugin, message)
