"""The main job: take the next pod, find its place, start its bind; the rest of the process gets its turn in between."""

import asyncio
import logging
from collections.abc import Callable, Container
from time import perf_counter

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.binding import Bindings
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.extended_cycle import ExtendedScheduler
from pilotage.scheduling.failure import Failures
from pilotage.scheduling.gang_cycle import GangScheduler
from pilotage.scheduling.outcome import Outcome, Placed
from pilotage.scheduling.outside import Recorder

log = logging.getLogger(__name__)

LONGEST_BATCH = 0.004  # seconds of cycles in a row: probes, watches and answers to binds do not wait for longer
MOST_BINDS = 500  # under way at once: what is decided much earlier than it is told may be out of date
MOST_ASKING = 16  # pods at once about which one extender is asked
LONGEST_SILENCE = 30.0  # seconds, after which something must be wrong
LONGEST_SLEEP = 1.0  # back-off ends with whole seconds

OnDecided = Callable[[QueuedPod, Outcome, float, float], None]  # the pod, how it ended, when it began and ended


class Loop:
    """Schedules pods for as long as it may."""

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
        may_act: Callable[[], bool] = lambda: True,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._scheduler = scheduler
        self._bindings = bindings
        self._failures = failures
        self._gangs = gangs
        self._recorder = recorder
        self._served = served
        self._clock = clock
        self._may_act = may_act
        self._news = asyncio.Event()
        self._last_turn: float | None = None  # None while it does not run
        self.extended: ExtendedScheduler | None = None  # for pods that extenders have a word in
        self._asking: set[asyncio.Task[None]] = set()
        self._turns: dict[str, asyncio.Semaphore] = {}  # by extender
        self._fault: BaseException | None = None  # of our own, while an extender was asked
        self.on_decided: OnDecided = lambda _queued, _outcome, _started, _ended: None

    def wake(self) -> None:
        """Look at the queue again: something may have changed."""
        self._news.set()

    def trouble(self) -> str | None:
        """Return what is wrong if the loop has had no turn for long: it sleeps for a second at most."""
        silent = 0.0 if self._last_turn is None else perf_counter() - self._last_turn
        return f"the last turn of the loop was {silent:.0f} s ago" if silent > LONGEST_SILENCE else None

    async def run(self) -> None:
        """Schedule until cancelled, or until it may not act any more."""
        while self._may_act():
            if self._fault is not None:
                raise self._fault  # the same as if no extender had been asked
            self._last_turn = perf_counter()
            self._news.clear()
            self._queue.tick()
            if self._batch():
                await asyncio.sleep(0)
            else:
                await self._rest()

    def _batch(self) -> bool:
        """Place pods for a moment; False if there is nothing more to do now."""
        end = perf_counter() + LONGEST_BATCH
        while self._bindings.in_a_hurry() < MOST_BINDS:
            queued = self._queue.pop()
            if queued is None:
                return False
            self._place(queued)
            if perf_counter() >= end:
                return True
        return False

    async def _rest(self) -> None:
        due = self._queue.next_wake_up()
        seconds = LONGEST_SLEEP if due is None else min(max(due - self._clock(), 0.0), LONGEST_SLEEP)
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    def _place(self, queued: QueuedPod) -> None:
        pod = queued.pod
        if pod.scheduler_name not in self._served or self._cache.is_assumed(pod.uid):
            self._queue.done(pod.uid)
            return
        if pod.is_terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", note, controller=pod.scheduler_name)
            self._queue.done(pod.uid)
            return
        started = perf_counter()
        if self.extended is not None and (asked := self.extended.extenders_for(pod)):
            self._ask_extenders(self.extended, queued, asked[0].name, started)
        elif (decided := self._gangs.schedule(queued)) is not None:
            for member, outcome in decided:
                self._take(member, outcome, started)
        else:
            self._take_alone(queued, self._scheduler.schedule(pod), started)

    def _take_alone(self, queued: QueuedPod, outcome: Outcome, started: float) -> None:
        self._gangs.decided_alone(queued.pod, outcome)
        self._take(queued, outcome, started)

    def _take(self, queued: QueuedPod, outcome: Outcome, started: float) -> None:
        self.on_decided(queued, outcome, started, perf_counter())
        if isinstance(outcome, Placed):
            self._bindings.start(queued, outcome, started)
        else:
            self._failures.take_back(queued, outcome)

    def _ask_extenders(self, scheduler: ExtendedScheduler, queued: QueuedPod, first: str, started: float) -> None:
        """Place a pod while others are placed, too: an extender that is slow keeps only its own pods waiting."""
        turns = self._turns.setdefault(first, asyncio.Semaphore(MOST_ASKING))

        async def place() -> None:
            async with turns:
                outcome = await scheduler.schedule_with_extenders(queued.pod)
            if outcome is None:
                self._queue.done(queued.pod.uid)
            else:
                self._take_alone(queued, outcome, started)

        task = asyncio.get_running_loop().create_task(place())
        self._asking.add(task)
        task.add_done_callback(self._asked)

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
            self.wake()
