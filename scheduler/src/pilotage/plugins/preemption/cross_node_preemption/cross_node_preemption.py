"""CrossNodePreemption: preempts pods of lower priority on several nodes at once."""

import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import Field

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.config.types import Float32, Int32
from pilotage.framework.api.cycle import Cycle, Trial
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.verdicts import NoRoom, PluginFailed, Rejection, Verdicts
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.fit_error import fit_error
from pilotage.framework.runtime.preemption.candidates import Candidates
from pilotage.framework.runtime.preemption.evicting import NEVER, Evicting
from pilotage.framework.runtime.preemption.preemption_outlook import helped
from pilotage.framework.runtime.preemption.victims import ALL_FOREIGN, NO_VICTIMS, Victims, by_importance
from pilotage.kinds.disruption import DisruptionBudgets
from pilotage.model.pod import Pod
from pilotage.plugins.preemption.cross_node_preemption.far_pods import FarPods

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_TIME = "the search for victims timed out"
PREFIX = "cross-node preemption"


class OutOfTime(Exception):
    """The time limit of the search is reached."""


class CrossNodePreemption(Evicting):
    """Evict the fewest and least important pods of lower priority, on several nodes if needed, so that a pod fits."""

    max_candidate_pods: Int32 = Field(
        default=100, description="The number of least important pods from which the victims for a node are chosen."
    )
    max_seconds: Float32 = Field(
        default=0.05, description="The time limit of the search for one pod; candidates found by then are used."
    )

    no_arguments = "got args of type <nil>, want *{}Args"

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._clock: Callable[[], float] = time.monotonic
        self._begin = 0  # where the next search starts, so that it does not always choose the same nodes

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the arguments."""
        found = []
        if self.max_candidate_pods < 1:
            found.append(invalid((*at, "maxCandidatePods"), self.max_candidate_pods, "not in valid range [1, inf)"))
        if not self.max_seconds > 0:
            found.append(invalid((*at, "maxSeconds"), self.max_seconds, "not in valid range (0, inf)"))
        return found

    def candidates(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, now: float) -> list[Victims] | NoRoom:
        """Return the candidates, at least one, or why there is none."""
        if pod.spec.preemption_policy == "Never":  # 1. is the pod eligible
            return NoRoom(f"{PREFIX}: {NEVER}", keeps_nomination=True)
        far = FarPods(cycle, pod)
        on_their_way = self._on_their_way(cycle, pod, far, now)  # 2. are terminating pods enough
        if on_their_way is not None:
            return [on_their_way]
        return self._search(cycle, pod, verdicts, far, now)  # 3. which other pods to evict

    def _on_their_way(self, cycle: Cycle, pod: Pod, far: FarPods, now: float) -> Victims | None:
        """Return the nominated node with its terminating pods, if the pod fits without them."""
        info = cycle.nodes.find(pod.nominated_node) if pod.nominated_node else None
        if info is None:
            return None
        lower = (other for other in (*far.about(info), *info.pods.values()) if other.priority < pod.priority)
        leaving = by_importance((other for other in lower if other.is_terminating), now)
        trial = cycle.try_on(info)
        for other in leaving:
            trial.remove(other)
        fits = bool(leaving) and trial.verdict() is None
        return Victims(info.name, tuple(leaving)) if fits else None

    def _search(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, far: FarPods, now: float) -> list[Victims] | NoRoom:
        """Try one node after the other, from where the last search ended, until the time limit."""
        end = self._clock() + self.max_seconds
        places = np.flatnonzero(helped(verdicts))
        places = np.roll(places, -int(np.searchsorted(places, self._begin)))
        budgets, found = self.disruption_budgets(cycle.objects), Candidates(len(places))
        for place in places.tolist():
            info = cycle.nodes[place]
            in_the_way = self._in_the_way(pod, info, far, now)
            try:
                found.add(place, self._free(cycle.try_on(info), in_the_way, budgets, end))
            except (CycleFailed, PluginFailed) as failure:
                found.failures.append(str(failure))  # reported only if no other node is found
            except OutOfTime:
                self._begin = place
                break
        return found.found or _no_room(cycle.node_count, len(places), found)

    def _in_the_way(self, pod: Pod, info: NodeInfo, far: FarPods, now: float) -> list[Pod]:
        """Return all possible victims, the least important first."""
        # Terminating pods on other nodes will leave anyway, and not all constraints count them.
        elsewhere = [other for other in far.about(info) if not other.is_terminating]
        lower = ([other for other in pods if other.priority < pod.priority] for pods in (elsewhere, info.pods.values()))
        ranked = [other for pods in lower for other in reversed(by_importance(pods, now))]
        # Pods on other nodes come first: they use no resources of the node, so often all of them must be evicted.
        return by_importance(ranked[: self.max_candidate_pods], now)[::-1]

    def _free(
        self, trial: Trial, in_the_way: Sequence[Pod], budgets: DisruptionBudgets, end: float
    ) -> Victims | Rejection:
        """Remove all possible victims, and add them back one after the other while the pod still fits."""
        gone = []
        for other in in_the_way:
            if trial.may_evict(other):
                trial.remove(other)
                gone.append(other)
        if not gone:
            return ALL_FOREIGN if in_the_way and all(map(trial.is_foreign, in_the_way)) else NO_VICTIMS
        if (rejection := self._verdict(trial, end)) is not None:
            return rejection
        ranked = gone[::-1]
        violating, others = budgets.split(ranked)
        leaving = set()
        for other in (*violating, *others):
            trial.add(other)
            if self._verdict(trial, end) is not None:
                trial.remove(other)
                leaving.add(other.uid)
        if not leaving:
            raise PluginFailed(f'expected at least one victim pod for node "{trial.info.name}"')
        victims = tuple(other for other in ranked if other.uid in leaving)
        return Victims(trial.info.name, victims, sum(other.uid in leaving for other in violating))

    def _verdict(self, trial: Trial, end: float) -> Rejection | None:
        if self._clock() >= end:
            raise OutOfTime
        return trial.verdict()


def _no_room(nodes: int, potential: int, found: Candidates) -> NoRoom:
    if found.failures:
        raise PluginFailed(f"{PREFIX}: {found.failures[0]}")
    no_time = potential - len(found.rejections)
    reasons = found.reasons + Counter({NO_TIME: no_time, NOT_HELPFUL: nodes - potential})
    return NoRoom(f"{PREFIX}: {fit_error(nodes, +reasons)}")
