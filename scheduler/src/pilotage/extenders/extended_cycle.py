"""The scheduling cycle of a pod that extenders are interested in.

filter (in memory) ──> call extenders (other pods are scheduled meanwhile) ──> filter again, decide, reserve (in memory)
     ^                                                                                 │
     └────────────── other pods have taken all nodes that the extenders left ──────────┘
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from pilotage.cache.cluster_cache import AlreadyPlaced, ClusterCache
from pilotage.cluster.services.extender import Extender, in_order
from pilotage.extenders.extended_preemption import post_filter
from pilotage.extenders.extenders import EXTENDER, Opinion, ask, filter_nodes
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Verdicts
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt, Nominations
from pilotage.scheduling.cycle import OnChoice, Scheduler, Spread
from pilotage.scheduling.diagnosis import NO_NODES, Diagnosis, rejected_everywhere
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Outcome, Unplaced, plugin_failure
from pilotage.scheduling.sharing.lost_nominations import LostNominations
from pilotage.scheduling.sharing.near_best import near_best

log = logging.getLogger(__name__)

ROUNDS = 3  # attempts, if other pods take the nodes each time
OVERTAKEN = "other pods took the remaining nodes before the extenders responded"
MOST_REASONS = 50_000  # distinct ones; codes have 16 bits


class NotPending(Exception):
    """The pod was deleted, bound or changed while extenders were called."""


async def _at_once() -> None:
    pass


class ExtendedScheduler(Scheduler):
    """Places pods one by one, and calls extenders for those that they are interested in."""

    def __init__(
        self,
        cache: ClusterCache,
        engines: Mapping[str, Engine],
        nominations: Nominations,
        tie_break: Random,
        extenders: Sequence[Extender],
        *,
        is_waiting: Callable[[Pod], bool] = lambda _: True,
        on_choice: OnChoice | None = None,
        spread: Spread = lambda _engine: 0,
        lost_nominations: LostNominations | None = None,
        turn: Callable[[], Awaitable[None]] = _at_once,
    ) -> None:
        super().__init__(cache, engines, nominations, tie_break, on_choice, spread, lost_nominations)
        self.extenders = in_order(extenders)
        self._turn = turn  # waits until no gang is being decided
        self._is_waiting = is_waiting  # whether a pod still needs a node, checked before the reservation

    def extenders_for(self, pod: Pod) -> list[Extender]:
        """Return the extenders that are interested in a pod, in order."""
        return [extender for extender in self.extenders if extender.interested(pod)]

    async def schedule_with_extenders(self, pod: Pod) -> Outcome | None:
        """Find and reserve a node for a pod, or return why none fits; None if the pod no longer waits."""
        extenders = self.extenders_for(pod)
        await self._turn()
        try:
            outcome = await self._on_nominated_node(pod, extenders)  # 1. a nominated node is tried first, alone
            return outcome or await self._anywhere(pod, extenders)  # 2. then all others
        except NotPending:
            return None
        except (ExtenderFailed, PluginFailed, AlreadyPlaced) as error:
            return plugin_failure(error)
        except Exception as error:  # a bug of ours costs only this attempt and the cached results
            log.exception("the attempt to schedule pod %s failed", pod.key)
            self._engines[pod.scheduler_name].equivalence_cache.forget()
            return Unplaced(f"{type(error).__name__}: {error}", SCHEDULER_ERROR)

    async def _on_nominated_node(self, pod: Pod, extenders: Sequence[Extender]) -> Outcome | None:
        """Place a pod on its nominated node, if it fits there and the extenders agree."""
        node = self._nominated(pod)[1]
        if not node:
            return None
        try:
            opinion = await filter_nodes(extenders, pod, [node])
        except ExtenderFailed as error:
            log.warning("cannot evaluate pod %s on its nominated node %s: %s", pod.key, node, error)
            return None
        if not opinion.left:
            return None
        await self._turn()
        self._check_still_pending(pod)
        attempt, node = self._nominated(pod)
        return self._hold(attempt, node, 1) if node else None

    def _nominated(self, pod: Pod) -> tuple[Attempt, str]:
        """Return the pod's nominated node if the pod fits there, or ""."""
        attempt = self._attempt(pod)
        if not pod.nominated_node or attempt.run_pre_filter().rejection is not None:
            return attempt, ""
        found = attempt.fitting_nominated_node()
        return attempt, "" if found is None else found.name

    async def _anywhere(self, pod: Pod, extenders: Sequence[Extender]) -> Outcome:
        for _ in range(ROUNDS):
            await self._turn()
            looked = self._look(pod)
            if isinstance(looked, Unplaced):
                return looked
            attempt, feasible = looked
            if isinstance(feasible, Diagnosis):
                return await post_filter(attempt, feasible, extenders)
            asked = [info.name for info in self._some(attempt, feasible)]
            opinion = await ask(extenders, pod, asked)
            outcome = await self._decide(pod, extenders, opinion)
            if outcome is not None:
                return outcome
        return Unplaced(OVERTAKEN, SCHEDULER_ERROR)

    def _look(self, pod: Pod) -> tuple[Attempt, Nodes | Diagnosis] | Unplaced:
        """Return the nodes where the pod fits now, or why there are none."""
        attempt = self._attempt(pod)
        nodes = attempt.cycle.nodes
        if not len(nodes):
            return Unplaced(NO_NODES)
        before = attempt.run_pre_filter()
        if before.rejection is not None:
            return attempt, rejected_everywhere(attempt.cycle, before, before.rejection)
        attempt.fitting_nominated_node()  # for the reason if the pod does not fit there
        feasible = attempt.feasible()
        return attempt, feasible if len(feasible) else _diagnosis(attempt)

    async def _decide(self, pod: Pod, extenders: Sequence[Extender], opinion: Opinion) -> Outcome | None:
        """Place the pod on a node that still fits; None if no node that the extenders left fits any more."""
        await self._turn()
        self._check_still_pending(pod)
        looked = self._look(pod)
        if isinstance(looked, Unplaced):
            return looked
        attempt, feasible = looked
        if isinstance(feasible, Diagnosis):
            return await post_filter(attempt, feasible, extenders)
        left = set(opinion.left)
        nodes = feasible.take(np.array([info.name in left for info in feasible], np.bool_))
        if len(nodes):
            return self._hold(attempt, self._best(attempt, nodes, opinion), len(nodes))
        if left:
            return None
        plugins = _diagnosis(attempt).rejected_by() | {EXTENDER}
        outcome = await post_filter(attempt, _with_opinion(attempt, opinion), extenders)
        return replace(outcome, rejected_by=outcome.rejected_by | plugins)

    def _best(self, attempt: Attempt, nodes: Nodes, opinion: Opinion) -> str:
        """Return the best node by the scores of plugins and extenders, a random one among equals."""
        if len(nodes) == 1:
            return nodes[0].name
        totals = attempt.totals(nodes)
        totals += np.array([opinion.scores.get(info.name, 0) for info in nodes], np.int64)
        percent = self._spread(attempt.engine)
        best = near_best(totals, percent, self._tie_break) if percent else np.flatnonzero(totals == totals.max())
        slot = int(nodes.slots[best[self._tie_break.randrange(len(best))]])
        if self._on_choice is not None:
            self._on_choice(attempt, nodes, slot)
        return attempt.cycle.nodes[slot].name

    def _some(self, attempt: Attempt, feasible: Nodes) -> Nodes:
        """Return as many nodes as the profile wants scored; all of them for extenders if it scores none."""
        return self._sampled(attempt, feasible) if attempt.engine.runner.plugin_set.score else feasible

    def _check_still_pending(self, pod: Pod) -> None:
        if not self._is_waiting(pod):
            raise NotPending


def _diagnosis(attempt: Attempt) -> Diagnosis:
    """Return the plugins' verdicts on all nodes; a copy, because other pods are scheduled before it is used."""
    assert attempt.entry is not None
    return Diagnosis(Verdicts(attempt.codes.copy(), list(attempt.entry.rejections)), attempt.before)


def _with_opinion(attempt: Attempt, opinion: Opinion) -> Diagnosis:
    """Return the verdicts of plugins and extenders on all nodes.

    Nodes that an extender drops without a reason, or that were not evaluated, have no verdict; it is unknown whether
    evictions would help there.
    """
    diagnosis = _diagnosis(attempt)
    codes, rejections = diagnosis.verdicts.codes, list(diagnosis.verdicts.rejections)
    known: dict[Rejection, int] = {}
    unsaid = _unsaid(attempt)
    for info in attempt.cycle.nodes:
        said = opinion.rejections.get(info.name)
        if said is None and codes[info.slot]:
            continue
        found = said if said is not None and len(known) < MOST_REASONS else unsaid
        if found not in known:
            rejections.append(found)
            known[found] = len(rejections)
        codes[info.slot] = known[found]
    return Diagnosis(Verdicts(codes, rejections), attempt.before)


def _unsaid(attempt: Attempt) -> Rejection:
    """Return the verdict for nodes without one: as in kube-scheduler, PreFilter results count as the reason if any."""
    restricting = attempt.before.restricting
    reasons = [f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(set(restricting)))}]"] if restricting else []
    return Rejection(*reasons, preemption_helps=False, plugin=EXTENDER)
