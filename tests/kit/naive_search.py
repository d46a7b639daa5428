"""The search for devices as it is described: recursion, no pruning, and everything computed anew at each step."""

from collections import Counter

from pilotage.plugins.devices.dynamic_resources.choices import Stopped
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative, named
from pilotage.plugins.devices.dynamic_resources.constraints import value_of
from pilotage.plugins.devices.dynamic_resources.outcomes import (
    NO_SOLUTION,
    NO_VALID_SOLUTION,
    Failure,
    Outcome,
    Pick,
    Solution,
    What,
)
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.pools import READY, PoolState, Status
from pilotage.plugins.devices.dynamic_resources.preparation import Needs, prepare

Taken = tuple[int, int, int, int, int]  # claim, request, way, pool, place
SOLVED, END, LIMIT = "solved", "end", "limit"


class TooLong(Exception):
    """The search does not end soon."""


class NaiveSearch:
    """A search that can be compared."""

    def __init__(self, plan: Plan, pools: tuple[PoolState, ...], most: int = 20_000) -> None:
        self.plan, self.pools, self.left = plan, pools, most
        self.taken: list[Taken] = []
        self.needs: list[Needs] = []
        self.solved: tuple[Taken, ...] | None = None

    def outcome(self) -> Outcome:
        """Return the outcome, or raise TooLong."""
        try:
            prepare(self.plan, self.pools, self.needs)
            if self._solve(0, 0, None, 0, (0, -1)) == SOLVED:
                return self._solution()
        except Stopped as error:
            return error.failure
        is_invalid = any(pool.shape.status is Status.INVALID for pool in self.pools)
        return NO_VALID_SOLUTION if is_invalid else NO_SOLUTION

    def _solve(self, c: int, q: int, way: int | None, count: int, after: tuple[int, int]) -> str:
        self.left -= 1
        if self.left < 0:
            raise TooLong
        if c == len(self.plan.claims):
            return SOLVED
        requests = self.plan.claims[c].requests
        if q == len(requests):
            below = self._solve(c + 1, 0, None, 0, (0, -1))
            return END if below == LIMIT else below
        if way is None:
            return self._ways(c, q)
        alternative = requests[q].alternatives[way]
        need, devices = self.needs[alternative.number]
        if alternative.takes_all and not need:
            return END
        if count == need:
            return self._solve(c, q + 1, None, 0, (0, -1))
        if need - count > 32 - sum(each[0] == c for each in self.taken):
            return LIMIT
        if alternative.takes_all:
            return self._try(c, q, way, count, *devices[count])
        for pool, state in enumerate(self.pools):
            for place in range(state.shape.size):
                if (pool, place) > after and self._is_choice(c, alternative, pool, place):
                    found = self._try(c, q, way, count, pool, place)
                    if found != END:
                        return found
        return END

    def _ways(self, c: int, q: int) -> str:
        request = self.plan.claims[c].requests[q]
        if not request.has_list:
            return self._solve(c, q, 0, 0, (0, -1))
        found = []
        for way in range(len(request.alternatives)):
            found.append(self._solve(c, q, way, 0, (0, -1)))
            if found[-1] == SOLVED:
                return SOLVED
        return LIMIT if set(found) == {LIMIT} else END

    def _is_choice(self, c: int, alternative: Alternative, pool: int, place: int) -> bool:
        shape = self.pools[pool].shape
        if shape.status is not READY or self._in_use(c, alternative, pool, place):
            return False
        verdict = self.plan.choices[alternative.number].verdict(shape.kinds[place])
        is_here = bool(shape.here >> place & 1)
        if verdict.failure is not None and (is_here or not verdict.selected):
            raise Stopped(Failure(verdict.failure(self._flat(pool, place))))
        return is_here and verdict.consumed is not None

    def _try(self, c: int, q: int, way: int, count: int, pool: int, place: int) -> str:
        alternative = self.plan.claims[c].requests[q].alternatives[way]
        if self._in_use(c, alternative, pool, place):
            return END
        one = (c, q, way, pool, place)
        self.taken.append(one)
        try:
            if not self._holds(one, alternative):
                return END
            found = self._solve(c, q, way, count + 1, (pool, place))
            if found == SOLVED:
                self.solved = self.solved or tuple(self.taken)  # the deepest call is the first here
            return found
        finally:
            self.taken.pop()

    def _holds(self, one: Taken, alternative: Alternative) -> bool:
        c, _, _, pool, place = one
        state = self.pools[pool]
        kind = state.shape.kinds[place]
        if not self._has_counters(pool, place):
            return False
        if self.plan.choices[alternative.number].verdict(kind).tainted:
            return False
        if not self._keeps_constraints(c):
            if alternative.takes_all:
                device = What.DEVICE, self._flat(pool, place)
                text = " because a claim constraint would not be satisfied"
                raise Stopped(Failure((*named(c, alternative.label), "cannot add device ", device, text)))
            return False
        return self._has_room(pool, place)

    def _in_use(self, c: int, alternative: Alternative, pool: int, place: int) -> bool:
        state = self.pools[pool]
        is_shared = state.shape.kinds[place].shared
        users = [each[0] for each in self.taken if each[3:] == (pool, place)] if not is_shared else []
        return c in users if alternative.is_admin else bool(state.taken >> place & 1) or bool(users)

    def _has_counters(self, pool: int, place: int) -> bool:
        state = self.pools[pool]
        if not state.shape.draws[place]:
            return True
        is_shared = state.shape.kinds[place].shared
        others = [each[3:] for each in self.taken[:-1]]
        if is_shared and ((pool, place) in others or state.shared >> place & 1):
            return True
        spent: Counter[int] = Counter()
        charged = set()
        for where, number in (each[3:] for each in self.taken):
            shares = state.shape.kinds[number].shared if where == pool else False
            if where != pool or (shares and (number in charged or state.shared >> number & 1)):
                continue
            charged.add(number)
            for index, amount in state.shape.draws[number]:
                spent[index] += amount
        return all(left >= spent[index] for index, left in enumerate(state.available))

    def _keeps_constraints(self, c: int) -> bool:
        for index, constraint in enumerate(self.plan.claims[c].constraints):
            values = []
            for claim, q, way, pool, place in self.taken:
                if claim == c and index in self.plan.claims[c].requests[q].alternatives[way].constraints:
                    values.append(value_of(self.pools[pool].shape.kinds[place], constraint.attribute))
            if None in values or len(set(values)) not in ((0, 1) if constraint.is_match else (len(values),)):
                return False
        return True

    def _has_room(self, pool: int, place: int) -> bool:
        state = self.pools[pool]
        kind = state.shape.kinds[place]
        before = state.shares.get(place, (0,) * len(kind.capacities))
        users = [each for each in self.taken if each[3:] == (pool, place)]
        for index, capacity in enumerate(kind.capacities):
            total = before[index]
            for claim, q, way, _, _ in users if kind.shared else users[-1:]:
                number = self.plan.claims[claim].requests[q].alternatives[way].number
                consumed = self.plan.choices[number].verdict(kind).consumed
                assert consumed is not None
                total += consumed[index].nanos
            if total > capacity.value.nanos:
                return False
        return True

    def _flat(self, pool: int, place: int) -> int:
        return sum(state.shape.size for state in self.pools[:pool]) + place

    def _solution(self) -> Solution:
        picks: list[list[Pick]] = [[] for _ in self.plan.claims]
        score, ways = 0, set()
        for c, q, way, pool, place in self.solved or ():
            request = self.plan.claims[c].requests[q]
            kind = self.pools[pool].shape.kinds[place]
            consumed = self.plan.choices[request.alternatives[way].number].verdict(kind).consumed
            picks[c].append(Pick(q, way, self._flat(pool, place), consumed if kind.shared else None))
            if request.has_list and (c, q) not in ways:
                ways.add((c, q))
                score += 8 - way
        return Solution(tuple(map(tuple, picks)), score)
