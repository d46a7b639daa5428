"""Arrays with one entry for each node, which grow and move together."""

from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

FIRST_CAPACITY = 64


class Column:
    """One fact about every node, by slot; entries past the last node are zero."""

    __slots__ = ("__weakref__", "data")

    def __init__(self, data: NDArray[Any]) -> None:
        self.data = data


class Columns:
    """All columns of a table: they have the same length and the same order of nodes."""

    def __init__(self) -> None:
        self._capacity = FIRST_CAPACITY
        self.moves = 0  # how often a node was moved to another slot
        self._columns: WeakSet[Column] = WeakSet()  # unused columns are garbage collected, and no longer updated

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def new(self, kind: type[np.generic]) -> Column:
        """Return a new column of zeros."""
        column = Column(np.zeros(self._capacity, kind))
        self._columns.add(column)
        return column

    def make_room(self, slots: int) -> None:
        """Grow every column to at least this many entries."""
        if slots <= self._capacity:
            return
        self._capacity = max(slots, 2 * self._capacity)
        for column in self._columns:
            grown = np.zeros(self._capacity, column.data.dtype)
            grown[: len(column.data)] = column.data
            column.data = grown

    def fill(self, slot: int, last: int) -> None:
        """Move the last node into the slot of a removed one."""
        self.moves += 1
        for column in self._columns:
            column.data[slot] = column.data[last]
            column.data[last] = 0
