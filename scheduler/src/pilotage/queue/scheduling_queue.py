"""All waiting pods, each in exactly one place; the package's docstring draws how they move."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from time import perf_counter
from typing import Any

from pilotage.framework.api.events import (
    FORCE_ACTIVATE,
    GANG_ROLLED_BACK,
    PROFILES_CHANGED,
    RETRY_DUE,
    UNSCHEDULABLE_TIMEOUT,
    Event,
)
from pilotage.framework.api.plugin import QueueSort
from pilotage.framework.runtime.changes import pod_events
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod
from pilotage.queue.active import active_queue, order_of
from pilotage.queue.backoff import Backoff, BackoffQueue
from pilotage.queue.changed_pods import ChangedPods
from pilotage.queue.gang_index import GangIndex
from pilotage.queue.gated import Gates, GatesOf
from pilotage.queue.hints import AFTER_BACKOFF, SKIP, Hints, Observer, Retries, Strategy
from pilotage.queue.in_flight import InFlight
from pilotage.queue.nominator import Lookup, Nominator
from pilotage.queue.pod_heap import Order
from pilotage.queue.queue_view import QueueView
from pilotage.queue.queued_pod import Place, QueuedPod
from pilotage.queue.sweep import Sweep
from pilotage.queue.tentative_skips import TentativeSkips
from pilotage.queue.unschedulable import Rejector, gated_pool, unschedulable_pool, waiting_for_any

log = logging.getLogger(__name__)


class SchedulingQueue(QueueView):
    """All waiting pods, known by namespace/name; pods in flight are known by their uid."""

    def __init__(
        self,
        sort: QueueSort | Order,
        gates: GatesOf,
        retries: Retries,
        clock: Callable[[], float],
        *,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        longest_unschedulable: float = 300.0,
        known: Lookup | None = None,
        observe_hint: Observer | None = None,
        observe_event: Callable[[str, float], None] | None = None,
    ) -> None:
        self._clock = clock
        self._observe_hint = observe_hint
        self._observe_event = observe_event  # called with each event's name and handling time
        self._waiting: dict[str, QueuedPod] = {}
        self.changed: ChangedPods | None = None  # None while no reader counts the pods
        self._gangs = GangIndex()
        self._in_flight = InFlight()
        self.tentative_skips = TentativeSkips()
        self._unschedulable, self._gated = unschedulable_pool(), gated_pool()
        self._backing_off = Backoff(clock, initial_backoff, max_backoff)
        self._sweep = Sweep(clock, longest_unschedulable, (self._unschedulable, self._gated))
        self._known = known
        self._use(sort, gates, retries)
        self.nominator = Nominator(self._queued, known)
        self.cycles = 0  # attempts started
        self.incoming: Counter[tuple[str, str]] = Counter()  # pods added, by place and event

    def _use(self, sort: QueueSort | Order, gates: GatesOf, retries: Retries) -> None:
        order = order_of(sort)
        self._active, self._backoff = active_queue(order), BackoffQueue(self._backing_off, order)
        self._gates = Gates(gates)
        self._hints = Hints(retries, self._observe_hint)

    def _queued(self, key: str) -> Pod | None:
        queued = self._waiting.get(key)
        return None if queued is None else queued.pod

    # ---------------------------------------------------------------------------------- watch events

    def add(self, pod: Pod) -> None:
        """Add a new pod, in place of any other of its name."""
        if pod.uid in self._in_flight:
            log.error("pod %s is already being scheduled, it is not added again", pod.key)
            return
        if (other := self._waiting.get(pod.key)) is not None:
            self.delete(other.pod)
        self.nominator.add(pod)
        self._to_active(QueuedPod(pod, self._clock()), "UnscheduledPodAdd")

    def update(self, old: Pod, new: Pod) -> None:
        """Handle an update of a pod; it is retried if its rejectors wait for this change."""
        if new.uid in self._in_flight:
            self._in_flight.note_for(new.uid, pod_events(old, new, target=True), old, new)
            return
        queued = self._waiting.get(new.key)
        if queued is None or queued.pod.uid != new.uid:
            self.nominator.delete(old)  # a different pod, if only the name matches
            self.add(new)
            return
        queued.pod = new
        if self.changed is not None:
            self.changed.note(queued.key)
        self._gangs.leave(queued)
        self._gangs.join(queued)
        self.nominator.update(old, new)
        if queued.place is self._active or queued.place is self._backoff:
            queued.place.add(queued)  # its order may have changed
        else:
            self._reconsider(queued, old, new)

    def delete(self, pod: Pod) -> None:
        """Remove a pod; the attempt of a pod in flight ends outside of the queue."""
        self.nominator.delete(pod)
        queued = self._waiting.get(pod.key)
        # The waiting pod may be its successor.
        if queued is not None and queued.pod.uid == pod.uid:
            self._take(queued)

    def move_all(
        self, event: Event, old: Any = None, new: Any = None, precheck: Callable[[Pod], bool] | None = None
    ) -> None:
        """Retry all pods that an event helps, those in flight after their attempt."""
        if not event.is_wildcard and not self._hints.hints_for(event):
            return
        start = perf_counter()
        candidates = self._candidates(event, old, new)
        if precheck is not None:
            candidates = [queued for queued in candidates if precheck(queued.pod)]
        self._move(candidates, event, old, new)
        if self._observe_event is not None:
            self._observe_event(event.name, perf_counter() - start)

    # ------------------------------------------------------------------------------------- scheduling

    def pop(self) -> QueuedPod | None:
        """Take the next pod; without active pods, the first in back-off that did not fail with an error."""
        queued = self._active.first()
        if queued is None:
            queued = self._backoff.first_rejected()
            if queued is None:
                return None
            self.incoming["active", "PopFromBackoffQ"] += 1
        self._start_flight(queued)
        return queued

    def take(self, queued: QueuedPod) -> None:
        """Take a waiting pod out of turn."""
        self._start_flight(queued)

    def pop_gang(self, gang: GangName, scheduler: str) -> list[QueuedPod]:
        """Take all other waiting pods of a gang that are not gated."""
        found = [queued for queued in self.gang(gang, scheduler) if not queued.is_gated]
        for queued in found:
            self._start_flight(queued)
        return found

    def _start_flight(self, queued: QueuedPod) -> None:
        self._take(queued)
        self.nominator.touch(queued.pod)
        queued.attempts += 1
        self.cycles += 1
        self._in_flight.start(queued.pod)

    def put_back(self, queued: QueuedPod) -> None:
        """Undo `pop`, with the pod's current state; a pod that is deleted or bound is forgotten."""
        uid, known = queued.pod.uid, self._known
        latest = queued.pod if known is None else known(queued.key)
        self._in_flight.done(uid)
        if latest is None or latest.uid != uid or latest.node_name or queued.key in self._waiting:
            return
        queued.pod = latest
        queued.attempts -= 1
        self._to_active(queued, "PutBack")
        self.nominator.touch(latest)

    def done(self, uid: str) -> None:
        """End the flight of a pod, which cannot be requeued after this."""
        self._in_flight.done(uid)

    def add_unschedulable(
        self,
        queued: QueuedPod,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        *,
        pod: Pod | None = None,
        again_at: float | None = None,
        rest: float = 0.0,
    ) -> None:
        """Requeue a pod whose attempt failed, with the plugins that rejected it; none after an error.

        `again_at` is the time of a retry without an event. During the next `rest` seconds the pod is not retried,
        unless the profiles change. The caller has checked that the pod still exists, with this uid and without a
        node; otherwise it calls `done`. `pod` is its current state.
        """
        uid = queued.pod.uid
        if queued.key in self._waiting:
            log.error("pod %s is already in the queue, it is not added again", queued.key)
        else:
            queued.pod, queued.again_at = pod or queued.pod, again_at
            queued.note_failure(self._clock(), unschedulable_plugins, pending_plugins, rest)
            self._requeue(queued, self._strategy_after_flight(queued, uid), "ScheduleAttemptFailure")
            self.nominator.touch(queued.pod)
        self._in_flight.done(uid)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Retry pods immediately, whatever they wait for; those in flight after their back-off."""
        for pod in pods:
            queued = self._waiting.get(pod.key)
            if queued is None:
                self._in_flight.note_for(pod.uid, [FORCE_ACTIVATE], None, pod)
            elif queued.place is not self._active:
                self._to_active(queued, FORCE_ACTIVATE.name)

    def retry_skipped(self) -> None:
        """Retry the pods that events skipped because of reservations that have been rolled back."""
        for queued in self.tentative_skips.end():
            if queued.place is self._unschedulable:
                self._take(queued)
                self._requeue(queued, AFTER_BACKOFF, GANG_ROLLED_BACK.name)

    def gate_opens(self, pod: Pod) -> None:
        """Let events reach a pod again: the plugin reports that its gate is open."""
        queued = self._waiting.get(pod.key)
        if queued is not None and queued.pod.uid == pod.uid and queued.place is self._gated:
            self._gated.remove(queued)
            queued.gate_reports_opening = False
            self._gated.add(queued)

    def reconfigure(self, sort: QueueSort | Order, gates: GatesOf, retries: Retries) -> None:
        """Switch to other profiles: all pods stay, pass through the new gates, and are retried after back-off."""
        ready, later = list(self._active), list(self._backoff)
        for queued in (*ready, *later):
            self._take(queued)
        for queued in (*self._waiting.values(), *later):
            queued.forget_rest()  # the slow plugin may be gone
        self._use(sort, gates, retries)
        for queued in ready:
            self._to_active(queued, PROFILES_CHANGED.name)
        for queued in later:
            self._to_backoff(queued, PROFILES_CHANGED.name)
        self.move_all(PROFILES_CHANGED)

    # -------------------------------------------------------------------------------------------- timers

    def tick(self) -> None:
        """Run the timers that are due; cheap if none is."""
        self.flush_backoff()
        self.flush_alarms()
        if self._sweep.is_due():
            self.flush_unschedulable()

    def flush_backoff(self) -> None:
        """Make all pods active whose back-off is over."""
        while (queued := self._backoff.first_completed()) is not None:
            self._to_active(queued, "BackoffComplete")

    def flush_alarms(self) -> None:
        """Retry pods at the time that a plugin has set."""
        while (queued := self._unschedulable.due(self._clock())) is not None:
            self._move([queued], RETRY_DUE, None, queued.pod)

    def flush_unschedulable(self) -> None:
        """Retry pods that have waited too long, in case an event was missed."""
        if overdue := self._sweep.overdue():
            self._move(overdue, UNSCHEDULABLE_TIMEOUT, None, None)

    # ------------------------------------------------------------------------------------------------- decisions

    def _candidates(self, event: Event, old: Any, new: Any) -> list[QueuedPod]:
        """Return the pods whose rejectors or gate wait for this event."""
        if event.is_wildcard:
            return [*self._unschedulable, *self._gated]
        # Thousands of gangs may each wait for a member: skip those that a placed pod does not belong to.
        narrow: dict[Rejector, Collection[str]] = {
            rejector: self._gangs.keys(gangs) for rejector, gangs in self._hints.only_gangs(event, old, new).items()
        }
        narrow |= self._hints.only_pods(event, old, new)
        return waiting_for_any((self._unschedulable, self._gated), self._hints.ranks(event), narrow)

    def _move(self, candidates: Iterable[QueuedPod], event: Event, old: Any, new: Any) -> None:
        evaluation, name = self._hints.evaluation(event, old, new), event.name
        for queued in candidates:
            # A closed gate is checked first: it is cheaper than the hints, whose answer would not matter.
            if queued.place is self._gated and not event.is_wildcard and self._gates.is_shut(queued):
                continue
            if (strategy := evaluation.strategy(queued)) is not SKIP:
                self._take(queued)
                self._requeue(queued, strategy, name)
            else:
                self.tentative_skips.note(queued)
        self._in_flight.note(event, old, new)

    def _reconsider(self, queued: QueuedPod, old: Pod, new: Pod) -> None:
        for event in pod_events(old, new, target=True):
            strategy = self._hints.evaluation(event, old, new).strategy(queued)
            if strategy is not SKIP and self._requeue(queued, strategy, event.name):
                return

    def _strategy_after_flight(self, queued: QueuedPod, uid: str) -> Strategy:
        """Return the best strategy of the events since the pod was taken."""
        happenings = self._in_flight.since_taken(uid)
        if not queued.was_rejected or happenings is None:
            return AFTER_BACKOFF
        return self._hints.best(queued, ((event, old, new) for _, event, old, new in happenings))

    # --------------------------------------------------------------------------------------------------- moving

    def _requeue(self, queued: QueuedPod, strategy: Strategy, event: str) -> bool:
        """Move a pod by a strategy, and return whether it will be retried."""
        if strategy is SKIP:
            self._put(queued, self._unschedulable, event)
            return False
        holds = self._backing_off.holds if strategy is AFTER_BACKOFF else self._backing_off.rests
        if holds(queued):
            return self._to_backoff(queued, event)
        return self._to_active(queued, event)

    def _to_active(self, queued: QueuedPod, event: str) -> bool:
        # Pods pass the gates when they enter back-off, and not again when they leave it.
        if queued.place is not self._backoff and self._keep_out(queued, event):
            return False
        if queued.initial_attempt_timestamp is None:
            queued.initial_attempt_timestamp = self._clock()
        self._put(queued, self._active, event)
        return True

    def _to_backoff(self, queued: QueuedPod, event: str) -> bool:
        if self._keep_out(queued, event):
            return False
        self._put(queued, self._backoff, event)
        return True

    def _keep_out(self, queued: QueuedPod, event: str) -> bool:
        if not self._gates.keep_out(queued):
            return False
        queued.was_flushed = False
        self._put(queued, self._gated, event)
        return True

    def _put(self, queued: QueuedPod, place: Place, event: str) -> None:
        before = queued.place
        if before is not None:
            before.remove(queued)
        place.add(queued)
        queued.place, queued.moved_by = place, event
        self._waiting[queued.key] = queued
        if self.changed is not None:
            self.changed.note(queued.key)
        if before is None:
            self._gangs.join(queued)
        if place is not self._gated:
            self.incoming[place.name, event] += 1
        elif before is not self._gated and before is not self._unschedulable:
            # This metric counts gated pods as unschedulable, so a move between the two is no arrival.
            self.incoming["unschedulable", event] += 1

    def _take(self, queued: QueuedPod) -> None:
        del self._waiting[queued.key]
        if self.changed is not None:
            self.changed.left(queued.key)
        self._gangs.leave(queued)
        if queued.place is not None:
            queued.place.remove(queued)
            queued.place = None
