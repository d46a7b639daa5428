"""Synchronous in-memory implementations of scheduling's interfaces to the API server."""

from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from pilotage.cluster.write.evictor import Evicted
from pilotage.framework.api.signal import Signal
from pilotage.model.pod import Pod
from pilotage.offline.results import Results

T = TypeVar("T")


class PodsInMemory:
    """Pending pods without an API server: statuses and events become results, and victims disappear immediately."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._pods: dict[str, Pod] = {}  # the current pending pods, by namespace/name
        self.on_gone: Signal[Pod] = Signal()

    def find(self, key: str) -> Pod | None:
        """Return a pending pod."""
        return self._pods.get(key)

    def put(self, pod: Pod) -> None:
        """Add a pending pod, replacing another one of the same name."""
        self._pods[pod.key] = pod

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        """Record why a pod waits."""
        told = pod if nominate is None else pod.with_nominated_node(nominate)
        self.put(told)
        self._results.waits(told, message, reason)

    def nominate(self, pod: Pod, node: str) -> None:
        """Ignore it: a pod of lower priority keeps its nomination until its next attempt."""

    def drop(self, uid: str) -> bool:
        """Return False: writes are immediate."""
        return False

    async def settled(self, uid: str) -> None:
        """Return immediately: there are no writes in flight."""

    def record(
        self, pod: Pod, severity: str, reason: str, action: str, note: str, *, controller: str, once: bool = False
    ) -> None:
        """Record evictions; other events repeat what conditions say."""
        if reason == "Preempted":
            self._results.evicted(pod, note)

    async def evict(self, victim: Pod, scheduler: str) -> Evicted:
        """Delete a pod."""
        self.on_gone(victim)
        return Evicted()


class AtOnce:
    """Runs coroutines that never wait, synchronously."""

    def __init__(self) -> None:
        self._due: list[Coroutine[Any, Any, None]] = []

    def __len__(self) -> int:
        return len(self._due)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Queue a coroutine until `finish`."""
        self._due.append(work)

    async def side_by_side(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
        """Run several coroutines one after the other, and return their results."""
        return [await _result(work) for work in works]

    def finish(self) -> None:
        """Run all queued coroutines."""
        due, self._due = self._due, []
        for work in due:
            try:
                work.send(None)
            except StopIteration:
                continue
            raise AssertionError("a coroutine in memory must not wait")


async def _result(work: Coroutine[Any, Any, T]) -> T | BaseException:
    try:
        return await work
    except Exception as error:
        return error
