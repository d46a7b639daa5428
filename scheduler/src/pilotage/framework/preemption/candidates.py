"""Which node to free for a pod: those where it can be done, and the one where it does the least harm."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pilotage.framework.cycle import Cycle
from pilotage.framework.fit_error import fit_error
from pilotage.framework.nodes import NodeInfo
from pilotage.framework.preemption.shortage import short_of
from pilotage.framework.preemption.victims import MayGo, Victims, select_victims, started
from pilotage.framework.runner import CycleFailed
from pilotage.framework.verdicts import NoRoom, PluginFailed, Rejection, Verdicts
from pilotage.model.disruption import DisruptionBudgets
from pilotage.model.pod import Pod

# Makes every priority positive, so that two victims never count less than one.
OFFSET = 1 << 31
NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(slots=True)
class Candidates:
    """What came of trying nodes: where pods can be evicted, and why not elsewhere."""

    wanted: int
    harmless: list[Victims] = field(default_factory=list)
    violating: list[Victims] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    rejected_by: dict[int, str] = field(default_factory=dict)  # by place: the plugin, or "" if nobody may be evicted
    failures: list[str] = field(default_factory=list)

    @property
    def found(self) -> list[Victims]:
        """Return those that violate no disruption budget, then the others."""
        return self.harmless + self.violating

    @property
    def enough(self) -> bool:
        """Tell whether to stop; until one violates no budget, the search goes on."""
        return bool(self.harmless) and len(self.harmless) + len(self.violating) >= self.wanted

    def add(self, outcome: Victims | Rejection) -> None:
        """Take note of what was found on a node; past the wanted number a candidate is overlooked."""
        if isinstance(outcome, Rejection):
            self.reasons.update(outcome.reasons)
            self.rejected += 1
            return
        candidates = self.violating if outcome.violations else self.harmless
        if len(candidates) < self.wanted:
            candidates.append(outcome)


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
    """Try one node after the other until there are enough candidates; `may_go` tells who can be a victim."""
    candidates = Candidates(wanted)
    for place in places:
        try:
            outcome = _outcome(cycle, cycle.nodes[place], pod, verdicts[place], budgets, now, may_go)
            candidates.add(outcome)
            if isinstance(outcome, Rejection):
                candidates.rejected_by[place] = outcome.plugin
        except (CycleFailed, PluginFailed) as failure:
            candidates.failures.append(str(failure))  # of no interest as long as there is another node
        if candidates.enough:
            break
    return candidates


def _outcome(
    cycle: Cycle,
    info: NodeInfo,
    pod: Pod,
    verdict: Rejection | None,
    budgets: DisruptionBudgets,
    now: float,
    may_go: MayGo | None,
) -> Victims | Rejection:
    """Return what evictions on one node come to; of equal pods only the first has to try."""
    if may_go is not None:  # who knows what that depends on
        return select_victims(cycle.try_on(info), pod, budgets, now, short_of(verdict), may_go)
    promised = cycle.promised_to_others(info.name)
    known: tuple[DisruptionBudgets, Victims | Rejection] | None = cycle.recall("evictions", info, promised)
    if known is not None and known[0] is budgets:
        return known[1]
    found = select_victims(cycle.try_on(info), pod, budgets, now, short_of(verdict))
    cycle.remember("evictions", info, promised, (budgets, found))
    return found


def no_room(nodes: int, candidates: Candidates) -> NoRoom:
    """Return why none of so many nodes can be freed; fails if no more is known than that trying failed."""
    failures = list(dict.fromkeys(candidates.failures))
    if failures:
        raise PluginFailed(f"preemption: {failures[0] if len(failures) == 1 else '[' + ', '.join(failures) + ']'}")
    reasons = candidates.reasons + Counter({NOT_HELPFUL: nodes - candidates.rejected})
    return NoRoom(f"preemption: {fit_error(nodes, reasons)}")


def least_harmful(candidates: Sequence[Victims], now: float) -> Victims:
    """Return the best of at least one candidate; the first of several that are equally good."""
    return min(candidates, key=lambda victims: _harm(victims, now))


def by_harm(candidates: Iterable[Victims], now: float) -> list[Victims]:
    """Sort candidates, the best first."""
    return sorted(candidates, key=lambda victims: _harm(victims, now))


def _harm(victims: Victims, now: float) -> tuple[float, ...]:
    highest = victims.pods[0].priority
    oldest = min(started(pod, now) for pod in victims.pods if pod.priority == highest)
    return (
        victims.violations,
        highest,
        sum(pod.priority + OFFSET for pod in victims.pods),
        len(victims.pods),
        -oldest,  # a pod that has just begun loses little
    )
