"""Writes the status of pods in the background: in order for each pod, and only the newest change.

condition ──> waiting ──> in flight ──> written
                 │  ^         │ retriable failure: requeued, below newer changes
                 │  └─────────┘
                 └──> dropped    the pod is being bound, or was deleted
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count

import msgspec
from msgspec import Struct

from pilotage.cluster.transport.api_calls import Api
from pilotage.cluster.write.pod_paths import status_path
from pilotage.cluster.write.status_patch import StatusChange, patch_body, waiting_condition
from pilotage.cluster.write.write_retries import (
    FAILURES,
    PASSING_OR_CONFLICT,
    Failure,
    means_gone,
    pause_after,
    words_of,
)
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.model.pod_status import PodStatus

log = logging.getLogger(__name__)

_WORKERS = 8
_MOST_WAITING = 100_000
_MOST_REMEMBERED = 2_000  # the watch is never that many writes behind


@dataclass(slots=True)
class _Waiting:
    """A change of a pod's status that is not written yet."""

    pod: Pod
    change: StatusChange


class _Flight:
    """A write in flight, whose end a bind of the pod must await."""

    def __init__(self) -> None:
        self.is_superseded = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _WrittenPod(Struct, gc=False):
    """The part of the response to a patch that shows what does not need to be written again."""

    metadata: Metadata
    status: PodStatus = PodStatus()


_decode_written = msgspec.json.Decoder(_WrittenPod).decode


class StatusWriter:
    """Keeps the status of unplaced pods up to date; `newest` returns the last known state of a pod, None if deleted.

    Nothing blocks: `run` writes, all other methods only record what to write.
    """

    def __init__(
        self,
        api: Api,
        newest: Callable[[Pod], Pod | None] = lambda pod: pod,
        *,
        workers: int = _WORKERS,
        most_waiting: int = _MOST_WAITING,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.dropped = 0  # changes above the limit of waiting ones
        self._api = api
        self._newest = newest
        self._workers = workers
        self._most_waiting = most_waiting
        self._clock = clock
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()  # by uid, the oldest first
        self._in_progress: dict[str, _Flight] = {}
        self._ready: asyncio.Queue[str] = asyncio.Queue()  # may contain a uid needlessly or twice, but never too late
        # The server's last response, by uid; None if a write failed but may have taken effect.
        self._written: OrderedDict[str, _WrittenPod | None] = OrderedDict()
        self._idle = asyncio.Event()
        self._idle.set()

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        """Set why a pod was not placed; `nominate` is its nominated node, "" clears it, None keeps it."""
        self._put(pod, StatusChange(waiting_condition(pod, reason, message), nominate))

    def nominate(self, pod: Pod, node: str) -> None:
        """Nominate a node for a pod, or clear the nomination with ""."""
        self._put(pod, StatusChange(nominate=node))

    def clear_nominations(self, pods: Iterable[Pod]) -> None:
        """Clear the nominations of pods."""
        for pod in pods:
            self.nominate(pod, "")

    def drop(self, uid: str) -> bool:
        """Drop pending changes of a pod; returns whether a write is in flight, for `settled`."""
        self._waiting.pop(uid, None)
        self._notice_idle()
        flight = self._in_progress.get(uid)
        if flight is not None:
            flight.is_superseded = True
        return flight is not None

    async def settled(self, uid: str) -> None:
        """Wait until no write of a pod's status is in flight: after the bind it would overwrite the condition."""
        if flight := self._in_progress.get(uid):
            await asyncio.shield(flight.ended)

    @property
    def is_idle(self) -> bool:
        """Return whether nothing waits to be written."""
        return self._idle.is_set()

    async def flush(self) -> None:
        """Wait until all changes are written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    # ----------------------------------------------------------------------------------------------------- waiting

    def _put(self, pod: Pod, change: StatusChange) -> None:
        older = self._waiting.get(pod.uid)
        if older is not None:
            older.pod, older.change = pod, change.over(older.change)
            return
        if len(self._waiting) >= self._most_waiting:
            self._waiting.popitem(last=False)
            self.dropped += 1
        self._waiting[pod.uid] = _Waiting(pod, change)
        self._idle.clear()
        self._offer(pod.uid)

    def _put_back(self, failed: _Waiting) -> None:
        """Requeue a change that could not be written, below newer changes."""
        newer = self._waiting.get(failed.pod.uid)
        if newer is None:
            self._waiting[failed.pod.uid] = failed
        else:
            newer.change = newer.change.over(failed.change)

    def _offer(self, uid: str) -> None:
        if uid in self._waiting:
            self._ready.put_nowait(uid)

    def _notice_idle(self) -> None:
        if not self._waiting and not self._in_progress:
            self._idle.set()

    # ----------------------------------------------------------------------------------------------------- writing

    async def _work(self) -> None:
        while True:
            uid = await self._ready.get()
            if uid not in self._waiting or uid in self._in_progress:
                continue
            flight = self._in_progress[uid] = _Flight()
            try:
                await self._write(uid, flight)
            except Exception:
                log.exception("the status of pod %s was not written", uid)  # must not stop the others
            finally:
                del self._in_progress[uid]
                flight.ended.set_result(None)
                self._offer(uid)
                self._notice_idle()

    async def _write(self, uid: str, flight: _Flight) -> None:
        """Write the pending change of a pod; retries include newer changes."""
        for attempt in count():
            if (taken := self._waiting.pop(uid, None)) is None:
                return
            flight.is_superseded = False
            failure = await self._patch(taken)
            if failure is None:
                return
            pause = pause_after(attempt, failure, PASSING_OR_CONFLICT)
            if pause is None:
                log.warning("the status of pod %s was not written: %s", taken.pod.key, words_of(failure))
                return
            if not flight.is_superseded:
                self._put_back(taken)
            await asyncio.sleep(pause)

    async def _patch(self, taken: _Waiting) -> Failure | None:
        pod = self._newest(taken.pod)
        if pod is None or pod.node_name:  # the condition of a pending pod does not apply any more
            return None
        known = self._known_status(pod)
        change = taken.change if known is None else taken.change.beyond(known)
        if not change:
            return None
        try:
            answer = await self._api.patch(status_path(pod), self._body(pod, change, known or pod.status))
        except FAILURES as failure:
            if means_gone(failure):
                return None
            self._remember(pod.uid, None)
            return failure
        self._remember(pod.uid, _read(answer))
        return None

    def _body(self, pod: Pod, change: StatusChange, status: PodStatus) -> bytes:
        return patch_body(pod.uid, change, status, self._clock())

    def _known_status(self, pod: Pod) -> PodStatus | None:
        """Return the newest status: our own, until the watch shows it or a later one; None if unknown."""
        if pod.uid not in self._written:
            return pod.status
        written = self._written[pod.uid]
        if written is None:
            return None
        if _age(written.metadata) > _age(pod.metadata):
            return written.status
        del self._written[pod.uid]
        return pod.status

    def _remember(self, uid: str, written: _WrittenPod | None) -> None:
        self._written[uid] = written
        if len(self._written) > _MOST_REMEMBERED:
            self._written.popitem(last=False)


def _read(answer: bytes) -> _WrittenPod | None:
    try:
        return _decode_written(answer)
    except msgspec.MsgspecError as error:
        log.warning("the response to a status patch is not a pod: %s", error)
        return None


def _age(metadata: Metadata) -> int:
    return int(metadata.resource_version) if metadata.resource_version.isdecimal() else 0
