"""Metrics of the scheduling queue and of the cache, read at each scrape."""

from collections.abc import Callable, Iterator, Mapping

from pilotage.telemetry.families import ALPHA, BETA, STABLE, Family, Labels, ReadCounts, ReadGauges

ByName = Callable[[], Mapping[str, int]]
ByTwoNames = Callable[[], Mapping[tuple[str, str], int]]

# Parts of kube-scheduler's queue for members of native pod groups; always empty here.
WITHOUT_GROUPS = {"incomplete": 0, "pending": 0}


class QueueMetrics:
    """Pending pods, arrivals and rejections, and the size of the cache."""

    def __init__(self) -> None:
        self._of_waiting_pods()
        self._of_coming_pods()
        self._cache = ReadGauges(
            "scheduler_cache_size",
            ALPHA,
            "Nodes, pods and assumed pods in the cache.",
            ("type",),
        )

    def _of_waiting_pods(self) -> None:
        self._pending = ReadGauges(
            "scheduler_pending_pods",
            STABLE,
            "Pending pods, by queue: active, backoff, unschedulable (tried and rejected), gated "
            "(never tried); incomplete and pending are of pod groups.",
            ("queue",),
        )
        self._entities = ReadGauges(
            "scheduler_queued_entities",
            ALPHA,
            "Pending pods outside of pod groups, by queue.",
            ("queue", "type"),
        )
        self._unschedulable = ReadGauges(
            "scheduler_unschedulable_pods",
            BETA,
            "Waiting pods that a plugin rejected; a pod counts for each of its plugins, so that a sum over plugins "
            "means nothing.",
            ("plugin", "profile"),
            zero_when_gone=True,
        )

    def _of_coming_pods(self) -> None:
        self._incoming = ReadCounts(
            "scheduler_queue_incoming_pods_total",
            STABLE,
            "Pods added to a queue, by event.",
            ("queue", "event"),
        )
        self._incoming_entities = ReadCounts(
            "scheduler_queue_incoming_entities_total",
            ALPHA,
            "Pods outside of pod groups added to a queue, by event.",
            ("queue", "event", "type"),
        )
        self._in_flight = ReadGauges(
            "scheduler_inflight_events",
            ALPHA,
            "Events recorded while pods are being scheduled, and those pods (PodPopped).",
            ("event",),
            zero_when_gone=True,
        )

    def families(self) -> list[Family]:
        """Return all metrics."""
        return [
            self._pending,
            self._entities,
            self._incoming,
            self._incoming_entities,
            self._in_flight,
            self._unschedulable,
            self._cache,
        ]

    def read_queue(self, *, pending: ByName, incoming: ByTwoNames, in_flight: ByName, rejections: ByTwoNames) -> None:
        """Register the sources: by place, by place and event, by event, and by plugin and profile."""
        self._pending.read = lambda: _one_label({**pending(), **WITHOUT_GROUPS})
        self._entities.read = lambda: (((queue, "pod"), number) for queue, number in pending().items())
        self._incoming.read = lambda: incoming().items()
        self._incoming_entities.read = lambda: (((*key, "pod"), number) for key, number in incoming().items())
        self._in_flight.read = lambda: _one_label(in_flight())
        self._unschedulable.read = lambda: rejections().items()

    def read_cache(self, sizes: ByName) -> None:
        """Register the source: the numbers of nodes, pods and assumed_pods."""
        self._cache.read = lambda: _one_label(sizes())


def _one_label(numbers: Mapping[str, float]) -> Iterator[tuple[Labels, float]]:
    return (((label,), number) for label, number in numbers.items())
