"""Detects a broken policy: since it was applied, one of its plugins has failed for every pod.

A plugin that takes too long harms all profiles, so a few such calls are enough, even if others succeeded.
"""

from collections.abc import Callable

from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.binding import Bindings
from pilotage.scheduling.loop import Loop
from pilotage.scheduling.outcome import Outcome, Unplaced

IsThere = Callable[[], bool]

ENOUGH = 3  # attempts of a profile that a plugin failed, without a success; or plugin calls that took too long


class PolicyHealth:
    """Counts attempts of each profile since the last change, until one ends without a plugin failure."""

    def __init__(self, report_failing: Callable[[str, str, str], None], report_recovered: Callable[[], None]) -> None:
        self._report_failing = report_failing
        self._report_recovered = report_recovered
        self._failed_attempts: dict[str, int] = {}  # by scheduler name
        self._overruns: dict[str, int] = {}
        self._has_worked: set[str] = set()
        self._failing: set[str] = set()
        # Profiles with a harmful plugin, which no later attempt clears, why, and whether it is still in use.
        self._condemned: dict[str, tuple[str, str, IsThere]] = {}

    def watch(self, loop: Loop, bindings: Bindings) -> None:
        """Subscribe to the ends of attempts."""
        loop.on_decided.connect(lambda queued, outcome, _started, _ended: self.decided(queued, outcome))
        bindings.on_bound.connect(lambda queued, _placed, _started: self.bound(queued))
        bindings.on_failed.connect(lambda queued, outcome, _started: self.decided(queued, outcome))

    def begin(self) -> None:
        """Start over for a new policy, but remember harmful plugins that did not change."""
        for each in (self._failed_attempts, self._overruns, self._has_worked, self._failing):
            each.clear()
        self._condemned = {name: found for name, found in self._condemned.items() if found[2]()}
        self.remind()

    def decided(self, queued: QueuedPod, outcome: Outcome) -> None:
        """Record the end of an attempt, unless its pod got a node and is about to be bound."""
        if isinstance(outcome, Unplaced):
            self._take(queued.pod.scheduler_name, outcome)

    def bound(self, queued: QueuedPod) -> None:
        """Record a successful attempt."""
        self._take(queued.pod.scheduler_name, None)

    def overran(self, name: str, plugin: str, message: str, is_there: IsThere) -> None:
        """Record that a plugin of a profile has taken too long."""
        self._overruns[name] = self._overruns.get(name, 0) + 1
        if self._overruns[name] >= ENOUGH:
            self.condemn(name, plugin, message, is_there)

    def condemn(self, name: str, plugin: str, message: str, is_there: IsThere) -> None:
        """Report a harmful plugin; successful attempts do not clear it while it is in use."""
        if name not in self._condemned:
            self._condemned[name] = plugin, message, is_there
            self._report_failing(name, plugin, message)

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
        self._failed_attempts[name] = self._failed_attempts.get(name, 0) + 1
        if self._failed_attempts[name] >= ENOUGH and name not in self._failing:
            self._failing.add(name)
            self._report_failing(name, outcome.failed_plugin, outcome.message)

    def _all_is_well(self) -> None:
        self._report_recovered()
        self.remind()

    def remind(self) -> None:
        """Report harmful plugins again."""
        for name, (plugin, message, _) in self._condemned.items():
            self._report_failing(name, plugin, message)
