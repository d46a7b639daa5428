"""PrioritySort: sorts the queue by priority."""

from pilotage.framework.api.plugin import QueuedPod, QueueSort


class PrioritySort(QueueSort):
    """Sort by priority, then by the time in the queue."""

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether the first pod goes before the second."""
        return self.sort_key(one) < self.sort_key(other)

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        """Return the sort key, the smallest first; comparing keys is faster than calling `less` for each pair."""
        return -queued.pod.priority, queued.timestamp
