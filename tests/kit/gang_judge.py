"""Whether gangs get their turn, judged by what the scheduler did meanwhile and not by seconds: a machine may be slow.

The clock is the scheduler's own: a pod of the lowest rank that fits nowhere is a question, and to turn it away is the
answer. By then the scheduler has seen everything that happened before the question, and whoever it had a reason to try
was before it in the queue. So a gang has a claim from when it fits as a whole, or runs partly, and until it gets what
it needs or others take the room; answers to questions that came later are the turns that it was passed over.

fits, or runs partly ──> claim ── it is bound, or the room is taken ──> no claim
                           ├── QUIET_TURNS, and nobody at all was bound ──> violation: idle, or left half done
                           └── more others were bound than can have been decided before ──> violation: passed over
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

QUIET_TURNS = 5  # answers in a row; the binds of what is decided may take longer than to turn somebody away
MOST_BINDS = 500  # that a scheduler has under way: they may have been decided before there was room


@dataclass
class Judged:
    """A gang, or with a minimum of one a single pod, and what is known of its pods."""

    name: str
    minimum: int
    scheduler: str = ""
    waiting: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    is_over: bool = False  # it has run, and goes

    @property
    def runs_partly(self) -> bool:
        """Tell whether some of its pods have a node, and not enough."""
        return not self.is_over and 0 < len(self.bound) < self.minimum

    def fits_into(self, free: int) -> bool:
        """Tell whether the whole gang waits and there is room for it."""
        return not self.is_over and not self.bound and len(self.waiting) >= self.minimum <= free


@dataclass
class Claim:
    """What a gang is owed, counted in things that happened."""

    since: int
    quiet_turns: int = 0
    is_known: bool = False  # the scheduler has proved that it knows
    others: int = 0  # that were bound after that


class GangJudge:
    """Follows gangs on nodes that have room for so many pods; `violations` has what must not happen."""

    def __init__(self, capacity: int, gangs: Iterable[Judged], most_binds: int = MOST_BINDS) -> None:
        self.gangs: Mapping[str, Judged] = {gang.name: gang for gang in gangs}
        self.violations: list[str] = []
        self._free = capacity
        self._most_binds = most_binds
        self._claims: dict[str, Claim] = {}
        self._number = 0  # of what has happened
        self._last_bind = 0

    def waits(self, gang: str, pod: str) -> None:
        """A pod has come that has no node."""
        self.gangs[gang].waiting.add(pod)
        self._happened()

    def is_bound(self, gang: str, pod: str) -> None:
        """A pod has got a node."""
        found = self.gangs[gang]
        if pod in found.bound:
            return
        found.waiting.discard(pod)
        found.bound.add(pod)
        self._free -= 1
        self._happened()
        self._last_bind = self._number
        for name, claim in self._claims.items():
            claim.quiet_turns = 0
            claim.others += claim.is_known and name != gang
            if claim.others > self._most_binds:
                self._violated(name, claim, f"{claim.others} other pods were bound after that was known")

    def is_gone(self, gang: str, pod: str) -> None:
        """A pod is deleted."""
        found = self.gangs[gang]
        self._free += pod in found.bound
        found.bound.discard(pod)
        found.waiting.discard(pod)
        self._happened()

    def goes(self, gang: str) -> None:
        """A gang has run and is being deleted, which takes its pods one by one."""
        self.gangs[gang].is_over = True
        self._happened()

    def claimants(self) -> list[str]:
        """Return the gangs that fit or run partly."""
        return list(self._claims)

    def ask(self) -> int:
        """Return the number of a question that comes after all that has happened."""
        self._number += 1
        return self._number

    def answered(self, question: int, scheduler: str) -> None:
        """A scheduler has answered a question: it knows what had happened, and had its turn."""
        for name, claim in self._claims.items():
            if self.gangs[name].scheduler != scheduler or claim.since > question:
                continue
            claim.is_known = True
            claim.quiet_turns += self._last_bind < question
            if claim.quiet_turns >= QUIET_TURNS:
                self._violated(name, claim, f"nobody was bound in {claim.quiet_turns} turns")

    def _happened(self) -> None:
        """Give and take claims; one that stands is as old as it was."""
        self._number += 1
        for name, gang in self.gangs.items():
            if not (gang.runs_partly or gang.fits_into(self._free)):
                self._claims.pop(name, None)
            elif name not in self._claims:
                self._claims[name] = Claim(self._number)

    def _violated(self, name: str, claim: Claim, proof: str) -> None:
        gang = self.gangs[name]
        what = f"runs with {len(gang.bound)} of {gang.minimum} pods" if gang.bound else f"needs {gang.minimum} cores"
        self.violations.append(f"{name} {what}, {self._free} cores are free, and {proof}")
        # The next one is told when it has happened all over again.
        claim.quiet_turns, claim.others = 0, 0
