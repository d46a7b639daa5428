"""Back-off of pods after a failed attempt: longer each time, and ending at a full second."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from math import floor, inf

from pilotage.queue.active import by_priority
from pilotage.queue.pod_heap import Order, PodHeap
from pilotage.queue.queued_pod import QueuedPod


class Backoff:
    """Computes how long a pod waits after an attempt: twice as long each time, up to a limit."""

    def __init__(self, clock: Callable[[], float], initial: float, longest: float) -> None:
        self._clock = clock
        # Nanoseconds, because halving the limit truncates to whole ones.
        self._initial, self._longest = round(initial * 1e9), round(longest * 1e9)

    def duration(self, count: int) -> float:
        """Return the seconds to wait after this many attempts."""
        if count == 0:
            return 0.0
        doublings = count - 1
        late = self._initial > self._longest >> doublings
        return (self._longest if late else self._initial << doublings) / 1e9

    def expiration(self, queued: QueuedPod) -> float:
        """Return the second at whose end the back-off is over; consecutive errors take precedence over rejections."""
        count = queued.consecutive_errors or queued.unschedulable_count
        if (count == 0 or self._longest == 0) and not queued.rest:
            return -inf
        if queued.backoff_expiration is None:
            queued.backoff_expiration = floor(queued.timestamp + max(self.duration(count), queued.rest))
        return queued.backoff_expiration

    def holds(self, queued: QueuedPod) -> bool:
        """Return whether the pod must still wait."""
        return self.expiration(queued) >= floor(self._clock())

    def rests(self, queued: QueuedPod) -> bool:
        """Return whether the pod must wait regardless of its back-off, because its last attempt was expensive."""
        return bool(queued.rest) and queued.timestamp + queued.rest > self._clock()


class BackoffQueue:
    """Pods in back-off; rejected ones can be taken early, those with an error or a `rest` cannot."""

    name = "backoff"

    def __init__(self, backoff: Backoff, order: Order) -> None:
        self._backoff = backoff
        expiration = backoff.expiration
        self._rejected = PodHeap(
            self.name, lambda queued: (expiration(queued), order(queued)), lambda q: (expiration(q), by_priority(q))
        )
        self._failed = PodHeap(self.name, expiration, expiration)
        self._heap_of: dict[str, PodHeap] = {}

    def __len__(self) -> int:
        return len(self._heap_of)

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self._rejected
        yield from self._failed

    def add(self, queued: QueuedPod) -> None:
        """Add a pod, or move it to its new place."""
        heap = self._heap_of.get(queued.key)
        if heap is None:
            heap = self._heap_of[queued.key] = self._heap(queued)
        heap.add(queued)

    def _heap(self, queued: QueuedPod) -> PodHeap:
        return self._rejected if queued.was_rejected and not queued.rest else self._failed

    def remove(self, queued: QueuedPod) -> None:
        """Remove a pod."""
        self._heap_of.pop(queued.key).remove(queued)

    def ahead_of(self, queued: QueuedPod) -> int:
        """Return how many pods finish their back-off before a pod of this queue."""
        end = self._backoff.expiration(queued)
        return sum(self._backoff.expiration(each) < end for each in self)

    def ahead_of_all(self) -> dict[str, int]:
        """Return the same for all pods that are here, by namespace/name."""
        ends = {queued.key: self._backoff.expiration(queued) for queued in self}
        ranked = sorted(ends.values())
        return {key: bisect_left(ranked, end) for key, end in ends.items()}

    def end_of(self, queued: QueuedPod) -> float:
        """Return when the back-off of a pod of this queue ends."""
        return self._backoff.expiration(queued) + 1

    def first_rejected(self) -> QueuedPod | None:
        """Return the pod to take early if no other is ready."""
        return self._rejected.first()

    def first_completed(self) -> QueuedPod | None:
        """Return a pod whose back-off is over."""
        for heap in (self._rejected, self._failed):
            queued = heap.first()
            if queued is not None and not self._backoff.holds(queued):
                return queued
        return None

    def next_completion(self) -> float | None:
        """Return when the first back-off ends: at the end of its last second."""
        waiting = (heap.first() for heap in (self._rejected, self._failed))
        return min((self._backoff.expiration(queued) + 1 for queued in waiting if queued is not None), default=None)
