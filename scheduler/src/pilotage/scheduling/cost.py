"""The cost of attempts: a pod that uses much of the scheduler's time without success waits longer before a retry."""

from collections.abc import Callable
from math import ceil
from time import monotonic

from pilotage.model.gangs import GangName
from pilotage.scheduling.outcome import Unplaced

EXPENSIVE = 0.1  # seconds of work for one attempt; below, the usual back-off is long enough
SHARE = 10  # the wait as a multiple of the cost: one pod or gang gets at most a tenth of the time
LONGEST_REST = 600.0  # seconds
MOST_GANGS = 1_000  # remembered before those that may be tried again are removed


def rest_after(seconds: float) -> float:
    """Return how long to wait after a failed attempt with this cost."""
    return min(seconds * SHARE, LONGEST_REST) if seconds >= EXPENSIVE else 0.0


def slow_down_message(seconds: float, rest: float) -> str:
    """Return the message about the wait, for the owner of a pod or a gang."""
    return (
        f"the last scheduling attempt took {seconds:.2f} s of the scheduler's time; "
        f"it is retried after {ceil(rest)} s, so that it does not delay others"
    )


class RestingGangs:
    """Gangs whose last attempt was expensive, until they may be tried again."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: dict[GangName, tuple[float, float]] = {}  # and the cost

    def __len__(self) -> int:
        return len(self._until)

    def add(self, gang: GangName, seconds: float) -> None:
        """Delay the next attempt of a gang if this one was expensive."""
        rest, now = rest_after(seconds), self._clock()
        if not rest:
            return
        if len(self._until) >= MOST_GANGS:
            self._until = {name: each for name, each in self._until.items() if each[0] > now}
        self._until[gang] = now + rest, seconds

    def outcome(self, gang: GangName) -> Unplaced | None:
        """Return the outcome for a pod whose gang must still wait; None if it may be tried."""
        known = self._until.get(gang)
        if known is None:
            return None
        until, seconds = known
        left = until - self._clock()
        if left <= 0:
            del self._until[gang]
            return None
        # No event helps.
        return Unplaced(f"PodGroup {gang}: {slow_down_message(seconds, left)}", nominate=None, rest=left)
