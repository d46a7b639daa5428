"""Periodically finds pods that have waited too long, in case an event was missed."""

from collections.abc import Callable, Sequence

from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.unschedulable import Pool

SWEEP_EVERY = 30.0  # seconds between two sweeps


class Sweep:
    """The schedule of sweeps of some pools, and the pods that they find."""

    def __init__(self, clock: Callable[[], float], longest: float, pools: Sequence[Pool]) -> None:
        self._clock, self._longest, self._pools = clock, longest, pools
        self._next = clock() + SWEEP_EVERY

    def next(self) -> float | None:
        """Return when the next sweep is due; None if there are no pods."""
        return self._next if any(self._pools) else None

    def is_due(self) -> bool:
        """Return whether a sweep is due."""
        return self._clock() >= self._next

    def overdue(self) -> list[QueuedPod]:
        """Sweep now, and mark pods that have waited too long."""
        now = self._clock()
        self._next = now + SWEEP_EVERY
        found = [queued for pool in self._pools for queued in pool.untouched_since(now - self._longest)]
        for queued in found:
            queued.was_flushed, queued.flush_timestamp = True, now
        return found
