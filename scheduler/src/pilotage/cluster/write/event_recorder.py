"""Records events about pods, and sends them with low priority."""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable

from pilotage.cluster.transport.api_calls import Api
from pilotage.cluster.transport.api_errors import ApiError
from pilotage.cluster.write.event_objects import EventApi, Subject, encoded, event_name
from pilotage.cluster.write.event_queue import EventQueue
from pilotage.cluster.write.event_series import EventSeries, RecordedEvent, is_stale
from pilotage.cluster.write.write_retries import FAILURES, Failure, asked_pause, words_of
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

_WORKERS = 8
_MOST_WAITING = 100_000
_LONGEST_HOLD = 3.0  # seconds for which an event yields to binds
_CALM_POLL = 0.005
_SWEEP_EVERY = 60.0
_SWEEP_SLICE = 500  # events, after which the task yields
_ATTEMPTS = 12
_OVERLOADED = frozenset({429, 503, 504})
_PAUSE, _JITTER = 10.0, 0.25
_KEPT_OF_NOTE = 1025  # characters: one more than the limit, so that a longer note is still marked as cut


class EventRecorder:
    """Records events without waiting; `run` sends them while not `busy`.

    It has its own client and workers, so that a flood of events does not delay binds.
    """

    def __init__(
        self,
        api: Api,
        events: EventApi,
        *,
        busy: Callable[[], bool] = lambda: False,
        workers: int = _WORKERS,
        most_waiting: int = _MOST_WAITING,
        longest_hold: float = _LONGEST_HOLD,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.dropped = 0  # above the limit of waiting events
        self.rejected: Counter[int] = Counter()  # by the server, by status; 0: no response
        self._api = api
        self._events = events
        self._busy = busy
        self._workers = workers
        self._longest_hold = longest_hold
        self._clock = clock
        self._last = 0
        self._series = EventSeries()
        self._queue = EventQueue(most_waiting)
        self._in_progress = 0
        self._in_turn = asyncio.Lock()
        self._hurries = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        """Return the number of events that are not written yet."""
        return len(self._queue) + self._in_progress

    def record(
        self, pod: Pod, severity: str, reason: str, action: str, note: str, *, controller: str, once: bool = False
    ) -> None:
        """Record an event about a pod; with `once`, it cannot become a series and is not remembered."""
        version = pod.metadata.resource_version
        subject = Subject(severity, reason, action, controller, pod.namespace, pod.name, pod.uid, version)
        now = self._now()
        event = None if once else self._series.seen_again(subject, now)
        if event is None:
            event = RecordedEvent(subject, note[:_KEPT_OF_NOTE], now, now)
            if not once:
                self._finish(self._series.remember(event))
        if event.needs_writing:
            self._put(event)

    async def run(self) -> None:
        """Send events, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())
            group.create_task(self._sweep())

    async def flush(self) -> None:
        """Wait until all events are sent."""
        await self._idle.wait()

    async def drain(self, seconds: float) -> int:
        """Send waiting events and the counts of all series within the time; returns the number of unsent events."""
        self._hurries = True
        self._finish(self._series.all())
        try:
            async with asyncio.timeout(seconds):
                await self.flush()
        except TimeoutError:
            log.warning("%d events were not sent", self.waiting)
        return self.waiting

    @property
    def remembered(self) -> int:
        """Return the number of events that would become a series if repeated now."""
        return len(self._series)

    # ------------------------------------------------------------------------------------------------------ queueing

    def _now(self) -> int:
        self._last = max(self._clock(), self._last + 1)  # two events of one pod need different names
        return self._last

    def _put(self, event: RecordedEvent) -> None:
        if event.is_queued or event.is_in_flight:
            return  # the count is read on sending
        self._idle.clear()
        event.hold_until = asyncio.get_running_loop().time() + self._longest_hold
        given_up = self._queue.put(event)
        if given_up is not None:
            self.dropped += 1
            if not given_up.written:
                self._series.forget(given_up)

    def _finish(self, ended: list[RecordedEvent]) -> None:
        for event in ended:
            if event.written and event.has_news:
                self._put(event)

    async def _sweep(self) -> None:
        """Write the final count of ended series, and periodically that of ongoing ones."""
        while True:
            await asyncio.sleep(_SWEEP_EVERY)
            now = self._now()
            while ended := self._series.take_ended(now, _SWEEP_SLICE):
                self._finish(ended)
                await asyncio.sleep(0)
            remembered = self._series.all()
            for start in range(0, len(remembered), _SWEEP_SLICE):
                for event in remembered[start : start + _SWEEP_SLICE]:
                    if is_stale(event, now):
                        self._put(event)
                await asyncio.sleep(0)

    # ------------------------------------------------------------------------------------------------------- sending

    async def _work(self) -> None:
        while True:
            event = await self._queue.get()
            event.is_in_flight = True
            self._in_progress += 1
            is_sent = False
            try:
                is_sent = await self._send_in_turn(event)
            except Exception:
                log.exception("an event was not sent: %s", event.subject)  # must not stop the others
            finally:
                event.is_in_flight = False
                self._in_progress -= 1
                self._look_after(event, is_sent)

    def _look_after(self, event: RecordedEvent, is_sent: bool) -> None:
        if not is_sent:
            self._series.forget(event)
        elif event.needs_writing:  # it was repeated meanwhile
            self._put(event)
        if not self.waiting:
            self._idle.set()

    async def _send_in_turn(self, event: RecordedEvent) -> bool:
        """Send an event when no bind is in flight; after a long wait it is sent anyway, but only one at a time."""
        async with self._in_turn:
            if await self._must_go_alone(event):
                return await self._send(event)
        return await self._send(event)

    async def _must_go_alone(self, event: RecordedEvent) -> bool:
        loop = asyncio.get_running_loop()
        while self._busy() and not self._hurries:
            if loop.time() >= event.hold_until:
                return True
            await asyncio.sleep(_CALM_POLL)
        return False

    async def _send(self, event: RecordedEvent) -> bool:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                event.written = await self._write(event)
            except FAILURES as failure:
                if attempt == _ATTEMPTS or not _may_pass(failure):
                    self._reject(event, failure)
                    return False
                await asyncio.sleep(_pause_after(attempt, failure))
            else:
                event.written_at = self._now()
                return True
        return False

    async def _write(self, event: RecordedEvent) -> int:
        """Write an event, and return the server's count."""
        count, path = event.count, self._events.path(event.subject.namespace)
        try:
            if event.written:
                await self._api.patch(f"{path}/{event_name(event)}", encoded(self._events.repetition(event)))
                return count
        except ApiError as error:
            if error.status != 404:
                raise
        try:
            await self._api.post(path, encoded(self._events.creation(event)))
        except ApiError as error:
            if error.status != 409 or event.written:
                raise
            return 1  # created by an attempt whose response was lost
        return count

    def _reject(self, event: RecordedEvent, failure: Failure) -> None:
        status = failure.status if isinstance(failure, ApiError) else 0
        self.rejected[status] += 1
        times = self.rejected[status]
        if times & (times - 1) == 0:  # the first, second, fourth...: a flood of events must not flood the log
            log.warning(
                "event %s on %s/%s was not written: %s (%d times so far)",
                event.subject.reason,
                event.subject.namespace,
                event.subject.name,
                words_of(failure),
                times,
            )


def _may_pass(failure: Failure) -> bool:
    """Return whether a failure is temporary, not caused by the event itself."""
    return not isinstance(failure, ApiError) or failure.status in _OVERLOADED or failure.retry_after is not None


def _pause_after(attempt: int, failure: Failure) -> float:
    if asked := asked_pause(failure):
        return asked * attempt
    return _PAUSE * (1 + _JITTER * random.random())  # noqa: S311 - no secret
