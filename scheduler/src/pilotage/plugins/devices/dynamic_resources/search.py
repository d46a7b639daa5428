"""The search for devices: depth first, the first solution wins, and it can be paused."""

from collections.abc import Hashable
from enum import Enum
from typing import Final

from pilotage.plugins.devices.dynamic_resources.attempt import Attempt, Device
from pilotage.plugins.devices.dynamic_resources.choices import Stopped
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative
from pilotage.plugins.devices.dynamic_resources.meter import Paused
from pilotage.plugins.devices.dynamic_resources.outcomes import (
    NO_SOLUTION,
    NO_VALID_SOLUTION,
    Outcome,
    Solution,
)
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.pools import PoolState, Status
from pilotage.plugins.devices.dynamic_resources.preparation import MOST_DEVICES, Needs, prepare

BEFORE_ALL: Final = Device(0, -1)
TO_BEGIN: Final = 8  # steps; as long as it takes to set up a search
BEST_SCORE: Final = 8  # of the first alternative; each further one is worth one less


class Dead(Enum):
    """Why there is no way on from here."""

    END = "no device is left"
    LIMIT = "the claim would have too many devices"


class Point:
    """A place where the search can go another way: a device of a request, or an alternative of it."""

    __slots__ = ("claim", "device", "failed", "is_limited", "request", "taken", "way")

    def __init__(self, claim: int, request: int, way: int, taken: int) -> None:
        self.claim, self.request, self.way = claim, request, way
        self.taken = taken  # by the request so far; -1 if the way itself is to be decided
        self.device = BEFORE_ALL
        self.failed: set[Hashable] | None = None  # sights of devices that lead nowhere from here
        self.is_limited = True  # all ways so far would have led to too many devices


class Search:
    """A search among the devices of a node, as far as it has come.

    solved <── forward: the next request, alternative or device ──> dead end
                    ^                                                   │
                    └── back: another device, then another alternative <┘ ── nothing left: no solution
    """

    def __init__(self, plan: Plan, pools: tuple[PoolState, ...]) -> None:
        self.steps = 0  # so far
        self._plan, self._pools = plan, pools
        self._attempt = Attempt(plan, pools)
        self._needs: list[Needs] | None = None
        self._claim = self._request = self._taken = 0
        self._way = -1  # not decided yet
        self._points: list[Point] = []
        self._dead: Dead | None = None
        self._meter = plan.meter
        self._waiting: tuple[Point, Device] | None = None  # where it was paused: the point, and the last device tried

    def run(self) -> Outcome | None:
        """Go on while the plan's meter has steps left, and return the outcome, or None if there is none yet."""
        before = self._meter.left
        try:
            return self._run()
        except Stopped as error:
            return error.failure
        except Paused:
            return None
        finally:
            self.steps += before - self._meter.left

    def _run(self) -> Outcome | None:
        meter, claims = self._meter, len(self._plan.claims)
        if self._needs is None:
            self._needs = prepare(self._plan, self._pools)
            meter.left -= TO_BEGIN
        while meter.left > 0:
            meter.left -= 1
            if self._waiting is not None:
                point, after = self._waiting
                self._waiting = None
                self._dead = self._take_next(point, after)
            elif self._dead is not None:
                if not self._points:
                    is_invalid = any(pool.shape.status is Status.INVALID for pool in self._pools)
                    return NO_VALID_SOLUTION if is_invalid else NO_SOLUTION
                self._dead = self._back(self._dead)
            elif self._claim == claims:
                return self._solution()
            else:
                self._dead = self._forward()
        return None

    def _forward(self) -> Dead | None:
        """Go one step on, or return why there is none."""
        requests = self._plan.claims[self._claim].requests
        if self._request == len(requests):
            self._claim, self._request, self._way, self._taken = self._claim + 1, 0, -1, 0
            return None
        request = requests[self._request]
        if self._way < 0:
            self._way = 0
            if request.has_list:
                self._points.append(Point(self._claim, self._request, 0, -1))
        assert self._needs is not None
        alternative = request.alternatives[self._way]
        count, devices = self._needs[alternative.number]
        if devices is not None and not devices:
            return Dead.END
        if self._taken == count:
            self._request, self._way, self._taken = self._request + 1, -1, 0
            return None
        if count - self._taken > MOST_DEVICES - len(self._attempt.picks[self._claim]):
            return Dead.LIMIT
        point = Point(self._claim, self._request, self._way, self._taken)
        if devices is not None:
            return self._take_listed(point, devices[self._taken])
        # Positions only increase within a request.
        return self._take_next(point, self._points[-1].device if self._taken else BEFORE_ALL)

    def _take_listed(self, point: Point, device: Device) -> Dead | None:
        """Take a device of a request for all; there is no other way."""
        alternative = self._plan.claims[point.claim].requests[point.request].alternatives[point.way]
        is_free = self._attempt.free(point.claim, alternative, device.pool) >> device.place & 1
        if not is_free or not self._attempt.take(point.claim, point.request, point.way, device):
            return Dead.END
        self._go_on(point, device)
        return None

    def _take_next(self, point: Point, after: Device) -> Dead | None:
        """Take the first device behind another one that can be taken."""
        try:
            return self._find_next(point, after)
        except Paused:
            self._waiting = point, after
            raise

    def _find_next(self, point: Point, after: Device) -> Dead | None:
        attempt = self._attempt
        alternative = self._plan.claims[point.claim].requests[point.request].alternatives[point.way]
        choices = self._plan.choices[alternative.number]
        if point.failed is not None and self._are_too_few(point, alternative, after):
            return Dead.END
        for pool in attempt.usable:
            if pool < after.pool:
                continue
            free = attempt.free(point.claim, alternative, pool)
            if pool == after.pool:
                free &= -1 << (after.place + 1)
            choice = choices.of(self._pools[pool].shape)
            while free and (place := choice.first(free)) >= 0:
                self._meter.left -= 1
                if choice.wrong >> place & 1:
                    raise choice.stop_at(place, attempt.offsets[pool])
                device = Device(pool, place)
                has_failed = point.failed is not None and attempt.sight(device) in point.failed
                if not has_failed and attempt.take(point.claim, point.request, point.way, device):
                    self._go_on(point, device)
                    return None
                free &= -2 << place
        return Dead.END

    def _are_too_few(self, point: Point, alternative: Alternative, after: Device) -> bool:
        """Return whether fewer devices than needed are behind another one; an error among them is to be met."""
        assert self._needs is not None
        wanted = self._needs[alternative.number].number - point.taken
        choices, found = self._plan.choices[alternative.number], 0
        for pool in self._attempt.usable:
            if pool >= after.pool:
                free = self._attempt.free(point.claim, alternative, pool)
                if pool == after.pool:
                    free &= -1 << (after.place + 1)
                choice = choices.of(self._pools[pool].shape)
                self._meter.left -= choice.judge_all(free)
                found += (choice.good & free & ~choice.tainted).bit_count()
                if found >= wanted or choice.wrong & free:
                    return False
        return True

    def _go_on(self, point: Point, device: Device) -> None:
        point.device = device
        self._points.append(point)
        self._claim, self._request, self._way = point.claim, point.request, point.way
        self._taken = point.taken + 1

    def _back(self, dead: Dead) -> Dead | None:
        """Go another way at the last point, or return why there is none."""
        point = self._points.pop()
        if point.claim != self._claim:
            dead = Dead.END  # the limit is that of another claim
        self._claim = point.claim
        if point.taken < 0:
            return self._next_way(point, dead)
        attempt = self._attempt
        attempt.give_back(point.claim, point.device)
        alternative = self._plan.claims[point.claim].requests[point.request].alternatives[point.way]
        if alternative.takes_all or dead is Dead.LIMIT:
            return dead
        if point.failed is None:
            point.failed = set()
        try:
            point.failed.add(attempt.sight(point.device))
        except Paused:  # without it nothing but time is lost
            self._waiting = point, point.device
            raise
        return self._take_next(point, point.device)

    def _next_way(self, point: Point, dead: Dead) -> Dead | None:
        """Try the next alternative of a request."""
        point.is_limited = point.is_limited and dead is Dead.LIMIT
        point.way += 1
        if point.way == len(self._plan.claims[point.claim].requests[point.request].alternatives):
            return Dead.LIMIT if point.is_limited else Dead.END
        self._points.append(point)
        self._request, self._way, self._taken = point.request, point.way, 0
        return None

    def _solution(self) -> Solution:
        picks = tuple(map(tuple, self._attempt.picks))
        score = 0
        for claim, taken in zip(self._plan.claims, picks, strict=True):
            ways = {pick.request: pick.alternative for pick in taken}
            score += sum(BEST_SCORE - way for number, way in ways.items() if claim.requests[number].has_list)
        return Solution(picks, score)
