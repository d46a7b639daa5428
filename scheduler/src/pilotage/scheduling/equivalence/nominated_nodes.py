"""The nodes that are nominated for others, as pods of one class see them."""

from collections.abc import Iterable, Iterator

import numpy as np

from pilotage.framework.api.nodes import Bools
from pilotage.framework.api.verdicts import Codes

NOT_NOMINATED = np.iinfo(np.uint16).max  # a code that no rejection has


class NominatedNodeCache:
    """The verdicts on such nodes by slot, kept for one priority, which decides which nominations count."""

    def __init__(self) -> None:
        self._codes: Codes = np.zeros(0, np.uint16)
        self._priority: int | None = None
        self._stale: set[int] = set()  # slots about which something has changed
        self.version = -1  # of the known nominations

    def __bool__(self) -> bool:
        """Return whether anything is known."""
        return self._priority is not None

    def forget(self, slots: Iterable[int] | None) -> None:
        """Record that these nodes have changed, or all."""
        if slots is None:
            self._priority, self._stale = None, set()
        else:
            self._stale.update(slots)

    def is_for(self, priority: int, count: int) -> bool:
        """Return whether what is known is about pods of this priority and so many nodes."""
        return self._priority == priority and len(self._codes) == count

    def start(self, priority: int, count: int, nominated: Iterable[int]) -> None:
        """Start with only the knowledge of which nodes are nominated."""
        self._codes = np.full(count, NOT_NOMINATED, np.uint16)
        self._priority, self._stale = priority, set(nominated)

    def outdated(self, count: int) -> Iterator[int]:
        """Yield the slots to evaluate again, and treat each as known afterwards."""
        for slot in list(self._stale):
            if slot < count:
                yield slot
            self._stale.discard(slot)

    def set(self, slot: int, code: int) -> None:
        """Keep the verdict on a node: NOT_NOMINATED without a nomination that counts."""
        self._codes[slot] = code

    def write_over(self, codes: Codes) -> Bools:
        """Write these verdicts over those of the nodes as such, and mark where."""
        nominated: Bools = self._codes != NOT_NOMINATED
        np.copyto(codes, self._codes, where=nominated)
        return nominated
