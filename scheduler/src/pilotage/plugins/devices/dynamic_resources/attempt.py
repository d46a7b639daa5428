"""What a search has taken so far, and what that leaves."""

from collections.abc import Hashable
from typing import NamedTuple

from pilotage.plugins.devices.dynamic_resources.capacity import Consumed
from pilotage.plugins.devices.dynamic_resources.choices import Stopped
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative, named
from pilotage.plugins.devices.dynamic_resources.constraints import Held
from pilotage.plugins.devices.dynamic_resources.outcomes import Failure, Pick, What
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.pools import READY, PoolState


class Device(NamedTuple):
    """A device, by its pool and its place there."""

    pool: int
    place: int


class Attempt:
    """The devices taken by one search."""

    def __init__(self, plan: Plan, pools: tuple[PoolState, ...]) -> None:
        self.plan, self.pools = plan, pools
        self.offsets: list[int] = []
        offset = 0
        for pool in pools:
            self.offsets.append(offset)
            offset += pool.shape.size
        self.usable = [index for index, pool in enumerate(pools) if pool.shape.status is READY and pool.shape.size]
        self.picks: list[list[Pick]] = [[] for _ in plan.claims]
        self._used = [0] * len(pools)  # a bit for each device
        self._used_by = [[0] * len(pools) for _ in plan.claims]
        self._consumed: dict[Device, list[Consumed]] = {}  # of shared devices
        self._spent: dict[int, list[int]] = {}  # of the counters of a pool
        self._held = [Held(claim.constraints) for claim in plan.claims]

    def free(self, claim: int, alternative: Alternative, pool: int) -> int:
        """Return the devices that are not in use."""
        state = self.pools[pool]
        in_use = self._used_by[claim][pool] if alternative.is_admin else state.taken | self._used[pool]
        return ((1 << state.shape.size) - 1) & ~in_use

    def take(self, claim: int, request: int, way: int, device: Device) -> bool:
        """Take a device that is free and selected; what is left must suffice."""
        alternative = self.plan.claims[claim].requests[request].alternatives[way]
        state, bit = self.pools[device.pool], 1 << device.place
        kind = state.shape.kinds[device.place]
        choice = self.plan.choices[alternative.number].of(state.shape)
        draws = state.shape.draws[device.place]
        charged = bool(draws) and not self._is_charged(device, kind.shared)
        if (charged and not self._has_counters(device.pool, draws)) or choice.tainted & bit:
            return False
        if alternative.constraints and not self._held[claim].add(kind, alternative.constraints):
            if alternative.takes_all:
                raise self._unsatisfied(claim, alternative, device)
            return False
        consumed = choice.verdict(device.place).consumed
        assert consumed is not None
        if consumed and not self.has_room(device, consumed):
            if alternative.constraints:
                self._held[claim].remove(alternative.constraints)
            return False
        if charged:
            self._spend(device.pool, draws, 1)
        if kind.shared:
            self._consumed.setdefault(device, []).append(consumed)
        else:
            self._used[device.pool] |= bit
            self._used_by[claim][device.pool] |= bit
        place = self.offsets[device.pool] + device.place
        self.picks[claim].append(Pick(request, way, place, consumed if kind.shared else None))
        return True

    def give_back(self, claim: int, device: Device) -> None:
        """Give back the device that the claim took last."""
        pick = self.picks[claim].pop()
        alternative = self.plan.claims[claim].requests[pick.request].alternatives[pick.alternative]
        shape, bit = self.pools[device.pool].shape, 1 << device.place
        kind, draws = shape.kinds[device.place], shape.draws[device.place]
        if alternative.constraints:
            self._held[claim].remove(alternative.constraints)
        if kind.shared:
            shares = self._consumed[device]
            shares.pop()
            if not shares:
                del self._consumed[device]
        else:
            # An admin may hold the same device for another claim.
            self._used_by[claim][device.pool] &= ~bit
            if not any(used[device.pool] & bit for used in self._used_by):
                self._used[device.pool] &= ~bit
        if draws and not self._is_charged(device, kind.shared):
            self._spend(device.pool, draws, -1)

    def has_room(self, device: Device, consumed: Consumed) -> bool:
        """Return whether a device can give what is consumed of it, besides what is held and taken."""
        state = self.pools[device.pool]
        before = state.shares.get(device.place)
        others = self._consumed.get(device, ())
        if before is None and not others:
            return True  # an unused device is large enough, or it would not be chosen
        for index, capacity in enumerate(state.shape.kinds[device.place].capacities):
            total = consumed[index].nanos + (0 if before is None else before[index])
            if total + sum(other[index].nanos for other in others) > capacity.value.nanos:
                return False
        return True

    def sight(self, device: Device) -> Hashable:
        """Return what is equal for devices that can replace each other now."""
        state, bit = self.pools[device.pool], 1 << device.place
        kind = state.shape.kinds[device.place]
        shares, consumed = state.shares.get(device.place), self._consumed.get(device)
        return (
            self.plan.sight(kind),
            device.pool if kind.draws else None,
            (state.taken | self._used[device.pool]) & bit != 0,
            None if shares is None else (kind.capacities, shares),
            None if consumed is None else tuple(consumed),
        )

    def _is_charged(self, device: Device, shared: bool) -> bool:
        """Return whether a share of the device has paid its counters."""
        if not shared:
            return False
        return device in self._consumed or bool(self.pools[device.pool].shared >> device.place & 1)

    def _has_counters(self, pool: int, draws: tuple[tuple[int, int], ...]) -> bool:
        left = list(self.pools[pool].available)
        for index, spent in enumerate(self._spent.get(pool, ())):
            left[index] -= spent
        for index, amount in draws:
            left[index] -= amount
        return min(left) >= 0  # also the counters that the device does not draw from

    def _spend(self, pool: int, draws: tuple[tuple[int, int], ...], sign: int) -> None:
        spent = self._spent.get(pool)
        if spent is None:
            spent = self._spent[pool] = [0] * len(self.pools[pool].available)
        for index, amount in draws:
            spent[index] += sign * amount

    def _unsatisfied(self, claim: int, alternative: Alternative, device: Device) -> Stopped:
        place = What.DEVICE, self.offsets[device.pool] + device.place
        text = " because a claim constraint would not be satisfied"
        return Stopped(Failure((*named(claim, alternative.label), "cannot add device ", place, text)))
