"""The outcomes of a plan for all distinct states of nodes, each searched once."""

from typing import Final

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, Ints
from pilotage.plugins.devices.dynamic_resources.node_states import NodeStates, Pools
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
STEPS_A_SECOND: Final = 400_000
MOST_STEPS: Final = 20_000  # of one question: less than 50 ms
FREE_STEPS: Final = 24  # of each search; most do not need more, and there are as many as distinct nodes
TIMED_OUT: Final = Failure(("node ", (What.NODE, 0), ": timed out trying to allocate devices"))


class Budget:
    """The steps that searches may take for one question, and each of them in all."""

    def __init__(self, timeout: float | None) -> None:
        self.left = MOST_STEPS
        self._most = None if timeout is None else max(1, int(timeout * STEPS_A_SECOND))

    def run(self, search: Search) -> Outcome | None:
        """Go on with a search, and return its outcome; None if it is to be continued with the next question."""
        before = search.steps
        until = before + FREE_STEPS + self.left
        found = search.run(until if self._most is None else min(until, self._most))
        self.left -= max(0, min(self.left, search.steps - before - FREE_STEPS))
        if found is None and self._most is not None and search.steps >= self._most:
            return TIMED_OUT
        return found


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
        return len(self._found)

    def outcome(self, pools: Pools, budget: Budget) -> Outcome:
        """Return the outcome for the devices that a node sees."""
        return self._search(pools, budget) or TIMED_OUT

    def codes(self, numbers: Ids, states: NodeStates, usage: Usage, budget: Budget) -> Ids:
        """Return the codes for states of nodes."""
        self._catch_up(states)
        codes: Ids = self._codes[numbers]
        unknown: Bools = codes < 0
        if not unknown.any():
            return codes
        for number in np.unique(numbers[unknown]).tolist():
            self._answer(number, states, usage, budget)
        codes = self._codes[numbers]
        codes[codes < 0] = FAILED  # timed out, to be continued with the next question
        return codes

    def scores(self, numbers: Ids) -> Ints:
        """Return the scores of states for which codes were asked."""
        return self._scores[numbers]

    def _answer(self, number: int, states: NodeStates, usage: Usage, budget: Budget) -> None:
        state = states.by_number[number]
        assert state is not None
        found: Outcome | None = Failure((state.trouble,))
        if not state.trouble:
            found = self._search(state.pools(usage), budget)
        if state.shared:
            self._volatile.add(number)
        if found is not None:
            self._codes[number] = _code(found)
            self._scores[number] = found.score if isinstance(found, Solution) else 0

    def _search(self, pools: Pools, budget: Budget) -> Outcome | None:
        known = self._found.get(pools)
        if known is not None:
            return known
        search = self._paused.pop(pools, None) or Search(self.plan, pools)
        found = budget.run(search)
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
        if len(self._found) > 4096 + 2 * len(states.by_number):
            self._found.clear()
            self._paused.clear()


def _code(found: Outcome) -> int:
    if isinstance(found, Solution):
        return FITS
    if isinstance(found, NoSolution):
        return INVALID_POOLS if found.invalid_pools else CANNOT_ALLOCATE
    return FAILED
