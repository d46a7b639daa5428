"""Pools as nodes see them: complete or not, valid or not, and their devices in order."""

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from pilotage.plugins.devices.dynamic_resources.counters import CounterName, Counters
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind
from pilotage.plugins.devices.dynamic_resources.slice_facts import SliceFacts
from pilotage.plugins.devices.dynamic_resources.usage import NO_USE, PoolKey, PoolUse, Usage


class Status(Enum):
    """Whether the devices of a pool can be used."""

    READY = "ready"
    INCOMPLETE = "is currently being updated"
    INVALID = "is currently invalid"


READY: Final = Status.READY
EVERY_DEVICE: Final = -1  # a mask
NO_COUNTERS: Final = Counters(())


class PoolShape:
    """A pool without names; pools that are equal apart from names share one."""

    __slots__ = ("__weakref__", "counters", "draws", "here", "kinds", "size", "status", "totals")

    def __init__(
        self, status: Status, kinds: tuple[DeviceKind, ...], here: int, counters: tuple[tuple[CounterName, int], ...]
    ) -> None:
        self.status, self.kinds, self.here = status, kinds, here
        self.size = len(kinds)
        self.counters = {name: index for index, (name, _) in enumerate(counters)}
        self.totals = tuple(total for _, total in counters)
        self.draws = [self.drawn(kind) for kind in kinds] if counters else [()] * len(kinds)

    def drawn(self, kind: DeviceKind) -> tuple[tuple[int, int], ...]:
        """Return what a device draws: indices of counters and amounts."""
        index = self.counters
        return tuple((index[draw.counter_set, name], amount) for draw in kind.draws for name, amount in draw.counters)


class Share(NamedTuple):
    """What claims hold of a device in shares; it need not be a shared device any more."""

    place: int
    consumed: tuple[int, ...]  # of each capacity, in billionths


class PoolState:
    """A pool without names, and what is taken of it; pools that are equal in both share one."""

    __slots__ = ("__weakref__", "available", "shape", "shared", "shares", "taken")

    def __init__(self, shape: PoolShape, taken: int, shares: tuple[Share, ...], available: tuple[int, ...]) -> None:
        self.shape = shape
        self.taken = taken  # a bit for each device that a claim holds alone
        self.shares = {share.place: share.consumed for share in shares}
        self.shared = sum(1 << share.place for share in shares)  # a bit for each device with a share
        self.available = available  # of each counter; negative if too much is drawn


class PoolView:
    """A pool as the nodes see it that can use the same of its slices."""

    __slots__ = ("_counters", "_index", "_known", "key", "names", "pieces", "shape", "waits_for_conditions", "why")

    def __init__(
        self, key: PoolKey, pieces: Sequence[SliceFacts], shape: PoolShape, counters: Counters, why: str
    ) -> None:
        self.key, self.pieces, self.shape, self.why = key, pieces, shape, why
        self.names = tuple(name for piece in pieces for name in piece.names) if shape.size else ()
        devices = pieces if shape.status is READY else ()  # other pools are not looked into
        self.waits_for_conditions = any(kind.waits_for_conditions for piece in devices for kind in piece.kinds)
        self._counters = counters
        self._index: dict[str, int] | None = None
        self._known: tuple[int, PoolState] | None = None

    @property
    def order(self) -> tuple[bool, str, str]:
        """Return what pools are sorted by."""
        return self.waits_for_conditions, *self.key

    def piece_at(self, place: int) -> tuple[SliceFacts, int]:
        """Return the slice that has a device, and its place there."""
        for piece in self.pieces:
            if place < len(piece.names):
                return piece, place
            place -= len(piece.names)
        raise IndexError(place)

    def state(self, usage: Usage) -> PoolState:
        """Return the pool with what is taken of it now."""
        use = usage.of(self.key)
        known = self._known
        if known is None or known[0] != use.version:
            known = self._known = use.version, self._state(use)
        return known[1]

    def _state(self, use: PoolUse) -> PoolState:
        available = self._counters.available(use) if self.shape.totals else ()
        if use is NO_USE or not self.shape.size:
            return _state_of(self.shape, 0, (), available)
        if self._index is None:
            self._index = {name: place for place, name in enumerate(self.names)}
        index = self._index
        taken = 0
        for name in use.alone:
            place = index.get(name)
            if place is not None:
                taken |= 1 << place
        shares = self._shares(use, index) if use.shares else ()
        return _state_of(self.shape, taken, shares, available)

    def _shares(self, use: PoolUse, index: dict[str, int]) -> tuple[Share, ...]:
        held = sorted((index[name], name) for name in use.shares if name in index)
        kinds, nothing = self.shape.kinds, dict[str, int]()
        shares = []
        for place, name in held:
            sums = use.consumed.get(name, nothing)
            shares.append(Share(place, tuple(sums.get(each.name, 0) for each in kinds[place].capacities)))
        return tuple(shares)


def view_of(
    key: PoolKey, relevant: Sequence[SliceFacts], everything: Collection[SliceFacts], here: int = EVERY_DEVICE
) -> PoolView | None:
    """Return the pool of the slices that some nodes can use, or None if it is obsolete for them.

    Both are sorted by name and without slices of an unknown feature; `here` is a mask of the devices of all relevant
    slices.
    """
    latest = max(piece.generation for piece in relevant)
    kept = [piece for piece in relevant if piece.generation == latest]
    if len(kept) < len(relevant) and here != EVERY_DEVICE:
        here = _without_old(relevant, latest, here)
    whole: Sequence[SliceFacts] = kept
    if len(kept) != kept[0].count:
        if any(piece.generation > latest for piece in everything):
            return None
        whole = [piece for piece in everything if piece.generation == latest]
        if len(whole) != kept[0].count:
            return PoolView(key, kept, _shape_of(Status.INCOMPLETE, (), EVERY_DEVICE, ()), NO_COUNTERS, "")
    counters = Counters(whole) if any(piece.spec.shared_counters or piece.draws for piece in whole) else NO_COUNTERS
    why = counters.flaw or _mistake(kept)
    if why:
        return PoolView(key, kept, _shape_of(Status.INVALID, (), EVERY_DEVICE, ()), NO_COUNTERS, why)
    kinds = kept[0].kinds if len(kept) == 1 else tuple(kind for piece in kept for kind in piece.kinds)
    return PoolView(key, kept, _shape_of(READY, kinds, here, counters.key), counters, "")


def _without_old(relevant: Sequence[SliceFacts], latest: int, here: int) -> int:
    mask, width = 0, 0
    for piece in relevant:
        size = len(piece.names)
        if piece.generation == latest:
            mask |= (here & ((1 << size) - 1)) << width
            width += size
        here >>= size
    return mask


def _mistake(kept: Sequence[SliceFacts]) -> str:
    seen: set[str] = set()
    for piece in kept:
        for name, kind in zip(piece.names, piece.kinds, strict=True):
            if name in seen:
                return f"duplicate device name {name}"
            if kind.flaw:
                return f"device {name}: {kind.flaw}"
            seen.add(name)
    return ""


_ShapeKey = tuple[Status, tuple[DeviceKind, ...], int, tuple[tuple[CounterName, int], ...]]
_shapes: WeakValueDictionary[_ShapeKey, PoolShape] = WeakValueDictionary()
_StateKey = tuple[PoolShape, int, tuple[Share, ...], tuple[int, ...]]
_states: WeakValueDictionary[_StateKey, PoolState] = WeakValueDictionary()


def _shape_of(
    status: Status, kinds: tuple[DeviceKind, ...], here: int, counters: tuple[tuple[CounterName, int], ...]
) -> PoolShape:
    key = status, kinds, here, counters
    known = _shapes.get(key)
    if known is None:
        known = _shapes[key] = PoolShape(*key)
    return known


def _state_of(shape: PoolShape, taken: int, shares: tuple[Share, ...], available: tuple[int, ...]) -> PoolState:
    key = shape, taken, shares, available
    known = _states.get(key)
    if known is None:
        known = _states[key] = PoolState(*key)
    return known
