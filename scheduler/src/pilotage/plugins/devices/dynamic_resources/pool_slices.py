"""The slices of one pool, and the views that nodes have of it."""

from collections import Counter

from pilotage.model.selectors import Labels
from pilotage.plugins.devices.dynamic_resources.pools import EVERY_DEVICE, PoolView, view_of
from pilotage.plugins.devices.dynamic_resources.slice_facts import SliceFacts
from pilotage.plugins.devices.dynamic_resources.usage import PoolKey

MOST_VIEWS = 4096  # of one pool; more are built again on demand


class PoolSlices:
    """All slices of a pool, by name."""

    def __init__(self, key: PoolKey) -> None:
        self.key = key
        self.pieces: dict[str, SliceFacts] = {}
        self.homes: Counter[str | None] = Counter()  # how many slices name a node as the only one; None: other slices
        self._views: dict[tuple[tuple[str, ...], int], PoolView | None] = {}
        self._sorted: list[SliceFacts] | None = None
        self._at_home: dict[str | None, list[SliceFacts]] | None = None

    @property
    def home(self) -> str | None:
        """Return the node that alone has a part of the pool, if there is one."""
        return next(iter(self.homes)) if len(self.homes) == 1 else None

    def put(self, piece: SliceFacts) -> None:
        """Add or replace a slice."""
        self.drop(piece.name)
        self.pieces[piece.name] = piece
        self.homes[piece.home] += 1

    def drop(self, name: str) -> None:
        """Forget a slice, if it is known."""
        self.forget_views()
        piece = self.pieces.pop(name, None)
        if piece is not None:
            self.homes[piece.home] -= 1
            if not self.homes[piece.home]:
                del self.homes[piece.home]

    def forget_views(self) -> None:
        """Note that slices have changed."""
        self._views.clear()
        self._sorted = self._at_home = None

    def everything(self) -> list[SliceFacts]:
        """Return the slices in order; those of a feature that is not known here do not count."""
        if self._sorted is None:
            known = (piece for piece in self.pieces.values() if not piece.has_groups)
            self._sorted = sorted(known, key=lambda piece: piece.name)
        return self._sorted

    def view(self, labels: Labels, node: str) -> PoolView | None:
        """Return the pool as a node sees it; None if it has nothing for the node."""
        if len(self.homes) == 1 and self.home is not None:
            relevant = self.everything() if self.home == node else []
        else:
            relevant = [piece for piece in self._candidates(node) if piece.reaches_node(labels, node)]
        if not relevant:
            return None
        here = _devices_here(relevant, labels, node)
        key = tuple(piece.name for piece in relevant), here
        if key not in self._views:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
            self._views[key] = view_of(self.key, relevant, self.everything(), here)
        return self._views[key]

    def _candidates(self, node: str) -> list[SliceFacts]:
        if self._at_home is None:
            self._at_home = {}
            for piece in self.everything():
                self._at_home.setdefault(piece.home, []).append(piece)
        local, others = self._at_home.get(node, []), self._at_home.get(None, [])
        return sorted(local + others, key=lambda piece: piece.name) if local and others else local or others


def _devices_here(relevant: list[SliceFacts], labels: Labels, node: str) -> int:
    if all(piece.reach is not None for piece in relevant):
        return EVERY_DEVICE
    mask, place = 0, 0
    for piece in relevant:
        for reach in piece.reaches or (piece.reach,) * len(piece.names):
            if reach is None or reach.includes(labels, node):
                mask |= 1 << place
            place += 1
    return mask
