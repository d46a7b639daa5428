"""Preemption by priority: which nodes to try, and how many."""

from random import Random

import numpy as np

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.config.types import Int32
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.verdicts import NoRoom, Verdicts
from pilotage.framework.runtime.preemption.candidates import Candidates, no_room, try_nodes
from pilotage.framework.runtime.preemption.evicting import NEVER, VICTIM_IS_LEAVING, Evicting, is_evicted
from pilotage.framework.runtime.preemption.lower_priority import LowerPriorityUsage
from pilotage.framework.runtime.preemption.preemption_outlook import Outlook, outlook
from pilotage.framework.runtime.preemption.victims import MayGo, Victims
from pilotage.model.pod import Pod


class EvictingLower(Evicting):
    """Evicts pods of lower priority, except pods that the plugin spares."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._random = Random(0)  # noqa: S311 - no secret, only the start of the search
        self._lower = LowerPriorityUsage()

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the arguments."""
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        of_percentage, of_absolute = (*at, "minCandidateNodesPercentage"), (*at, "minCandidateNodesAbsolute")
        found = []
        if not 0 <= percentage <= 100:
            found.append(invalid(of_percentage, percentage, "not in valid range [0, 100]"))
        if absolute < 0:
            found.append(invalid(of_absolute, absolute, "not in valid range [0, inf)"))
        if percentage == absolute == 0:
            together = "cannot be zero at the same time as"
            found.append(invalid(of_percentage, 0, f"{together} minCandidateNodesAbsolute"))
            found.append(invalid(of_absolute, 0, f"{together} minCandidateNodesPercentage"))
        return found

    def seed(self, number: int) -> None:
        """Seed the random numbers: the same seed and cluster give the same decisions."""
        self._random.seed(number)

    def may_go(self, cycle: Cycle, pod: Pod, now: float) -> MayGo | None:
        """Return which pods on a node can be victims, never one of the same priority; None for all lower ones."""
        return None

    def candidates(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, now: float) -> list[Victims] | NoRoom:
        """Return the candidates, at least one, or why there is none."""
        reason = _ineligible(cycle, pod, verdicts)  # 1. is the pod eligible
        if reason is not None:
            return NoRoom(f"preemption: {reason}", keeps_nomination=True)
        lower = self._lower.below(pod.priority, cycle.nodes, cycle.remit)
        view = outlook(cycle, pod, verdicts, lower)  # 2. where evictions could help
        candidates = self._try(cycle, pod, verdicts, view, now)  # 3. where they do
        return candidates.found or no_room(cycle.node_count, candidates, view.reasons, view.ruled_out)

    def candidates_wanted(self, nodes: int) -> int:
        """Return the number of candidates to stop at, given the number of nodes where preemption could help."""
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(nodes, max(share, self.min_candidate_nodes_absolute))

    def _try(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, view: Outlook, now: float) -> Candidates:
        """Try the nodes from a random one, so that it is not always the same nodes that are freed."""
        places = np.flatnonzero(view.candidates)
        if not len(places):
            return Candidates(0)
        round_trip = np.roll(places, -self._random.randrange(len(places)))
        potential = round_trip[view.potential[round_trip]].tolist()
        budgets, wanted = self.disruption_budgets(cycle.objects), self.candidates_wanted(len(places))
        may_go = self.may_go(cycle, pod, now)
        return try_nodes(cycle, pod, verdicts, budgets, potential, wanted, now, may_go)


def _ineligible(cycle: Cycle, pod: Pod, verdicts: Verdicts) -> str | None:
    """Return why the pod may not evict others now."""
    if pod.spec.preemption_policy == "Never":
        return NEVER
    nominated = cycle.nodes.find(pod.nominated_node) if pod.nominated_node else None
    if nominated is None:
        return None
    verdict = verdicts[nominated.slot]
    if verdict is None or not (verdict.preemption_helps or verdict.pending):
        return None  # the nominated node cannot help any more
    if any(other.priority < pod.priority and is_evicted(other) for other in nominated.pods.values()):
        return VICTIM_IS_LEAVING
    return None
