"""The outcomes of a plan for all distinct states of nodes, each searched once."""

from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, Ints
from pilotage.plugins.devices.dynamic_resources.meter import STEPS_A_SECOND, Meter
from pilotage.plugins.devices.dynamic_resources.node_states import SPARE, NodeState, NodeStates, Pools
from pilotage.plugins.devices.dynamic_resources.outcomes import (
    CANNOT_ALLOCATE,
    FAILED,
    FITS,
    INVALID_POOLS,
    Failure,
    NoSolution,
    Outcome,
    Solution,
    What,
)
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.search import Search
from pilotage.plugins.devices.dynamic_resources.usage import Usage

UNKNOWN: Final = -1
MOST_STEPS: Final = 20_000  # of one question: less than 50 ms
MOST_AT_ONCE: Final = 4_000  # of one search
TIMED_OUT: Final = Failure(("node ", (What.NODE, 0), ": timed out trying to allocate devices"))


class Budget:
    """The steps that searches may take for one question, and each of them in all."""

    def __init__(self, timeout: float | None) -> None:
        self._left = MOST_STEPS
        self._most = None if timeout is None else max(1, int(timeout * STEPS_A_SECOND))

    @property
    def is_spent(self) -> bool:
        """Return whether nothing is left."""
        return self._left <= 0

    def run(self, search: Search, meter: Meter) -> Outcome | None:
        """Go on with a search, and return its outcome; None if it is to be continued with the next question."""
        # A search that nothing ends must not keep all others waiting.
        allowed = min(self._left, MOST_AT_ONCE)
        if self._most is not None:
            allowed = min(allowed, self._most - search.steps)
        meter.left = allowed
        found = search.run() if allowed > 0 else None
        self._left -= allowed - meter.left
        is_over = found is None and self._most is not None and search.steps >= self._most
        return TIMED_OUT if is_over else found


class Answers:
    """What is known of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._found: dict[Pools, Outcome] = {}
        self._paused: dict[Pools, Search] = {}
        self._codes: Ids = np.full(64, UNKNOWN, np.int32)  # by the number of a state
        self._scores: Ints = np.zeros(64, np.int64)
        self._seen = 0  # changes of the meanings of numbers
        self._shared_version = 0
        self._volatile: set[int] = set()  # states with shared pools

    def __len__(self) -> int:
        """Return the number of outcomes kept."""
        return len(self._found) + len(self._paused)

    def outcome(self, pools: Pools, budget: Budget) -> Outcome:
        """Return the outcome for the devices that a node sees."""
        while not budget.is_spent:
            if (found := self._search(pools, budget)) is not None:
                return found
        return self._found.get(pools, TIMED_OUT)

    def codes(self, numbers: Ids, states: NodeStates, usage: Usage, budget: Budget) -> Ids:
        """Return the codes for states of nodes; UNKNOWN for those that the budget is not enough for."""
        self._catch_up(states)
        codes: Ids = self._codes[numbers]
        unknown: Bools = codes < 0
        if not unknown.any():
            return codes
        missing = np.unique(numbers[unknown]).tolist()
        waiting = [(self._steps(number, states, usage), number) for number in missing]
        heapify(waiting)  # what has taken longest comes last
        while waiting and not budget.is_spent:
            _, number = heappop(waiting)
            if not self._answer(number, states, usage, budget):
                heappush(waiting, (self._steps(number, states, usage), number))
        return self._codes[numbers]

    def _steps(self, number: int, states: NodeStates, usage: Usage) -> int:
        search = self._paused.get(_state(number, states).pools(usage)) if self._paused else None
        return 0 if search is None else search.steps

    def scores(self, numbers: Ids) -> Ints:
        """Return the scores of states for which codes were asked."""
        return self._scores[numbers]

    def _answer(self, number: int, states: NodeStates, usage: Usage, budget: Budget) -> bool:
        state = _state(number, states)
        found: Outcome | None = Failure((state.trouble,))
        if not state.trouble:
            found = self._search(state.pools(usage), budget)
        if state.shared:
            self._volatile.add(number)
        if found is None:
            return False
        self._codes[number] = _code(found)
        self._scores[number] = found.score if isinstance(found, Solution) else 0
        return True

    def _search(self, pools: Pools, budget: Budget) -> Outcome | None:
        known = self._found.get(pools)
        if known is not None:
            return known
        search = self._paused.pop(pools, None) or Search(self.plan, pools)
        found = budget.run(search, self.plan.meter)
        if found is None:
            self._paused[pools] = search
        else:
            self._found[pools] = found
        return found

    def _catch_up(self, states: NodeStates) -> None:
        """Forget the answers for numbers that mean something else now."""
        if len(self._codes) < len(states.by_number):
            more = len(states.by_number) * 2 - len(self._codes)
            self._codes = np.concatenate([self._codes, np.full(more, UNKNOWN, np.int32)])
            self._scores = np.concatenate([self._scores, np.zeros(more, np.int64)])
        given = states.given.since(self._seen)
        self._seen = states.given.position
        if given is None:
            self._codes[:] = UNKNOWN
        elif given:
            self._codes[list(given)] = UNKNOWN
        if self._shared_version != states.shared_version:
            self._shared_version = states.shared_version
            self._codes[list(self._volatile)] = UNKNOWN
            self._volatile.clear()
        if len(self) > SPARE + 2 * len(states.by_number):
            self._found.clear()
            self._paused.clear()


def _state(number: int, states: NodeStates) -> NodeState:
    state = states.by_number[number]
    assert state is not None
    return state


def _code(found: Outcome) -> int:
    if isinstance(found, Solution):
        return FITS
    if isinstance(found, NoSolution):
        return INVALID_POOLS if found.invalid_pools else CANNOT_ALLOCATE
    return FAILED
