"""Metrics of the read API: who asks for what, and what that costs the scheduler."""

from collections.abc import Callable

from pilotage.telemetry.families import ALPHA, Counts, Family, Histograms, ReadCounts, ReadGauges
from pilotage.telemetry.histograms import exponential

REQUEST_BOUNDS = exponential(0.001, 2, 14)


class ApiMetrics:
    """Requests, streams, and CPU time; nothing is shown while there is no read API."""

    def __init__(self) -> None:
        self._api_requests = Counts(
            "pilotage_api_requests_total",
            ALPHA,
            "Requests to the read API, by path and status code; a stream counts when it begins.",
            ("path", "code"),
        )
        self._api_durations = Histograms(
            "pilotage_api_request_duration_seconds",
            ALPHA,
            "Time from a request to the read API until its answer was sent, streams excluded.",
            REQUEST_BOUNDS,
            ("path",),
        )
        self._api_streams = ReadGauges("pilotage_api_streams", ALPHA, "Streams of events that are open.")
        self._api_dropped = ReadCounts(
            "pilotage_api_streams_dropped_total",
            ALPHA,
            "Streams of events that were closed because the client did not read.",
        )
        self._api_cpu = ReadCounts("pilotage_api_cpu_seconds_total", ALPHA, "CPU time of answers and streams.")
        self._api_longest = ReadGauges(
            "pilotage_api_longest_slice_seconds",
            ALPHA,
            "CPU time of the longest slice of an answer in the last one to two minutes; scheduling waits that long.",
        )

    def families(self) -> list[Family]:
        """Return all metrics."""
        return [
            self._api_requests,
            self._api_durations,
            self._api_streams,
            self._api_dropped,
            self._api_cpu,
            self._api_longest,
        ]

    def api_asked(self, path: str, code: int, seconds: float | None) -> None:
        """Count a request; None for a stream, which has only begun."""
        self._api_requests.add((path, str(code)))
        if seconds is not None:
            self._api_durations.of((path,)).observe(seconds)

    def read_api(
        self,
        *,
        streams: Callable[[], int],
        dropped: Callable[[], int],
        cpu: Callable[[], float],
        longest: Callable[[], float],
    ) -> None:
        """Name the sources."""
        self._api_streams.read = lambda: [((), streams())]
        self._api_dropped.read = lambda: [((), dropped())]
        self._api_cpu.read = lambda: [((), cpu())]
        self._api_longest.read = lambda: [((), longest())]
