"""Metrics of requests to the API server, of the lease and of this process."""

from collections.abc import Callable, Mapping

from pilotage.telemetry.families import ALPHA, BETA, Counts, Family, Gauges, Histograms, Labels, ReadCounts, ReadGauges

REQUEST_BOUNDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

Observe = Callable[[str, str, float], None]  # verb, code, seconds
ByResource = Callable[[], Mapping[str, float]]


class ClusterMetrics:
    """Requests, watches, writes and leadership."""

    def __init__(self) -> None:
        self._of_requests()
        self._of_this_process()
        self._of_watches()
        self._of_writes()
        self._of_configuration()
        self._of_load()

    def _of_requests(self) -> None:
        self._requests = Counts(
            "rest_client_requests_total", ALPHA, "Requests to the API server, by response.", ("code", "method", "host")
        )
        self._request_durations = Histograms(
            "rest_client_request_duration_seconds",
            ALPHA,
            "Latency of requests to the API server.",
            REQUEST_BOUNDS,
            ("verb", "host"),
        )

    def _of_this_process(self) -> None:
        self._leading = ReadGauges(
            "leader_election_master_status", ALPHA, "Whether this process holds the lease of this name.", ("name",)
        )
        self._tasks = ReadGauges(
            "scheduler_goroutines",
            BETA,
            "Running tasks, by operation.",
            ("operation",),
            zero_when_gone=True,
        )
        self._held_up = ReadCounts(
            "pilotage_loop_held_up_seconds_total",
            ALPHA,
            "Seconds without scheduling attempts, because too many binds were in flight or the process was blocked.",
            ("reason",),
        )
        self._without_room = ReadGauges(
            "pilotage_pods_without_waiting_room",
            ALPHA,
            "Pods requeued because too many pods of their namespace wait for volumes or other preparation.",
        )

    def _of_watches(self) -> None:
        self._silence = ReadGauges(
            "pilotage_watch_silence_seconds", ALPHA, "Seconds since the last event of a watch.", ("resource",)
        )
        self._watch_errors = ReadCounts(
            "pilotage_watch_errors_total", ALPHA, "Failed watches and lists.", ("resource",)
        )
        self._lists = ReadCounts("pilotage_watch_lists_total", ALPHA, "Full lists.", ("resource",))
        self._undecodable = ReadGauges(
            "pilotage_watch_undecodable_objects",
            ALPHA,
            "Objects that cannot be decoded; they are ignored, or count in their last decodable state.",
            ("resource",),
        )
        self._skipped = ReadCounts(
            "pilotage_watch_skipped_total",
            ALPHA,
            "Objects received that are too large to decode.",
            ("resource",),
        )
        self._differences = Gauges(
            "pilotage_cache_differences",
            ALPHA,
            "Differences between the cache and the API server at the last comparison.",
            ("kind",),
        )
        self._comparisons = Counts(
            "pilotage_cache_comparisons_total", ALPHA, "Comparisons of the cache with the API server."
        )

    def _of_writes(self) -> None:
        self._binds = Counts("pilotage_binds_total", ALPHA, "Binds, by result.", ("result",))
        self._events_waiting = ReadGauges("pilotage_events_waiting", ALPHA, "Events not written yet.")
        self._events_dropped = ReadCounts(
            "pilotage_events_dropped_total",
            ALPHA,
            "Dropped events, mostly because there were too many.",
        )

    def _of_configuration(self) -> None:
        self._configuration = ReadGauges(
            "pilotage_config_info", ALPHA, "The running configuration, by hash; always 1.", ("hash",)
        )
        self._swaps = ReadCounts("pilotage_config_swaps_total", ALPHA, "Configuration reloads.")
        self._refusals = ReadCounts("pilotage_config_refusals_total", ALPHA, "Rejected configurations.")

    def _of_load(self) -> None:
        self._load_ages = ReadGauges(
            "pilotage_load_metrics_age_seconds",
            ALPHA,
            "Age of the latest load metrics of nodes.",
            ("source",),
        )
        self._load_health = ReadGauges(
            "pilotage_load_metrics_healthy",
            ALPHA,
            "Whether a source of load metrics responds, with figures recent enough for scoring.",
            ("source",),
        )

    def families(self) -> list[Family]:
        """Return all metrics."""
        return [
            self._requests,
            self._request_durations,
            self._leading,
            self._tasks,
            self._differences,
            self._comparisons,
            self._silence,
            self._watch_errors,
            self._lists,
            self._undecodable,
            self._skipped,
            self._held_up,
            self._without_room,
            self._binds,
            self._events_waiting,
            self._events_dropped,
            self._configuration,
            self._swaps,
            self._refusals,
            self._load_ages,
            self._load_health,
        ]

    # --------------------------------------------------------------------------------------------------- pushed

    def requests_to(self, host: str) -> Observe:
        """Return a function that counts the requests to one server."""

        def observe(verb: str, code: str, seconds: float) -> None:
            self._requests.add((code, verb, host))
            self._request_durations.of((verb, host)).observe(seconds)

        return observe

    def compared(self, differences: Mapping[str, int]) -> None:
        """Count a comparison of the cache with the API server, and set the differences by kind."""
        self._comparisons.add()
        self._differences.put_all(differences)

    def bound(self, result: str) -> None:
        """Count a finished bind."""
        self._binds.add((result,))

    # ----------------------------------------------------------------------------------------------------- read

    def read_leadership(self, name: str, leads: Callable[[], bool]) -> None:
        """Register the source: whether this process holds the lease."""
        self._leading.read = lambda: [((name,), int(leads()))]

    def read_tasks(self, running: Callable[[], Mapping[str, int]]) -> None:
        """Register the source: the number of running tasks by operation, with kube-scheduler's names."""
        self._tasks.read = lambda: [((operation,), number) for operation, number in running().items()]

    def read_watches(self, silence: ByResource, lists: ByResource, errors: ByResource) -> None:
        """Register the sources: the silence of each watch in seconds, its full lists, and its failures."""
        self._silence.read = lambda: _by_resource(silence)
        self._lists.read = lambda: _by_resource(lists)
        self._watch_errors.read = lambda: _by_resource(errors)

    def read_undecodable(self, undecodable: ByResource, skipped: ByResource) -> None:
        """Register the sources: the numbers of objects that cannot be decoded, or were too large."""
        self._undecodable.read = lambda: _by_resource(undecodable)
        self._skipped.read = lambda: _by_resource(skipped)

    def read_held_up(self, seconds: ByResource, without_room: Callable[[], int]) -> None:
        """Register the sources: the time without attempts by reason, and the pods above the preparation limit."""
        self._held_up.read = lambda: _by_resource(seconds)
        self._without_room.read = lambda: [((), without_room())]

    def read_events(self, *, waiting: Callable[[], int], dropped: Callable[[], int]) -> None:
        """Register the sources: the numbers of events not written yet, and of dropped events."""
        self._events_waiting.read = lambda: [((), waiting())]
        self._events_dropped.read = lambda: [((), dropped())]

    def read_load(self, ages: ByResource, healthy: ByResource) -> None:
        """Register the sources: the age of load metrics, and whether they are used, by their source."""
        self._load_ages.read = lambda: _by_resource(ages)
        self._load_health.read = lambda: _by_resource(healthy)

    def read_configuration(
        self, *, running: Callable[[], str], swaps: Callable[[], int], refusals: Callable[[], int]
    ) -> None:
        """Register the sources: the hash of the running configuration, and the results of received ones."""
        self._configuration.read = lambda: [((running(),), 1)] if running() else []
        self._swaps.read = lambda: [((), swaps())]
        self._refusals.read = lambda: [((), refusals())]


def _by_resource(numbers: ByResource) -> list[tuple[Labels, float]]:
    return [((resource,), number) for resource, number in numbers().items()]
