"""A journal of changed slots, so that readers only have to look at what changed since their last read."""

import numpy as np

from pilotage.framework.api.nodes import Ids

NONE: Ids = np.zeros(0, np.int32)
SHORTEST = 4096  # entries that are always kept


class Journal:
    """Slots in the order of their changes; the version is the number of changes so far."""

    def __init__(self) -> None:
        self._slots: Ids = np.zeros(4 * SHORTEST, np.int32)
        self._length = 0
        self._shrunk_at = 0  # the version of the last decrease in slots
        self.version = 0

    def note(self, slot: int, count: int) -> None:
        """Record a change of a slot, given the number of slots."""
        if self._length == len(self._slots):
            self._forget(count)
        self._slots[self._length] = slot
        self._length += 1
        self.version += 1

    def shrink(self) -> None:
        """Record the removal of the last slot, which may be among the recorded changes."""
        self._shrunk_at = self.version

    def since(self, version: int, count: int) -> Ids | None:
        """Return the slots below a count that changed after a version, possibly with duplicates.

        None if the version is too old, or if reading all slots is as cheap.
        """
        changes = self.version - version
        if changes == 0:
            return NONE
        if changes > self._length or changes > max(count, SHORTEST):
            return None
        slots = self._slots[self._length - changes : self._length]
        return slots if version >= self._shrunk_at else slots[slots < count]

    def distinct_since(self, version: int, count: int) -> Ids | None:
        """Return the same with each slot once."""
        slots = self.since(version, count)
        return slots if slots is None or len(slots) < 2 else np.unique(slots)

    def _forget(self, count: int) -> None:
        """Drop the older half, or grow if there are many more nodes than before."""
        kept = self._slots[self._length // 2 : self._length]
        self._slots = np.zeros(max(4 * SHORTEST, 4 * count), np.int32)
        self._slots[: len(kept)] = kept
        self._length = len(kept)
