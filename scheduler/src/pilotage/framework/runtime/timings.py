"""Counts and durations of the plugin calls of a profile."""

from collections.abc import Iterator
from time import perf_counter

from pilotage.telemetry.histograms import PLUGIN_BOUNDS, POINT_BOUNDS, Histogram

SUCCESS, ERROR, UNSCHEDULABLE = "Success", "Error", "Unschedulable"  # kube-scheduler's names of results
SAMPLED = 10  # one in this many calls is added to the histogram, as in kube-scheduler


class Timing:
    """The calls of one plugin at one extension point with one status."""

    __slots__ = ("calls", "durations", "seconds")

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0
        self.durations = Histogram(PLUGIN_BOUNDS)  # of the first call, and of a sample of the others

    def add(self, seconds: float) -> None:
        """Count one call."""
        self.seconds += seconds
        if self.calls % SAMPLED == 0:
            self.durations.observe(seconds)
        self.calls += 1


class Timings:
    """All calls by plugin, extension point and status, and the totals of extension points."""

    def __init__(self) -> None:
        self._timings: dict[tuple[str, str, str], Timing] = {}
        self._points: dict[tuple[str, str], Histogram] = {}

    def of(self, plugin: str, point: str, status: str = SUCCESS) -> Timing:
        """Return the record of one plugin at one point, for adding to it."""
        key = plugin, point, status
        found = self._timings.get(key)
        if found is None:
            found = self._timings[key] = Timing()
        return found

    def point(self, point: str, status: str = SUCCESS) -> Histogram:
        """Return the record of one point, for adding to it."""
        key = point, status
        found = self._points.get(key)
        if found is None:
            found = self._points[key] = Histogram(POINT_BOUNDS)
        return found

    def past(self, point: str, start: float, status: str = SUCCESS) -> None:
        """Count a run of all plugins of a point, started at a time of `perf_counter`."""
        self.point(point, status).observe(perf_counter() - start)

    def __iter__(self) -> Iterator[tuple[str, str, Timing]]:
        """Yield plugin, point and record of all calls."""
        return ((plugin, point, timing) for (plugin, point, _), timing in self._timings.items())

    def calls(self) -> Iterator[tuple[str, str, int]]:
        """Yield plugin, point and number of calls."""
        return ((plugin, point, timing.calls) for plugin, point, timing in self)

    def durations(self) -> Iterator[tuple[str, str, str, Histogram]]:
        """Yield plugin, point, status and the durations of a sample of the calls."""
        return ((*key, timing.durations) for key, timing in self._timings.items() if timing.calls)

    def points(self) -> Iterator[tuple[str, str, Histogram]]:
        """Yield point, status and the total durations of all plugins of the point."""
        return ((*key, found) for key, found in self._points.items())
