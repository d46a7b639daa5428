"""Requeues a pod that got no node or lost it, with a condition and an event."""

import logging
from collections.abc import Callable, Mapping

from pilotage.framework.api.events import POD_GONE
from pilotage.framework.api.signal import Signal
from pilotage.framework.api.verdicts import FollowUp
from pilotage.model.gangs import gang_of
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.cost import LONGEST_REST, rest_after, slow_down_message
from pilotage.scheduling.demand import Demand
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.eviction import Evictions
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Unplaced
from pilotage.scheduling.outside import Lookup, Recorder, Statuses
from pilotage.telemetry.logs import tell
from pilotage.telemetry.verbosity import V2

log = logging.getLogger(__name__)


def log_unplaced(pod: Pod, outcome: Unplaced) -> None:
    """Log why a pod got no node."""
    if outcome.reason == SCHEDULER_ERROR:
        tell(log, logging.ERROR, "Error scheduling pod; retrying", pod=pod.key, err=outcome.message)
    else:
        tell(log, V2, "Unable to schedule pod; no fit; waiting", pod=pod.key, err=outcome.message)


class Failures:
    """Requeues pods after failed attempts, and reports why."""

    def __init__(
        self,
        queue: SchedulingQueue,
        known: Lookup,
        statuses: Statuses,
        recorder: Recorder,
        evictions: Evictions,
        engines: Mapping[str, Engine],
        *,
        demand: Demand | None = None,
        report: Callable[[Pod, Unplaced], None] = log_unplaced,
    ) -> None:
        self._queue = queue
        self._known = known
        self._statuses = statuses
        self._recorder = recorder
        self._evictions = evictions
        self._engines = engines
        self._demand = Demand(engines) if demand is None else demand
        self._report = report  # called with new outcomes
        self.on_slowed_down: Signal[str] = Signal()  # the profile

    def requeue(self, queued: QueuedPod, outcome: Unplaced, seconds: float = 0.0) -> None:
        """Requeue a pod, unless the latest version from the API server is deleted or has a node.

        The longer the attempt took, the longer the pod waits.
        """
        latest = self._latest(queued.pod)
        if latest is None or latest.scheduler_name not in self._engines:  # its profile may have been removed
            self._demand.gone(queued.pod)
            self._queue.done(queued.pod.uid)
            return
        outcome = self._demand.judged(outcome, latest)
        is_news = outcome.is_news or _has_other_reason(latest, outcome.reason)
        if is_news:
            self._report(latest, outcome)
        self._requeue(queued, latest, outcome, seconds)
        if is_news:
            self._record_failure(latest, outcome)

    def _requeue(self, queued: QueuedPod, latest: Pod, outcome: Unplaced, seconds: float) -> None:
        """Start the evictions, if any, and requeue the pod with its nominated node."""
        unreported = "" if latest.nominated_node else self._queue.nominator.node_of(latest)
        nomination = unreported or None if outcome.nominate is None else outcome.nominate
        pod = latest if nomination is None else latest.with_nominated_node(nomination)
        if outcome.victims:
            self._evictions.start(pod, outcome)  # before the queue runs the gates
        rest = _rest(queued, outcome)
        if not outcome.nominate and rest_after(seconds) > rest:
            rest = rest_after(seconds)
            self._slow_down(latest, outcome, seconds, rest)
        self._queue.add_unschedulable(
            queued, outcome.rejected_by, outcome.pending, pod=pod, again_at=outcome.again_at, rest=rest
        )
        self._queue.nominator.add(pod, nomination)
        if unreported and nomination == "":  # no watch event will report that the nomination is gone
            self._queue.move_all(
                POD_GONE, latest.with_nominated_node(unreported), None, lambda other: other.uid != pod.uid
            )
        for follow_up in outcome.follow_ups:  # last: what it frees may help the pod itself
            _run(follow_up, pod)

    def _record_failure(self, pod: Pod, outcome: Unplaced) -> None:
        note = outcome.note or outcome.message
        self._recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", note, controller=pod.scheduler_name)
        self._statuses.condition(pod, outcome.reason, outcome.message, outcome.nominate)

    def _slow_down(self, pod: Pod, outcome: Unplaced, seconds: float, rest: float) -> None:
        """Record why a pod waits longer than usual; only once for a gang."""
        if gang_of(pod) is None or outcome.note:
            note = slow_down_message(seconds, rest)
            self._recorder.record(pod, "Warning", "SlowedDown", "Scheduling", note, controller=pod.scheduler_name)
            self.on_slowed_down(pod.scheduler_name)

    def _latest(self, pod: Pod) -> Pod | None:
        """Return the current pod, if it still waits for a node."""
        latest = self._known(pod.key)
        if latest is None or latest.uid != pod.uid:
            log.info("pod %s was deleted and is not retried", pod.key)
            return None
        if latest.node_name:
            log.info("pod %s has been assigned to node %s and is not retried", pod.key, latest.node_name)
            return None
        return latest


def _run(follow_up: FollowUp, pod: Pod) -> None:
    try:
        follow_up()
    except Exception:  # a bug of a plugin costs only what it wanted to free
        log.exception("what was to be freed for pod %s is not", pod.key)


def _has_other_reason(pod: Pod, reason: str) -> bool:
    """Return whether a pod's condition still has another reason, so that it must be written now."""
    condition = pod.status.condition("PodScheduled")
    return condition is not None and condition.status == "False" and condition.reason != reason


def _rest(queued: QueuedPod, outcome: Unplaced) -> float:
    """Return a pod's minimum wait: twice as long each time that a plugin took too long."""
    if not outcome.cost:
        return outcome.rest
    queued.overruns += 1
    return min(outcome.rest * 2.0 ** (queued.overruns - 1), max(outcome.rest, LONGEST_REST))
