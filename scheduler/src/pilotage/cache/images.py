"""The container images of all nodes."""

from collections.abc import Mapping

import numpy as np

from pilotage.framework.api.nodes import Ids
from pilotage.model.node import Node


class ImageTable:
    """Images by name; the size is the first one that a node reported."""

    def __init__(self) -> None:
        self.version = 0
        self._sizes: dict[str, int] = {}
        self._holders: dict[str, set[str]] = {}
        self._found: dict[str, tuple[int, Ids]] = {}
        self._found_at = -1

    def add(self, node: Node) -> None:
        """Add a node's images."""
        for image in node.images:
            for name in image.names:
                self._sizes.setdefault(name, image.size_bytes)
                self._holders.setdefault(name, set()).add(node.name)

    def remove(self, node: Node) -> None:
        """Forget a node's images."""
        for name in {name for image in node.images for name in image.names}:
            self._holders[name].discard(node.name)
            if not self._holders[name]:
                del self._holders[name], self._sizes[name]

    def find(self, name: str, slots: Mapping[str, int], nodes: int) -> tuple[int, Ids] | None:
        """Return the size of an image and, by slot, 1 where a node has it."""
        holders = self._holders.get(name)
        if holders is None:
            return None
        if self._found_at != self.version:
            self._found.clear()
            self._found_at = self.version
        if name not in self._found:
            has = np.zeros(nodes, np.int32)
            has[[slots[holder] for holder in holders]] = 1
            self._found[name] = self._sizes[name], has
        return self._found[name]
