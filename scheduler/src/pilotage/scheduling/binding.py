"""The binding cycle: from a reserved node to a bound pod, concurrently with other pods.

reserved ── wait on permit ── pre_bind ── bind ──> bound, and reported
               │ from here on, a failure always ends in back-off
               └──────── any failure: unreserve in reverse order, forget the pod, wake others, requeue the pod
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.events import POD_GONE
from pilotage.framework.api.plugin import PreBind
from pilotage.framework.api.signal import Signal
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.api.waiting import WaitingPods
from pilotage.framework.runtime.binding_runner import BindingRunner
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.attempt import unplaced_by
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.failure import Failures
from pilotage.scheduling.outcome import SCHEDULER_ERROR, UNSCHEDULABLE, Placed, Unplaced, plugin_failure
from pilotage.scheduling.outside import Recorder, Statuses
from pilotage.scheduling.preparing import Preparing
from pilotage.scheduling.sharing.bind_check import BindCheck, Choice
from pilotage.telemetry.logs import tell
from pilotage.telemetry.verbosity import V2

log = logging.getLogger(__name__)

PATIENCE = 5.0  # seconds, after which a bind by a custom plugin no longer counts against the limit

ExtenderBind = Callable[[Pod, str], Awaitable[bool]]  # True if an extender has bound the pod


class Bindings:
    """All pods in their binding cycle."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        waiting: WaitingPods,
        failures: Failures,
        statuses: Statuses,
        recorder: Recorder,
        bind_by_extender: ExtenderBind | None = None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._waiting = waiting
        self._failures = failures
        self._statuses = statuses
        self._recorder = recorder
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by uid
        self._idle: set[str] = set()  # pods with no bind request in flight, by uid
        self._preparations = Preparing(queue)
        self._preparing: dict[str, str] = {}  # pods that can still be stopped, by uid, and the reason if stopped
        self.bind_check = BindCheck(cache)
        self.bind_by_extender = bind_by_extender
        self.on_ended: Signal[()] = Signal()  # another bind may start
        self.on_bound: Signal[QueuedPod, Placed, float] = Signal()  # with the start of its attempt
        self.on_failed: Signal[QueuedPod, Unplaced, float] = Signal()

    def __len__(self) -> int:
        return len(self._tasks)

    def being_sent(self) -> int:
        """Return how many binds are in flight or about to be: all except waiting pods."""
        return len(self._tasks) - len(self._idle)

    def waiting_for_room(self) -> int:
        """Return how many pods were requeued because too many of their namespace wait for preparation."""
        return self._preparations.waiting_for_room()

    def not_placed(self, pod: Pod) -> None:
        """Record that a pod will not be prepared, so that another one may take its turn."""
        self._preparations.pass_on(pod)

    def start(self, queued: QueuedPod, placed: Placed, started: float) -> None:
        """Start the binding cycle of a placed pod; `started` is when its attempt began."""
        uid = placed.pod.uid
        self._queue.nominator.delete(placed.pod)
        self._preparations.forget(placed.pod)
        if placed.waits:
            self._waiting.expect(placed.pod, placed.waits)
        choice = self.bind_check.begin(placed)
        task = asyncio.get_running_loop().create_task(self._bind(queued, choice, started))
        self._tasks[uid] = task
        task.add_done_callback(partial(self._ended, uid))

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(uid) is task:  # the pod may already be in its next attempt
            del self._tasks[uid], self.bind_check.in_progress[uid]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the work after the binding of pod %s failed: %r", uid, error, exc_info=error)
        self.on_ended()

    def cancel(self, uid: str, cause: str) -> bool:
        """Cancel the preparation of a pod's bind; False if none is in progress."""
        if uid not in self._preparing or self._preparing[uid]:
            return False
        self._preparing[uid] = cause
        self._tasks[uid].cancel()
        return True

    async def finished_of(self, engines: Collection[Engine]) -> None:
        """Wait for the binds of these profiles, except pods that wait on permit."""
        tasks = [
            self._tasks[uid]
            for uid, choice in self.bind_check.in_progress.items()
            if any(choice.placed.engine is each for each in engines) and self._waiting.get(uid) is None
        ]
        if tasks:
            await asyncio.wait(tasks)

    def stop_waiting(self) -> None:
        """Cancel the pods that wait on permit or for preparation; the next leader schedules them again."""
        for uid, task in self._tasks.items():
            if uid in self._preparing or self._waiting.get(uid) is not None:
                task.cancel()

    async def finished(self) -> None:
        """Wait until no pod is in its binding cycle."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def _bind(self, queued: QueuedPod, choice: Choice, started: float) -> None:
        placed = choice.placed
        try:
            refused = await self._steps(choice)
        except (PluginFailed, ExtenderFailed) as error:
            refused = plugin_failure(error)
        except Exception as error:  # a bug of ours costs this pod one attempt
            log.exception("binding pod %s failed", placed.pod.key)
            refused = Unplaced(f"{type(error).__name__}: {error}", SCHEDULER_ERROR)
        if refused is None:
            self._record_bound(queued, placed, started)
        else:
            self._roll_back(queued, placed, refused, started)

    async def _steps(self, choice: Choice) -> Unplaced | None:
        """Bind the pod, or return why not."""
        placed = choice.placed
        cycle, name, uid = placed.cycle, placed.node, placed.pod.uid
        runner = placed.engine.binding
        preparing = runner.pre_flight(cycle, name)  # 1. the plugins that have to prepare something
        if preparing or placed.waits:
            self._statuses.nominate(placed.pod, name)  # visible to others
        if placed.waits:
            with self._idle_while_waiting(uid):
                rejection = await self._waiting.wait(uid)  # 2. permit
            if rejection is not None:
                return unplaced_by(rejection)
        if preparing and (refusal := self._preparations.refusal(placed.pod)) is not None:
            return refusal
        self._queue.done(uid)
        if preparing:
            rejection = await self._prepare(runner, placed, preparing)  # 3. preparation, such as volumes
            if rejection is not None:
                return Unplaced(rejection.message, UNSCHEDULABLE)
        objection = self.bind_check.objection(choice)  # 4. the node may have changed meanwhile
        if objection:
            return Unplaced(objection, SCHEDULER_ERROR)
        if self._statuses.drop(uid):
            await self._statuses.settled(uid)  # status writes of a pending pod must not arrive after its bind
        if self.bind_by_extender is None or not await self.bind_by_extender(placed.pod, name):
            with self._patience(uid) if runner.binds_by_foreign else nullcontext():
                rejection = await runner.bind(cycle, name)  # 5. the bind
            if rejection is not None:
                return Unplaced(rejection.message, UNSCHEDULABLE)
        return None

    async def _prepare(self, runner: BindingRunner, placed: Placed, plugins: list[PreBind]) -> Rejection | None:
        uid = placed.pod.uid
        self._preparing[uid] = ""
        try:
            with self._preparations.inside(placed.pod), self._idle_while_waiting(uid):
                rejection = await runner.pre_bind(placed.cycle, placed.node, plugins)
        except (asyncio.CancelledError, PluginFailed):
            if not self._preparing[uid]:
                raise
        finally:
            cause = self._preparing.pop(uid)
        if cause:  # cancelled, even if the plugins turned that into another result
            raise PluginFailed(cause)
        return rejection

    @contextmanager
    def _idle_while_waiting(self, uid: str) -> Iterator[None]:
        """Do not count this pod as a bind in flight while it waits."""
        self._set_idle(uid)
        try:
            yield
        finally:
            self._idle.discard(uid)

    @contextmanager
    def _patience(self, uid: str) -> Iterator[None]:
        """Stop counting this pod as a bind in flight when its bind takes long."""
        timer = asyncio.get_running_loop().call_later(PATIENCE, self._set_idle, uid)
        try:
            yield
        finally:
            timer.cancel()
            self._idle.discard(uid)

    def _set_idle(self, uid: str) -> None:
        self._idle.add(uid)
        self.on_ended()

    def _record_bound(self, queued: QueuedPod, placed: Placed, started: float) -> None:
        pod, node = placed.pod, placed.node
        note = f"Successfully assigned {pod.key} to {node}"
        self._recorder.record(pod, "Normal", "Scheduled", "Binding", note, controller=pod.scheduler_name, once=True)
        tell(log, V2, "Successfully bound pod to node", pod=pod.key, node=node, feasibleNodes=placed.feasible)
        self.on_bound(queued, placed, started)
        for complaint in placed.engine.binding.post_bind(placed.cycle, node):
            log.error("pod %s: %s", pod.key, complaint)

    def _roll_back(self, queued: QueuedPod, placed: Placed, refused: Unplaced, started: float) -> None:
        """Release the pod's reservation, and requeue it."""
        pod = placed.pod
        self._waiting.forget(pod.uid)
        for complaint in placed.engine.runner.unreserve(placed.cycle, placed.node):
            log.error("pod %s: %s", pod.key, complaint)
        freed = self._cache.forget(pod.uid)
        rejected = refused.reason == UNSCHEDULABLE
        if freed is not None and not rejected:
            self._queue.move_all(POD_GONE, pod, None)
        self.on_failed(queued, refused, started)
        self._failures.requeue(queued, refused)
        if freed is not None and rejected:  # its own release must not wake it
            self._queue.move_all(POD_GONE, pod, None, lambda other: other.uid != pod.uid)
