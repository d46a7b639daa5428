"""All waiting pods, each in exactly one place; how they move is drawn in the package's docstring."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

from pilotage.framework.api.events import (
    FORCE_ACTIVATE,
    GANG_GAVE_BACK,
    PROFILES_CHANGED,
    TIME_HAS_COME,
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
from pilotage.queue.doubts import Doubts
from pilotage.queue.gang_index import GangIndex
from pilotage.queue.gated import Gates, GatesOf
from pilotage.queue.hints import AFTER_BACKOFF, SKIP, Hints, Observer, Retries, Strategy
from pilotage.queue.in_flight import InFlight
from pilotage.queue.nominator import Lookup, Nominator
from pilotage.queue.pending import Pending, rejections_of
from pilotage.queue.pod_heap import Order
from pilotage.queue.queued_pod import Place, QueuedPod
from pilotage.queue.sweep import Sweep
from pilotage.queue.unschedulable import gated_pool, unschedulable_pool, waiting_for_any

log = logging.getLogger(__name__)


class SchedulingQueue:
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
        self.changed: ChangedPods | None = None  # None while nobody counts
        self._gangs = GangIndex()
        self._in_flight = InFlight()
        self.doubts = Doubts()
        self._unschedulable, self._gated = unschedulable_pool(), gated_pool()
        self._backing_off = Backoff(clock, initial_backoff, max_backoff)
        self._sweep = Sweep(clock, longest_unschedulable, (self._unschedulable, self._gated))
        self._known = known
        self._use(sort, gates, retries)
        self.nominator = Nominator(self._queued, known)
        self.cycles = 0  # how many pods were taken
        self.incoming: Counter[tuple[str, str]] = Counter()  # how many were added, by place and event

    def _use(self, sort: QueueSort | Order, gates: GatesOf, retries: Retries) -> None:
        order = order_of(sort)
        self._active, self._backoff = active_queue(order), BackoffQueue(self._backing_off, order)
        self._gates = Gates(gates)
        self._hints = Hints(retries, self._observe_hint)

    # ------------------------------------------------------------------------------------------------- looking

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(list(self._waiting.values()))

    def keys(self) -> list[str]:
        """Return all waiting pods, by namespace/name."""
        return list(self._waiting)

    def find(self, key: str) -> QueuedPod | None:
        """Return a waiting pod by namespace/name."""
        return self._waiting.get(key)

    def is_in_flight(self, uid: str) -> bool:
        """Return whether a pod is in flight."""
        return uid in self._in_flight

    def pending(self) -> Pending:
        """Return how many pods wait."""
        return Pending(len(self._active), len(self._backoff), len(self._unschedulable), len(self._gated))

    def ahead_of(self, queued: QueuedPod) -> tuple[int, int] | None:
        """Return how many pods come before a waiting one that is ready or in back-off, and how many there are."""
        total = len(self._active) + len(self._backoff)
        if queued.place is self._active:
            return self._active.ahead_of(queued), total
        if queued.place is self._backoff:
            return len(self._active) + self._backoff.ahead_of(queued), total
        return None

    def ahead_of_all(self) -> dict[str, int]:
        """Return the same for all pods that are ready or in back-off, by namespace/name."""
        found = self._active.ahead_of_all()
        ready = len(found)
        return found | {key: ready + number for key, number in self._backoff.ahead_of_all().items()}

    def next_try(self, queued: QueuedPod) -> float | None:
        """Return when a waiting pod gets its next try even if nothing happens; None if it is ready or nobody knows."""
        return self._backoff.end_of(queued) if queued.place is self._backoff else queued.again_at

    def in_flight_counts(self) -> Counter[str]:
        """Return how many pods are in flight, and how many events are kept for them."""
        return self._in_flight.counts()

    def rejections(self) -> Counter[tuple[str, str]]:
        """Return how many waiting pods each plugin of each profile rejected."""
        return rejections_of(self._waiting.values())

    def next_wake_up(self) -> float | None:
        """Return when `tick` is due; None if only an event can change anything."""
        times = (self._backoff.next_completion(), self._unschedulable.next_alarm(), self._sweep.next())
        return min((time for time in times if time is not None), default=None)

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
        """Handle an update of a pod; it is retried if that is what its rejectors wait for."""
        if new.uid in self._in_flight:
            self._in_flight.note_for(new.uid, pod_events(old, new, target=True), old, new)
            return
        queued = self._waiting.get(new.key)
        if queued is None or queued.pod.uid != new.uid:
            self.nominator.delete(old)  # another pod, if only the name is the same
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
        """Remove a pod; one that is in flight ends without the queue."""
        self.nominator.delete(pod)
        queued = self._waiting.get(pod.key)
        # The waiting one may be its successor.
        if queued is not None and queued.pod.uid == pod.uid:
            self._take(queued)

    def move_all(
        self, event: Event, old: Any = None, new: Any = None, precheck: Callable[[Pod], bool] | None = None
    ) -> None:
        """Retry all pods that an event helps, now or after their flight."""
        if not event.is_wildcard and not self._hints.advisers(event):
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
        """Take the next pod, if there is one; without active pods the first in back-off, unless it met an error."""
        queued = self._active.first()
        if queued is None:
            queued = self._backoff.first_rejected()
            if queued is None:
                return None
            self.incoming["active", "PopFromBackoffQ"] += 1
        self._fly(queued)
        return queued

    def take(self, queued: QueuedPod) -> None:
        """Take a waiting pod out of turn."""
        self._fly(queued)

    def pop_gang(self, gang: GangName, scheduler: str) -> list[QueuedPod]:
        """Take all waiting pods of a gang that may be tried, given one that was already taken."""
        found = [queued for queued in self.gang(gang, scheduler) if not queued.is_gated]
        for queued in found:
            self._fly(queued)
        return found

    def gang(self, gang: GangName, scheduler: str) -> list[QueuedPod]:
        """Return all pods of a gang that wait for a scheduler and are not terminating, gated or not."""
        return self._gangs.members(gang, scheduler)

    def _fly(self, queued: QueuedPod) -> None:
        self._take(queued)
        self.nominator.touch(queued.pod)
        queued.attempts += 1
        self.cycles += 1
        self._in_flight.start(queued.pod.uid)

    def put_back(self, queued: QueuedPod) -> None:
        """Return a pod as if it had not been taken, in its current state; one that is gone or bound is forgotten."""
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
        """End a flight; after this the pod cannot be parked any more."""
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
        """Requeue a pod whose attempt failed, in its current state, with the plugins that rejected it; none: an error.

        With `again_at` it is retried at that time, even without an event; for the seconds of `rest` it is
        not, unless the profiles change. The caller has made sure that the pod still exists, with this uid and
        without a node; if not, it is `done`.
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
        """Retry pods at once, whatever they wait for; one in flight after its back-off."""
        for pod in pods:
            queued = self._waiting.get(pod.key)
            if queued is None:
                self._in_flight.note_for(pod.uid, [FORCE_ACTIVATE], None, pod)
            elif queued.place is not self._active:
                self._to_active(queued, FORCE_ACTIVATE.name)

    def ask_again(self) -> None:
        """Retry pods whose hints may have been wrong."""
        for queued in self.doubts.end():
            if queued.place is self._unschedulable:
                self._take(queued)
                self._requeue(queued, AFTER_BACKOFF, GANG_GAVE_BACK.name)

    def gate_opens(self, pod: Pod) -> None:
        """Let events reach a pod again, now that the plugin's gate is open."""
        queued = self._waiting.get(pod.key)
        if queued is not None and queued.pod.uid == pod.uid and queued.place is self._gated:
            self._gated.remove(queued)
            queued.gate_will_tell = False
            self._gated.add(queued)

    def reconfigure(self, sort: QueueSort | Order, gates: GatesOf, retries: Retries) -> None:
        """Switch to other profiles: all pods stay, pass the new gates, and are retried after their back-off."""
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
        """Run what is due; cheap if nothing is."""
        self.flush_backoff()
        self.flush_alarms()
        if self._sweep.is_due():
            self.flush_unschedulable()

    def flush_backoff(self) -> None:
        """Make all pods active whose back-off is over."""
        while (queued := self._backoff.first_completed()) is not None:
            self._to_active(queued, "BackoffComplete")

    def flush_alarms(self) -> None:
        """Retry pods whose time, named by a plugin, has come."""
        while (queued := self._unschedulable.due(self._clock())) is not None:
            self._move([queued], TIME_HAS_COME, None, queued.pod)

    def flush_unschedulable(self) -> None:
        """Retry pods that have waited too long, in case an event was missed."""
        if overdue := self._sweep.overdue():
            self._move(overdue, UNSCHEDULABLE_TIMEOUT, None, None)

    # ------------------------------------------------------------------------------------------------- decisions

    def _candidates(self, event: Event, old: Any, new: Any) -> list[QueuedPod]:
        """Return the pods whose rejectors, or whose gate, wait for such an event."""
        if event.is_wildcard:
            return [*self._unschedulable, *self._gated]
        # Thousands of gangs may wait for a member each: gangs that a placed pod does not belong to are skipped.
        narrow = {desk: self._gangs.keys(gangs) for desk, gangs in self._hints.only_gangs(event, old, new).items()}
        return waiting_for_any((self._unschedulable, self._gated), self._hints.ranks(event), narrow)

    def _move(self, candidates: Iterable[QueuedPod], event: Event, old: Any, new: Any) -> None:
        occasion, name = self._hints.occasion(event, old, new), event.name
        for queued in candidates:
            # A closed gate is checked first: it is cheaper than the hints, which could change nothing.
            if queued.place is self._gated and not event.is_wildcard and self._gates.is_shut(queued):
                continue
            if (strategy := occasion.strategy(queued)) is not SKIP:
                self._take(queued)
                self._requeue(queued, strategy, name)
            else:
                self.doubts.note(queued)
        self._in_flight.note(event, old, new)

    def _reconsider(self, queued: QueuedPod, old: Pod, new: Pod) -> None:
        for event in pod_events(old, new, target=True):
            strategy = self._hints.occasion(event, old, new).strategy(queued)
            if strategy is not SKIP and self._requeue(queued, strategy, event.name):
                return

    def _strategy_after_flight(self, queued: QueuedPod, uid: str) -> Strategy:
        """Return what the events since the pod was taken mean for it."""
        happenings = self._in_flight.since_taken(uid)
        if not queued.was_rejected or happenings is None:
            return AFTER_BACKOFF
        return self._hints.best(queued, ((event, old, new) for _, event, old, new in happenings))

    # --------------------------------------------------------------------------------------------------- moving

    def _requeue(self, queued: QueuedPod, strategy: Strategy, event: str) -> bool:
        """Move a pod by a strategy, and return whether it will be tried."""
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
            # Gated pods are among the unschedulable ones here, and one that was there before has not come.
            self.incoming["unschedulable", event] += 1

    def _take(self, queued: QueuedPod) -> None:
        del self._waiting[queued.key]
        if self.changed is not None:
            self.changed.left(queued.key)
        self._gangs.leave(queued)
        if queued.place is not None:
            queued.place.remove(queued)
            queued.place = None
