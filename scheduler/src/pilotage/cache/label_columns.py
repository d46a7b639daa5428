"""Labels of nodes as columns of small numbers, for the keys that anyone asked for."""

from collections.abc import Mapping, Sequence

import numpy as np

from pilotage.cache.columns import Columns
from pilotage.framework.nodes import ABSENT, Ids, NodeInfo

SPARE_VALUES = 1024  # values of nodes that are gone, kept until they outnumber the nodes by this
MOST_KEYS = 1000  # with a column each; pods may name any key, and one that was dropped is built anew


class _Label:
    __slots__ = ("column", "ids", "values")

    def __init__(self, columns: Columns) -> None:
        self.column = columns.new(np.int32)
        self.values = [""]  # at ABSENT
        self.ids: dict[str, int] = {}

    def write(self, slot: int, value: str | None) -> None:
        if value is None:
            self.column.data[slot] = ABSENT
            return
        known = self.ids.get(value)
        if known is None:
            known = self.ids[value] = len(self.values)
            self.values.append(value)
        self.column.data[slot] = known


class LabelColumns:
    """One column for each label key in use."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._labels: dict[str, _Label] = {}

    def ids(self, key: str, infos: Sequence[NodeInfo]) -> Ids:
        """Return the ids of a label's values, by slot; from now on the key is in use."""
        label = self._labels.get(key)
        if label is None:
            if len(self._labels) >= MOST_KEYS:
                del self._labels[next(iter(self._labels))]
            label = self._labels[key] = _Label(self._columns)
            for slot, info in enumerate(infos):
                label.write(slot, info.labels.get(key))
        return label.column.data

    def values(self, key: str) -> Sequence[str]:
        """Return the values of a key in use; ids index them."""
        return self._labels[key].values

    def id_of(self, key: str, value: str) -> int:
        """Return the id of a value, or ABSENT."""
        return self._labels[key].ids.get(value, ABSENT)

    def write(self, slot: int, labels: Mapping[str, str], nodes: int) -> None:
        """Take over the labels of one node."""
        for key in [key for key, label in self._labels.items() if len(label.values) > 2 * nodes + SPARE_VALUES]:
            del self._labels[key]  # nodes come and go with names of their own; it is built anew when asked for
        for key, label in self._labels.items():
            label.write(slot, labels.get(key))
