"""Pods that wait for preparation, such as volumes: limited per namespace."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.model.pod import Pod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.outcome import Unplaced

MOST_OF_ONE = 5_000  # pods of a namespace; each keeps its reservation and about 7 KB, for minutes if provisioning fails
QUEUED = "Queued"  # not Unschedulable: autoscalers would add nodes, which cannot help
NO_ROOM = "PreBind"  # in place of a plugin's name in the queue; no event helps, only a free turn


class Preparing:
    """Counts them by namespace, and retries a pod above the limit when another one is done."""

    def __init__(self, queue: SchedulingQueue) -> None:
        self._queue = queue
        self._inside: Counter[str] = Counter()
        self._outside: dict[str, dict[str, Pod]] = {}  # by namespace and uid, in order of arrival
        self._called: set[str] = set()  # the uids of pods that are retried because a turn is free

    def waiting_for_room(self) -> int:
        """Return how many pods above the limit were not retried yet."""
        return sum(map(len, self._outside.values()))

    def refusal(self, pod: Pod) -> Unplaced | None:
        """Return why a pod must be requeued instead of being prepared; None if it is below the limit."""
        inside = self._inside[pod.namespace]
        if inside < MOST_OF_ONE:
            return None
        self._called.discard(pod.uid)
        outside = self._outside.setdefault(pod.namespace, {})
        outside[pod.uid] = pod
        if len(outside) % MOST_OF_ONE == 0:  # deleted pods accumulate while the limit is reached
            self._outside[pod.namespace] = {uid: each for uid, each in outside.items() if self._waits(each)}
        message = (
            f"{inside} pods of namespace {pod.namespace} wait for volumes or other preparation, "
            "which is the limit; the pod is retried when one of them is ready"
        )
        return Unplaced(message, QUEUED, rejected_by=frozenset({NO_ROOM}))

    @contextmanager
    def inside(self, pod: Pod) -> Iterator[None]:
        """Count a pod during the block; then retry the one that has waited longest."""
        self._inside[pod.namespace] += 1
        try:
            yield
        finally:
            self._inside[pod.namespace] -= 1
            if not self._inside[pod.namespace]:
                del self._inside[pod.namespace]
            self._let_in(pod.namespace)

    def forget(self, pod: Pod) -> None:
        """Remove a pod that is retried."""
        self._called.discard(pod.uid)
        outside = self._outside.get(pod.namespace, {})
        outside.pop(pod.uid, None)
        if not outside:
            self._outside.pop(pod.namespace, None)

    def pass_on(self, pod: Pod) -> None:
        """Retry the next pod if a retried one was not placed, or was deleted."""
        if pod.uid in self._called:
            self._called.discard(pod.uid)
            self._let_in(pod.namespace)

    def _let_in(self, namespace: str) -> None:
        while outside := self._outside.get(namespace):
            pod = next(iter(outside.values()))
            self.forget(pod)
            if self._waits(pod):
                self._called.add(pod.uid)
                self._queue.activate([pod])
                return

    def _waits(self, pod: Pod) -> bool:
        queued = self._queue.find(pod.key)
        return (queued is not None and queued.pod.uid == pod.uid) or self._queue.is_in_flight(pod.uid)
