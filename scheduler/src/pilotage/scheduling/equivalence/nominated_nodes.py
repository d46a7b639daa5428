"""Verdicts on nodes that are nominated for other pods, for one class of pods."""

from collections.abc import Iterable, Iterator

import numpy as np

from pilotage.framework.api.nodes import Bools
from pilotage.framework.api.verdicts import Codes

NOT_NOMINATED = np.iinfo(np.uint16).max  # not a code of any rejection


class NominatedNodeCache:
    """The verdicts on such nodes by slot, for one priority: it decides which nominations count."""

    def __init__(self) -> None:
        self._codes: Codes = np.zeros(0, np.uint16)
        self._priority: int | None = None
        self._stale: set[int] = set()  # slots that have changed
        self.version = -1  # of the known nominations

    def __bool__(self) -> bool:
        """Return whether it contains any verdict."""
        return self._priority is not None

    def forget(self, slots: Iterable[int] | None) -> None:
        """Forget these nodes, or all of them."""
        if slots is None:
            self._priority, self._stale = None, set()
        else:
            self._stale.update(slots)

    def is_for(self, priority: int, count: int) -> bool:
        """Return whether the verdicts are for pods of this priority and for this number of nodes."""
        return self._priority == priority and len(self._codes) == count

    def start(self, priority: int, count: int, nominated: Iterable[int]) -> None:
        """Start over with the nominated nodes, without verdicts."""
        self._codes = np.full(count, NOT_NOMINATED, np.uint16)
        self._priority, self._stale = priority, set(nominated)

    def outdated(self, count: int) -> Iterator[int]:
        """Yield the slots to evaluate again; each counts as evaluated afterwards."""
        for slot in list(self._stale):
            if slot < count:
                yield slot
            self._stale.discard(slot)

    def set(self, slot: int, code: int) -> None:
        """Keep the verdict on a node; NOT_NOMINATED if no nomination counts."""
        self._codes[slot] = code

    def write_over(self, codes: Codes) -> Bools:
        """Write these verdicts over those without nominations, and return a mask of their slots."""
        nominated: Bools = self._codes != NOT_NOMINATED
        np.copyto(codes, self._codes, where=nominated)
        return nominated
