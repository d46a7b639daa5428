"""The scheduling cycle: one attempt to place one pod, entirely in memory."""

import logging
from collections.abc import Callable, Mapping
from random import Random
from time import perf_counter

import numpy as np

from pilotage.cache.cluster_cache import AlreadyPlaced, ClusterCache
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Wait
from pilotage.framework.runtime.timings import SUCCESS, UNSCHEDULABLE
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt, Nominations, unplaced_by
from pilotage.scheduling.diagnosis import NO_NODES
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Outcome, Placed, Unplaced, plugin_failure
from pilotage.scheduling.sharing.lost_nominations import LostNominations

# Called after a node was chosen by its score: the attempt, the scored nodes, the slot of the best.
OnChoice = Callable[[Attempt, Nodes, int], None]

log = logging.getLogger(__name__)

FEWEST_NODES = 100  # always evaluated, however small the percentage
Spread = Callable[[Engine], int]  # how many percent below the best score a node may be


class Scheduler:
    """Places pods one by one."""

    def __init__(
        self,
        cache: ClusterCache,
        engines: Mapping[str, Engine],
        nominations: Nominations,
        tie_break: Random,
        on_choice: OnChoice | None = None,
        spread: Spread = lambda _engine: 0,
        lost_nominations: LostNominations | None = None,
    ) -> None:
        self._cache = cache
        self._engines = engines
        self._nominations = nominations
        self._tie_break = tie_break
        self._on_choice = on_choice
        self._spread = spread
        self._lost_room = lost_nominations
        self._first_node = 0  # where the next sample of nodes starts

    def schedule(self, pod: Pod, *, preempt: bool = True) -> Outcome:
        """Find and reserve a node for a pod, or return why none fits; preempts only if allowed."""
        attempt = self._attempt(pod)
        attempt.preempts = preempt
        nodes = attempt.cycle.nodes
        if not len(nodes):
            return Unplaced(NO_NODES)
        try:
            before = attempt.run_pre_filter()  # 1. checks before any node
            if before.rejection is not None:
                return attempt.post_filter_after_pre_filter(before.rejection)
            nominated = attempt.fitting_nominated_node()  # 2. a nominated node is tried first, alone
            if nominated is not None:
                return self._hold(attempt, nominated.name, 1)
            feasible = attempt.feasible()  # 3. the nodes that fit
            if not len(feasible):
                return attempt.post_filter()  # 4. none: would preemption help
            chosen = self._choose(attempt, feasible)  # 5. the best of them
            return self._hold(attempt, chosen, len(feasible))  # 6. reserve it; permit decides when to bind
        except (PluginFailed, AlreadyPlaced) as error:
            return plugin_failure(error)
        except Exception as error:  # a bug of ours costs only this attempt and the cached results
            log.exception("the attempt to schedule pod %s failed", pod.key)
            attempt.engine.equivalence_cache.forget()
            return Unplaced(f"{type(error).__name__}: {error}", SCHEDULER_ERROR)

    def _attempt(self, pod: Pod) -> Attempt:
        attempt = Attempt(self._cache, self._engines[pod.scheduler_name], self._nominations, pod)
        attempt.lost_nominations = self._lost_room
        return attempt

    def unreserve(self, placed: Placed) -> None:
        """Release a reservation that has not been reported yet."""
        for complaint in placed.engine.runner.unreserve(placed.cycle, placed.node):
            log.error("pod %s: %s", placed.pod.key, complaint)
        self._cache.forget(placed.pod.uid)

    def _choose(self, attempt: Attempt, feasible: Nodes) -> str:
        """Return the best node, a random one among equals."""
        nodes = feasible if len(feasible) == 1 else self._sampled(attempt, feasible)
        if len(nodes) == 1:
            return nodes[0].name
        percent = self._spread(attempt.engine)
        best = attempt.near_best(nodes, percent, self._tie_break) if percent else attempt.best(nodes)
        attempt.ties = len(best)
        slot = int(best[0] if attempt.ties == 1 else best[self._tie_break.randrange(attempt.ties)])
        if self._on_choice is not None:
            self._on_choice(attempt, nodes, slot)
        return attempt.cycle.nodes[slot].name

    def _sampled(self, attempt: Attempt, feasible: Nodes) -> Nodes:
        """Return as many nodes as the profile wants scored, starting where the last sample ended."""
        wanted = _wanted(attempt)
        if len(feasible) <= wanted:
            return feasible
        start = int(np.searchsorted(feasible.slots, self._first_node))
        places = np.roll(np.arange(len(feasible), dtype=np.int32), -start)[:wanted]
        self._first_node = (int(feasible.slots[places[-1]]) + 1) % len(attempt.cycle.nodes)
        return feasible.take(places)

    def _hold(self, attempt: Attempt, node: str, feasible: int) -> Outcome:
        """Assume the pod, let plugins reserve, and run Permit."""
        placed = attempt.cycle.pod.on(node)
        self._cache.assume(placed)
        runner = attempt.engine.runner
        try:
            start = perf_counter()
            answer: Rejection | dict[str, Wait] | None = runner.reserve(attempt.cycle, node, attempt.before.skipped)
            runner.timings.past("Reserve", start, SUCCESS if answer is None else UNSCHEDULABLE)
            if answer is None:
                start = perf_counter()
                answer = runner.permit(attempt.cycle, node)
                runner.timings.past("Permit", start, _status(answer))
        except Exception:
            self._unreserve(attempt, placed)
            raise
        if isinstance(answer, Rejection):
            self._unreserve(attempt, placed)
            return unplaced_by(answer)
        return Placed(placed, feasible, attempt.cycle, attempt.engine, attempt.ties, answer or {})

    def _unreserve(self, attempt: Attempt, placed: Pod) -> None:
        for complaint in attempt.engine.runner.unreserve(attempt.cycle, placed.node_name):
            log.error("pod %s: %s", placed.key, complaint)
        self._cache.forget(placed.uid)


def _status(answer: Rejection | dict[str, Wait] | None) -> str:
    return SUCCESS if answer is None else UNSCHEDULABLE if isinstance(answer, Rejection) else "Wait"


def _wanted(attempt: Attempt) -> int:
    """Return how many feasible nodes are enough: one without scoring, otherwise the profile's percentage."""
    engine, open_nodes = attempt.engine, attempt.open_nodes
    if not engine.runner.plugin_set.score:
        return 1
    if not 0 < engine.percentage < 100 or open_nodes < FEWEST_NODES:
        return open_nodes
    return max(FEWEST_NODES, open_nodes * engine.percentage // 100)
