"""How many binds of a profile kubelets reject, over the last ten minutes."""

from collections import deque

MINUTE = 60.0
MINUTES = 10
TOLERATED = 0.005  # rejections for each bind


class Contention:
    """The binds and rejections of one profile; the counters only grow."""

    def __init__(self) -> None:
        self.binds = self.rejections = 0  # ever
        # Snapshots at the end of each minute: minute, binds, rejections; the oldest first.
        self._ends: deque[tuple[int, int, int]] = deque([(-1, 0, 0)], maxlen=MINUTES + 1)

    def turn(self, now: float) -> None:
        """Take a snapshot; call this at least once a minute."""
        minute = int(now // MINUTE)
        if self._ends[-1][0] == minute:
            self._ends.pop()
        self._ends.append((minute, self.binds, self.rejections))

    def counts(self, now: float) -> tuple[int, int]:
        """Return the approximate binds and rejections of the last ten minutes."""
        first = int(now // MINUTE) - MINUTES
        _, binds, rejections = next((end for end in reversed(self._ends) if end[0] <= first), self._ends[0])
        return self.binds - binds, self.rejections - rejections

    def is_too_much(self, now: float) -> bool:
        """Return whether too many binds are rejected."""
        binds, rejections = self.counts(now)
        return rejections > TOLERATED * max(binds, rejections)
