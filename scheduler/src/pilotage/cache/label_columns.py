"""Labels of nodes as columns of small integers, for keys that plugins read and nodes have."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from pilotage.cache.columns import Columns
from pilotage.framework.api.nodes import ABSENT, Bools, Ids, Ints, NodeInfo
from pilotage.model.selectors import integer

SPARE_VALUES = 1024  # values of deleted nodes, kept until they outnumber the nodes by this
MOST_BYTES = 64 * 1024 * 1024  # of all columns and values; the least recently used key is evicted first
BYTES_PER_NODE = 4
BYTES_PER_VALUE = 200  # its text and its entries in two containers
FEWEST_KEYS = 64  # always kept, however large the cluster is


class _Label:
    __slots__ = ("_numbers", "column", "ids", "values")

    def __init__(self, columns: Columns) -> None:
        self.column = columns.new(np.int32)
        self.values = [""]  # at ABSENT
        self.ids: dict[str, int] = {}
        self._numbers: tuple[Ints, Bools] | None = None

    def write(self, slot: int, value: str | None) -> None:
        if value is None:
            self.column.data[slot] = ABSENT
            return
        known = self.ids.get(value)
        if known is None:
            known = self.ids[value] = len(self.values)
            self.values.append(value)
        self.column.data[slot] = known

    @property
    def size(self) -> int:
        return BYTES_PER_NODE * len(self.column.data) + BYTES_PER_VALUE * len(self.values)

    def numbers(self) -> tuple[Ints, Bools]:
        """Return the values as whole numbers, and a mask of those that are numbers; computed again for new values."""
        if self._numbers is None or len(self._numbers[0]) != len(self.values):
            read = [None, *map(integer, self.values[1:])]
            numbers = np.array([number or 0 for number in read], np.int64)
            self._numbers = numbers, np.array([number is not None for number in read], np.bool_)
        return self._numbers


class LabelColumns:
    """One column for each label key in use; keys that no node has share an empty one."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._nobody = _Label(columns)
        self._labels: dict[str, _Label] = {}  # the least recently used first
        self._holders: Counter[str] = Counter()  # how many nodes have a key

    def has(self, key: str) -> bool:
        """Return whether any node has a label."""
        return key in self._holders

    def ids(self, key: str, infos: Sequence[NodeInfo]) -> Ids:
        """Return the ids of a label's values by slot; this puts the key in use."""
        return self._label(key, infos).column.data

    def values(self, key: str, infos: Sequence[NodeInfo]) -> Sequence[str]:
        """Return the values of a key; ids index them."""
        return self._label(key, infos).values

    def numbers(self, key: str, infos: Sequence[NodeInfo]) -> tuple[Ints, Bools]:
        """Return the values of a key as whole numbers, and a mask of those that are numbers; ids index both."""
        return self._label(key, infos).numbers()

    def id_of(self, key: str, value: str, infos: Sequence[NodeInfo]) -> int:
        """Return the id of a value, or ABSENT."""
        return self._label(key, infos).ids.get(value, ABSENT)

    def write(self, slot: int, before: Mapping[str, str], labels: Mapping[str, str], nodes: int) -> None:
        """Update the labels of one node."""
        self._count(before, labels)
        for key in [key for key, label in self._labels.items() if len(label.values) > 2 * nodes + SPARE_VALUES]:
            del self._labels[key]  # unique values of replaced nodes accumulate; rebuilt on demand
        for key, label in self._labels.items():
            label.write(slot, labels.get(key))

    def forget(self, labels: Mapping[str, str]) -> None:
        """Remove a node with these labels."""
        self._count(labels, {})

    def _count(self, before: Mapping[str, str], labels: Mapping[str, str]) -> None:
        if before.keys() == labels.keys():
            return
        self._holders.update(labels.keys())
        self._holders.subtract(before.keys())
        for key in before:
            if not self._holders[key]:
                del self._holders[key]
                self._labels.pop(key, None)

    def _label(self, key: str, infos: Sequence[NodeInfo]) -> _Label:
        label = self._labels.pop(key, None)
        if label is None:
            if key not in self._holders:
                return self._nobody
            label = self._built(key, infos)
        self._labels[key] = label
        return label

    def _built(self, key: str, infos: Sequence[NodeInfo]) -> _Label:
        label = _Label(self._columns)
        for slot, info in enumerate(infos):
            if (value := info.labels.get(key)) is not None:
                label.write(slot, value)
        size = label.size + sum(each.size for each in self._labels.values())
        while size > MOST_BYTES and len(self._labels) >= FEWEST_KEYS:
            size -= self._labels.pop(next(iter(self._labels))).size
        return label
