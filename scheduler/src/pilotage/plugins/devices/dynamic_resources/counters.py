"""Counters that the devices of a pool share, and what is left of them."""

from collections.abc import Sequence

from pilotage.kinds.devices import Amount
from pilotage.model.quantity import InvalidQuantity, parse
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind
from pilotage.plugins.devices.dynamic_resources.slice_facts import SliceFacts
from pilotage.plugins.devices.dynamic_resources.usage import PoolUse

CounterName = tuple[str, str]  # set and counter


class Counters:
    """The counters of a pool, and the devices that draw from them on any node."""

    def __init__(self, pieces: Sequence[SliceFacts]) -> None:
        self.flaw = ""
        self.totals: dict[CounterName, int] = {}
        sets: set[str] = set()
        for piece in pieces:
            for counter_set in piece.spec.shared_counters:
                if counter_set.name in sets:
                    self.flaw = self.flaw or f"duplicate counter set {counter_set.name}"
                sets.add(counter_set.name)
                for name, counter in counter_set.counters.items():
                    self._count(counter_set.name, name, counter.value)
        devices = (pair for piece in pieces for pair in zip(piece.names, piece.kinds, strict=True))
        self._drawing = [(name, kind) for name, kind in devices if kind.draws]
        self.flaw = self.flaw or next(filter(None, (self._misfit(sets, kind) for _, kind in self._drawing)), "")
        self.key = tuple(sorted(self.totals.items()))
        self._known: tuple[int, tuple[int, ...]] = (-1, ())

    def available(self, use: PoolUse) -> tuple[int, ...]:
        """Return what is left of each counter."""
        version, left = self._known
        if version != use.version:
            left = self._left(use)
            self._known = use.version, left
        return left

    def _left(self, use: PoolUse) -> tuple[int, ...]:
        left = dict(self.key)
        for name, kind in self._drawing:
            if name in use.alone or name in use.shares:
                for draw in kind.draws:
                    for counter, amount in draw.counters:
                        left[draw.counter_set, counter] -= amount
        return tuple(left.values())

    def _count(self, counter_set: str, name: str, value: Amount) -> None:
        try:
            self.totals[counter_set, name] = parse(value).nanos
        except InvalidQuantity as wrong:
            self.flaw = self.flaw or f"counter {name} of set {counter_set}: {wrong}"

    def _misfit(self, sets: set[str], kind: DeviceKind) -> str:
        for draw in kind.draws:
            if draw.counter_set not in sets:
                return f"counter set {draw.counter_set} not found"
            for name, _ in draw.counters:
                if (draw.counter_set, name) not in self.totals:
                    return f"counter {name} not found in counter set {draw.counter_set}"
        return ""
