"""What happens to a pod that got no place, or lost it again: back to the queue, and its owner is told why."""

import logging
from collections.abc import Container

from pilotage.framework.events import POD_GONE
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.eviction import Evictions
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Unplaced
from pilotage.scheduling.outside import Lookup, Recorder, Statuses
from pilotage.telemetry.logs import tell
from pilotage.telemetry.verbosity import V2

log = logging.getLogger(__name__)

LONGEST_REST = 600.0  # seconds


class Failures:
    """Takes pods back."""

    def __init__(
        self,
        queue: SchedulingQueue,
        known: Lookup,
        statuses: Statuses,
        recorder: Recorder,
        evictions: Evictions,
        served: Container[str],
    ) -> None:
        self._queue = queue
        self._known = known
        self._statuses = statuses
        self._recorder = recorder
        self._evictions = evictions
        self._served = served

    def take_back(self, queued: QueuedPod, outcome: Unplaced) -> None:
        """Let a pod wait for its next try, unless it is gone or has a node; both are told by the API server alone."""
        latest = self._latest(queued.pod)
        if latest is None or latest.scheduler_name not in self._served:  # its profile may be gone by now
            self._queue.done(queued.pod.uid)
            return
        if outcome.is_news:
            _log(latest, outcome)
        unheard = "" if latest.nominated_node else self._queue.nominator.node_of(latest)
        promise = unheard or None if outcome.nominate is None else outcome.nominate
        pod = latest if promise is None else latest.promised(promise)
        if outcome.victims:
            self._evictions.start(pod, outcome)  # before the queue asks who must wait for evictions
        self._queue.add_unschedulable(
            queued,
            outcome.rejected_by,
            outcome.pending,
            pod=pod,
            again_at=outcome.again_at,
            rest=_rest(queued, outcome),
        )
        self._queue.nominator.add(pod, promise)
        if unheard and promise == "":  # the API server will not tell either that others need not leave it room
            self._queue.move_all(POD_GONE, latest.promised(unheard), None, lambda other: other.uid != pod.uid)
        if not outcome.is_news:
            return
        note = outcome.note or outcome.message
        self._recorder.record(latest, "Warning", "FailedScheduling", "Scheduling", note, controller=pod.scheduler_name)
        self._statuses.condition(latest, outcome.reason, outcome.message, outcome.nominate)

    def _latest(self, pod: Pod) -> Pod | None:
        """Return the pod as it is now, if it still waits for a node."""
        latest = self._known(pod.key)
        if latest is None or latest.uid != pod.uid:
            log.info("pod %s is gone, it is not tried again", pod.key)
            return None
        if latest.node_name:
            log.info("pod %s has been assigned to node %s, it is not tried again", pod.key, latest.node_name)
            return None
        return latest


def _rest(queued: QueuedPod, outcome: Unplaced) -> float:
    """Return how long a pod waits at least: twice as long each time that a plugin took too long over it."""
    if not outcome.cost:
        return outcome.rest
    queued.overruns += 1
    return min(outcome.rest * 2.0 ** (queued.overruns - 1), max(outcome.rest, LONGEST_REST))


def _log(pod: Pod, outcome: Unplaced) -> None:
    if outcome.reason == SCHEDULER_ERROR:
        tell(log, logging.ERROR, "Error scheduling pod; retrying", pod=pod.key, err=outcome.message)
    else:
        tell(log, V2, "Unable to schedule pod; no fit; waiting", pod=pod.key, err=outcome.message)
