"""The candidate nodes for preemption, and the choice of the least harmful one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.verdicts import NoRoom, PluginFailed, Rejection, Verdicts
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.fit_error import fit_error
from pilotage.framework.runtime.preemption.shortage import short_of
from pilotage.framework.runtime.preemption.victims import MayGo, Victims, select_victims
from pilotage.kinds.disruption import DisruptionBudgets
from pilotage.model.pod import Pod

MOST_FAILURES = 5  # reported; each may contain a node name
NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(slots=True)
class Candidates:
    """The result of trying nodes: the nodes where pods can be evicted, and why others are not."""

    wanted: int
    harmless: list[Victims] = field(default_factory=list)
    violating: list[Victims] = field(default_factory=list)
    rejections: dict[int, Rejection] = field(default_factory=dict)  # by index; no plugin if no pod may be evicted
    failures: list[str] = field(default_factory=list)

    @property
    def found(self) -> list[Victims]:
        """Return the candidates, first those that violate no disruption budget."""
        return self.harmless + self.violating

    @property
    def reasons(self) -> Counter[str]:
        """Count why evictions do not help."""
        counts: Counter[str] = Counter()
        for rejection, nodes in Counter(self.rejections.values()).items():
            for reason in rejection.reasons:
                counts[reason] += nodes
        return counts

    def add(self, place: int, outcome: Victims | Rejection) -> bool:
        """Record the result for a node, and return whether to stop: not before one candidate violates no budget.

        Candidates above the wanted number are ignored.
        """
        if isinstance(outcome, Rejection):
            self.rejections[place] = outcome
            return False
        candidates = self.violating if outcome.violations else self.harmless
        if len(candidates) < self.wanted:
            candidates.append(outcome)
        return bool(self.harmless) and len(self.harmless) + len(self.violating) >= self.wanted


def try_nodes(
    cycle: Cycle,
    pod: Pod,
    verdicts: Verdicts,
    budgets: DisruptionBudgets,
    places: Iterable[int],
    wanted: int,
    now: float,
    may_go: MayGo | None = None,
) -> Candidates:
    """Try one node after the other until there are enough candidates; `may_go` selects possible victims."""
    candidates = Candidates(wanted)
    for place in places:
        try:
            if candidates.add(place, _outcome(cycle, place, pod, verdicts, budgets, now, may_go)):
                break
        except (CycleFailed, PluginFailed) as failure:
            candidates.failures.append(str(failure))  # reported only if no other node is found
    return candidates


def _outcome(
    cycle: Cycle,
    slot: int,
    pod: Pod,
    verdicts: Verdicts,
    budgets: DisruptionBudgets,
    now: float,
    may_go: MayGo | None,
) -> Victims | Rejection:
    """Return the outcome of evictions on one node, which is cached for equal pods."""
    if may_go is None:  # otherwise the outcome may depend on anything
        known: tuple[DisruptionBudgets, Victims | Rejection] | None = cycle.recall("evictions", slot)
        if known is not None and known[0] is budgets:
            return known[1]
    found = select_victims(cycle.try_on(cycle.nodes[slot]), pod, budgets, now, short_of(verdicts[slot]), may_go)
    if may_go is None:
        cycle.remember("evictions", slot, (budgets, found))
    return found


def no_room(nodes: int, candidates: Candidates, ruled_out: Counter[str], untried: int = 0) -> NoRoom:
    """Return why no node can be freed; PluginFailed if every try failed.

    Some nodes may have been excluded without a try.
    """
    failures = list(dict.fromkeys(candidates.failures))
    if failures:
        more = [f"and {len(failures) - MOST_FAILURES} more"] if len(failures) > MOST_FAILURES else []
        several = f"[{', '.join(failures[:MOST_FAILURES] + more)}]"
        raise PluginFailed(f"preemption: {failures[0] if len(failures) == 1 else several}")
    others = nodes - len(candidates.rejections) - untried
    reasons = candidates.reasons + ruled_out + Counter({NOT_HELPFUL: others})
    return NoRoom(f"preemption: {fit_error(nodes, reasons)}")


def least_harmful(candidates: Sequence[Victims], now: float) -> Victims:
    """Return the best of at least one candidate, the first one among equals."""
    return min(candidates, key=lambda victims: victims.harm(now))


def by_harm(candidates: Iterable[Victims], now: float) -> list[Victims]:
    """Sort candidates, the best first."""
    return sorted(candidates, key=lambda victims: victims.harm(now))
