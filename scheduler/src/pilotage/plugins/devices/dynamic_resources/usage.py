"""Which devices claims hold."""

from typing import NamedTuple

from pilotage.kinds.devices import AllocatedDevice, Allocation, Amount
from pilotage.model.quantity import LARGEST, NANOS, InvalidQuantity, parse
from pilotage.plugins.devices.dynamic_resources.trail import Trail

PoolKey = tuple[str, str]  # driver and name


class Held(NamedTuple):
    """A device that a claim holds: alone, or a share of it with what it consumes in billionths."""

    pool: PoolKey
    device: str
    is_share: bool
    consumed: tuple[tuple[str, int], ...]


class PoolUse:
    """What claims hold of a pool."""

    __slots__ = ("alone", "consumed", "shares", "version")

    def __init__(self) -> None:
        self.alone: dict[str, int] = {}  # claims that hold a device exclusively, by its name
        self.shares: dict[str, int] = {}
        self.consumed: dict[str, dict[str, int]] = {}  # by device and capacity, in billionths
        self.version = 0  # other than before if something changed, also in the use of a pool that was empty meanwhile

    @property
    def empty(self) -> bool:
        """Return whether nothing of the pool is held."""
        return not self.alone and not self.shares

    def add(self, held: Held, sign: int) -> None:
        """Add what a claim holds, or take it away."""
        _count(self.shares if held.is_share else self.alone, held.device, sign)
        if not held.consumed:
            return
        sums = self.consumed.setdefault(held.device, {})
        for name, amount in held.consumed:
            _count(sums, name, sign * amount)
        if not sums:
            del self.consumed[held.device]


NO_USE = PoolUse()


class Usage:
    """What each claim holds, by its uid, and the sums for each device."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Held, ...]] = {}
        self._pools: dict[PoolKey, PoolUse] = {}
        self._version = 0
        self.changed: Trail[PoolKey] = Trail()  # pools whose use is different now

    def take(self, claim_uid: str, allocation: Allocation) -> None:
        """Note what a claim holds, in place of what it held before."""
        held = tuple(_held(each) for each in allocation.devices.results if not each.admin_access)
        before = self._held.get(claim_uid, ())
        if held == before:
            return
        self._add(before, -1)
        self._add(held, 1)
        self._held[claim_uid] = held

    def release(self, claim_uid: str) -> None:
        """Note that a claim holds nothing."""
        self._add(self._held.pop(claim_uid, ()), -1)

    def of(self, pool: PoolKey) -> PoolUse:
        """Return what is held of a pool."""
        return self._pools.get(pool, NO_USE)

    def _add(self, everything: tuple[Held, ...], sign: int) -> None:
        for held in everything:
            pool = self._pools.get(held.pool)
            if pool is None:
                pool = self._pools[held.pool] = PoolUse()
            pool.add(held, sign)
            self._version += 1
            pool.version = self._version
            if pool.empty:
                del self._pools[held.pool]
            self.changed.note(held.pool)


def _held(result: AllocatedDevice) -> Held:
    consumed = tuple((name, _nanos(amount)) for name, amount in sorted(result.consumed_capacity.items()))
    is_share = result.share_id is not None
    return Held((result.driver, result.pool), result.device, is_share, consumed if is_share else ())


def _nanos(amount: Amount) -> int:
    try:
        return parse(amount).nanos
    except InvalidQuantity:
        return LARGEST * NANOS  # an unreadable share must not look like none


def _count(counts: dict[str, int], key: str, added: int) -> None:
    number = counts.get(key, 0) + added
    if number:
        counts[key] = number
    else:
        counts.pop(key, None)
