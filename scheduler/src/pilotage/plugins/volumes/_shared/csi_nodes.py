"""CSINode data as columns by slot, updated only for changed objects."""

from collections.abc import Callable

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.node_facts import LastLook
from pilotage.framework.api.nodes import Ints
from pilotage.kinds.storage import CSINode

About = Callable[[CSINode], int]


class CSINodeColumns:
    """One number for each node and each key."""

    def __init__(self) -> None:
        self._look = LastLook()
        self._told: list[CSINode | None] = []
        self._columns: dict[tuple[str, ...], tuple[About, int, Ints]] = {}

    def column(self, cycle: Cycle, question: tuple[str, ...], about: About, otherwise: int = 0) -> Ints:
        """Return the column for all nodes; a key must always be used with the same function."""
        self._catch_up(cycle)
        known = self._columns.get(question)
        if known is None:
            answers = (otherwise if told is None else about(told) for told in self._told)
            known = about, otherwise, np.fromiter(answers, np.int64, len(self._told))
            self._columns[question] = known
        return known[2]

    def _catch_up(self, cycle: Cycle) -> None:
        nodes, get = cycle.nodes, cycle.objects.get
        changed = self._look.changes(nodes, cycle.objects.version(CSINode))
        if changed is not None and len(nodes) == len(self._told):
            slots = changed.tolist()
            told = [get(CSINode, nodes[slot].node.name) for slot in slots]
        else:
            slots = list(range(len(nodes)))
            told = [get(CSINode, info.node.name) for info in nodes]
            self._resize(len(nodes))
        for slot, new in zip(slots, told, strict=True):
            if new is not self._told[slot]:
                self._told[slot] = new
                for about, otherwise, column in self._columns.values():
                    column[slot] = otherwise if new is None else about(new)

    def _resize(self, size: int) -> None:
        if size == len(self._told):
            return
        self._told = (self._told + [None] * size)[:size]
        for question, (about, otherwise, column) in self._columns.items():
            resized = np.full(size, otherwise, np.int64)
            resized[: len(column)] = column[:size]
            self._columns[question] = about, otherwise, resized
