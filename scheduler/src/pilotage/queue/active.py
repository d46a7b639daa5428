"""The queue of ready pods, and their order."""

from functools import cmp_to_key

from pilotage.framework.api.plugin import QueueSort
from pilotage.queue.pod_heap import Order, PodHeap
from pilotage.queue.queued_pod import QueuedPod


def by_priority(queued: QueuedPod) -> tuple[int, float]:
    """Sort by priority, then by time: the order without a plugin."""
    return -queued.pod.priority, queued.timestamp


def order_of(sort: QueueSort | Order) -> Order:
    """Return the order of a plugin: its `sort_key` if it has one, which is faster, or one from its `less`."""
    if not isinstance(sort, QueueSort):
        return sort
    if (key := getattr(sort, "sort_key", None)) is not None:
        return key  # type: ignore[no-any-return]  # optional, so that no base class has it
    less = sort.less
    return cmp_to_key(lambda one, other: -1 if less(one, other) else int(less(other, one)))


def active_queue(order: Order) -> PodHeap:
    """Return an empty queue for ready pods."""
    return PodHeap("active", order, by_priority)
