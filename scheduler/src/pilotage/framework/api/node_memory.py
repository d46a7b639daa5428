"""Cached results about nodes for pods of one equivalence class."""

from collections.abc import Iterable
from typing import Any


class NodeMemory:
    """Results by slot; the owner forgets a node when it, its pods, or its nominated pods change."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[int, dict[str, tuple[int, Any]]] = {}  # by slot and topic

    def __len__(self) -> int:
        """Return the number of nodes with results."""
        return len(self._found)

    def recall(self, what: str, slot: int, priority: int) -> Any:
        """Return what was remembered about a node for pods of a priority, or None."""
        known = self._found.get(slot)
        entry = None if known is None else known.get(what)
        return None if entry is None or entry[0] != priority else entry[1]

    def remember(self, what: str, slot: int, priority: int, found: Any) -> None:
        """Remember a result about a node, replacing that for another priority."""
        self._found.setdefault(slot, {})[what] = priority, found

    def forget(self, slots: Iterable[int] | None) -> None:
        """Forget the results about some nodes, or about all of them."""
        if slots is None:
            self._found.clear()
        else:
            for slot in slots:
                self._found.pop(slot, None)
