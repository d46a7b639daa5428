"""The main loop: take the next pod, place it, start its bind; the rest of the process runs in between."""

import asyncio
import logging
from collections.abc import Callable, Container
from time import perf_counter, thread_time

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.signal import Signal
from pilotage.model.gangs import gang_of
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.binding import Bindings
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.failure import Failures
from pilotage.scheduling.gangs.gang_cycle import GangScheduler
from pilotage.scheduling.gangs.gang_turns import GangTurns
from pilotage.scheduling.held_up import HeldUp
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Outcome, Placed, Unplaced
from pilotage.scheduling.outside import ExtendedCycle, Recorder
from pilotage.scheduling.sharing.race_guard import RaceGuard

log = logging.getLogger(__name__)

LONGEST_BATCH = 0.004  # seconds of cycles in a row: probes, watches and bind responses wait no longer than this
MOST_BINDS = 500  # in flight at once: a decision that waits long for its bind may be out of date
MOST_ASKING = 16  # concurrent pods for one extender
LONGEST_SILENCE = 30.0  # seconds, after which something must be wrong
LONGEST_SLEEP = 1.0  # back-off ends with whole seconds


class Loop:
    """Schedules pods while it holds the lease."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        scheduler: Scheduler,
        bindings: Bindings,
        failures: Failures,
        gangs: GangScheduler,
        recorder: Recorder,
        served: Container[str],
        clock: Callable[[], float],
        guard: RaceGuard,
        may_act: Callable[[], bool] = lambda: True,
        extended: ExtendedCycle | None = None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._scheduler = scheduler
        self._bindings = bindings
        self._failures = failures
        self._gangs = gangs
        self._turns = GangTurns(gangs, queue, self._take_member)
        self._recorder = recorder
        self._served = served
        self._clock = clock
        self.guard = guard
        self._may_act = may_act
        self._news = asyncio.Event()
        self._last_turn: float | None = None  # None while it does not run
        self.held_up = HeldUp()
        self._extended = extended  # for pods that extenders are interested in
        self._asking: set[asyncio.Task[None]] = set()
        self._asked_at_once: dict[str, asyncio.Semaphore] = {}  # by extender
        self._fault: BaseException | None = None  # a bug of ours while an extender was called
        self.on_slice: Signal[float] = Signal()  # seconds in which no other task ran
        # The pod, its outcome, and when the attempt began and ended.
        self.on_decided: Signal[QueuedPod, Outcome, float, float] = Signal()

    def wake(self) -> None:
        """Look at the queue again: something may have changed."""
        self._news.set()

    def trouble(self) -> str | None:
        """Return a message if the loop has not run for long, although it sleeps for at most a second."""
        silent = 0.0 if self._last_turn is None else perf_counter() - self._last_turn
        return f"the event loop last ran {silent:.0f} s ago" if silent > LONGEST_SILENCE else None

    @property
    def is_tentative(self) -> bool:
        """Return whether a gang is being decided: the cache has tentative reservations, or hides pods."""
        return self._turns.is_deciding

    async def between_decisions(self) -> None:
        """Wait until no gang is being decided."""
        await self._turns.over()

    async def run(self) -> None:
        """Schedule until cancelled, or until the lease is lost."""
        try:
            while self._may_act():
                if self._fault is not None:
                    raise self._fault  # the same as if no extender had been called
                self._last_turn = perf_counter()
                self._news.clear()
                self._queue.tick()
                self.guard.tick()
                more = self._batch()
                self.on_slice(perf_counter() - self._last_turn)
                await (asyncio.sleep(0) if more else self._rest())
        finally:
            self._turns.close()

    def _batch(self) -> bool:
        """Place pods for one slice; False if no work is left for now."""
        if self._turns.is_busy and not self._turns.run_slice(perf_counter() + LONGEST_BATCH):
            return True
        end = perf_counter() + LONGEST_BATCH
        while self._bindings.being_sent() < MOST_BINDS:
            self.held_up.resumed()
            queued = self._queue.pop()
            if queued is None:
                return self._turns.is_busy
            self._place(queued, end)
            if perf_counter() >= end:
                return True
        if self._queue.pending().active:
            self.held_up.too_many_binds()
        return self._turns.is_busy

    async def _rest(self) -> None:
        times = [due for due in (self._queue.next_wake_up(), self.guard.next_end()) if due is not None]
        seconds = min(max(min(times) - self._clock(), 0.0), LONGEST_SLEEP) if times else LONGEST_SLEEP
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    def _place(self, queued: QueuedPod, end: float) -> None:
        pod = queued.pod
        if pod.scheduler_name not in self._served or self._cache.is_assumed(pod.uid):
            self._queue.done(pod.uid)
            return
        if pod.is_terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", note, controller=pod.scheduler_name)
            self._queue.done(pod.uid)
            return
        started, begun = perf_counter(), thread_time()
        if self._turns.is_deciding:
            self._place_beside_gang(queued, started, begun)
        elif (self._turns.is_reporting or self._turns.is_awaited) and gang_of(pod) is not None:
            self._turns.defer(queued)
        elif self._extended is not None and (asked := self._extended.extenders_for(pod)):
            self._ask_extenders(self._extended, queued, asked[0].name, started)
        elif not self._turns.begin(queued, started, end):
            outcome = self._scheduler.schedule(pod)
            self._take_alone(queued, outcome, started, thread_time() - begun)

    def _place_beside_gang(self, queued: QueuedPod, started: float, begun: float) -> None:
        """Place a pod while a gang is being decided, if it fits; otherwise defer it."""
        asks = self._extended is not None and bool(self._extended.extenders_for(queued.pod))
        outcome = None
        if not asks and gang_of(queued.pod) is None:
            outcome = self._scheduler.schedule(queued.pod, preempt=False)
        if isinstance(outcome, Placed):
            self._take_alone(queued, outcome, started, thread_time() - begun)
        else:
            self._turns.defer(queued)

    def _take_alone(self, queued: QueuedPod, outcome: Outcome, started: float, cost: float) -> None:
        self._gangs.decided_alone(queued.pod, outcome)
        self._take(queued, outcome, started, cost)

    def _take_member(self, queued: QueuedPod, outcome: Outcome, started: float, cost: float) -> None:
        """Continue with a pod of a gang that was decided some slices ago."""
        uid = queued.pod.uid
        if isinstance(outcome, Placed) and not self._cache.is_assumed(uid):  # deleted or bound elsewhere meanwhile
            self._scheduler.unreserve(outcome)
            self._queue.done(uid)
        elif isinstance(outcome, Placed) and self._cache.find_node(outcome.node) is None:
            self._scheduler.unreserve(outcome)
            gone = f'node "{outcome.node}" was deleted before the pod could be bound to it'
            self._take(queued, Unplaced(gone, SCHEDULER_ERROR), started, 0.0)
        else:
            self._take(queued, outcome, started, cost)

    def _take(self, queued: QueuedPod, outcome: Outcome, started: float, cost: float) -> None:
        self.on_decided(queued, outcome, started, perf_counter())
        if isinstance(outcome, Placed):
            self._bindings.start(queued, outcome, started)
        else:
            self._failures.requeue(queued, outcome, cost)
            self._bindings.not_placed(queued.pod)

    def _ask_extenders(self, scheduler: ExtendedCycle, queued: QueuedPod, first: str, started: float) -> None:
        """Place a pod concurrently with others, so that a slow extender delays only its own pods."""
        turns = self._asked_at_once.setdefault(first, asyncio.Semaphore(MOST_ASKING))

        async def place() -> None:
            async with turns:
                outcome = await scheduler.schedule_with_extenders(queued.pod)
            if outcome is None:
                self._queue.done(queued.pod.uid)
            else:
                self._take_alone(queued, outcome, started, 0.0)

        task = asyncio.get_running_loop().create_task(place())
        self._asking.add(task)
        task.add_done_callback(self._asked)

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
            self.wake()
