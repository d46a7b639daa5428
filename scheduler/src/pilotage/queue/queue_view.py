"""The read-only half of the scheduling queue: which pods wait, where, and until when."""

from collections import Counter
from collections.abc import Iterator

from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod
from pilotage.queue.backoff import BackoffQueue
from pilotage.queue.gang_index import GangIndex
from pilotage.queue.in_flight import InFlight
from pilotage.queue.pending import Pending, rejections_of
from pilotage.queue.pod_heap import PodHeap
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.sweep import Sweep
from pilotage.queue.unschedulable import Pool


class QueueView:
    """Answers questions about the queue; SchedulingQueue holds these parts and moves pods between them."""

    _waiting: dict[str, QueuedPod]  # by namespace/name
    _active: PodHeap
    _backoff: BackoffQueue
    _unschedulable: Pool
    _gated: Pool
    _gangs: GangIndex
    _in_flight: InFlight
    _sweep: Sweep

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

    def in_flight(self) -> list[Pod]:
        """Return the pods in flight, as they were taken: being scheduled, or being bound."""
        return self._in_flight.pods()

    def pending(self) -> Pending:
        """Return how many pods wait."""
        return Pending(len(self._active), len(self._backoff), len(self._unschedulable), len(self._gated))

    def ahead_of(self, queued: QueuedPod) -> tuple[int, int] | None:
        """Return the number of pods ahead of a ready or backing-off one, and the number of such pods."""
        total = len(self._active) + len(self._backoff)
        if queued.place is self._active:
            return self._active.ahead_of(queued), total
        if queued.place is self._backoff:
            return len(self._active) + self._backoff.ahead_of(queued), total
        return None

    def ahead_of_all(self) -> dict[str, int]:
        """Return the number of pods ahead of each ready or backing-off one, by namespace/name."""
        found = self._active.ahead_of_all()
        ready = len(found)
        return found | {key: ready + number for key, number in self._backoff.ahead_of_all().items()}

    def next_try(self, queued: QueuedPod) -> float | None:
        """Return when a waiting pod is retried even without an event; None if it is ready or has no set time."""
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

    def gang(self, gang: GangName, scheduler: str) -> list[QueuedPod]:
        """Return all pods of a gang that wait for a scheduler and are not terminating, gated or not."""
        return self._gangs.members(gang, scheduler)
