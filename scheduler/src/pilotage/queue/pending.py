"""The queue in numbers."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from pilotage.queue.queued_pod import QueuedPod


class Pending(NamedTuple):
    """How many pods wait, by place."""

    active: int
    backoff: int
    unschedulable: int
    gated: int


def rejections_of(waiting: Iterable[QueuedPod]) -> Counter[tuple[str, str]]:
    """Return how many of these pods each plugin of each profile rejected."""
    return Counter(
        (plugin, queued.pod.scheduler_name)
        for queued in waiting
        for plugin in queued.unschedulable_plugins | queued.pending_plugins
    )
