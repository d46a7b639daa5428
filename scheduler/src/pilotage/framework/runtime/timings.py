"""How often each plugin of a profile was called, and how long it took."""

from collections.abc import Iterator
from time import perf_counter

from pilotage.telemetry.histograms import PLUGIN_BOUNDS, POINT_BOUNDS, Histogram

SUCCESS, ERROR, UNSCHEDULABLE = "Success", "Error", "Unschedulable"  # kube-scheduler's words for how calls end
SAMPLED = 10  # one in this many calls goes into the histogram, as with kube-scheduler


class Timing:
    """The calls of one plugin at one extension point that ended in one way."""

    __slots__ = ("calls", "durations", "seconds")

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0
        self.durations = Histogram(PLUGIN_BOUNDS)  # of the first call, and of some that come after it

    def add(self, seconds: float) -> None:
        """Count one call."""
        self.seconds += seconds
        if self.calls % SAMPLED == 0:
            self.durations.observe(seconds)
        self.calls += 1


class Timings:
    """All calls, by plugin, extension point and status; and the whole points, with all their plugins."""

    def __init__(self) -> None:
        self._timings: dict[tuple[str, str, str], Timing] = {}
        self._points: dict[tuple[str, str], Histogram] = {}

    def of(self, plugin: str, point: str, status: str = SUCCESS) -> Timing:
        """Return the record of one plugin at one point, to be added to."""
        key = plugin, point, status
        found = self._timings.get(key)
        if found is None:
            found = self._timings[key] = Timing()
        return found

    def point(self, point: str, status: str = SUCCESS) -> Histogram:
        """Return the record of one point, to be added to."""
        key = point, status
        found = self._points.get(key)
        if found is None:
            found = self._points[key] = Histogram(POINT_BOUNDS)
        return found

    def past(self, point: str, start: float, status: str = SUCCESS) -> None:
        """Count that all plugins of a point were called, since a time of `perf_counter`."""
        self.point(point, status).observe(perf_counter() - start)

    def __iter__(self) -> Iterator[tuple[str, str, Timing]]:
        """Yield plugin, point and record of all calls."""
        return ((plugin, point, timing) for (plugin, point, _), timing in self._timings.items())

    def calls(self) -> Iterator[tuple[str, str, int]]:
        """Yield plugin, point and number of calls."""
        return ((plugin, point, timing.calls) for plugin, point, timing in self)

    def durations(self) -> Iterator[tuple[str, str, str, Histogram]]:
        """Yield plugin, point, status and how long a sample of the calls took."""
        return ((*key, timing.durations) for key, timing in self._timings.items() if timing.calls)

    def points(self) -> Iterator[tuple[str, str, Histogram]]:
        """Yield point, status and how long all plugins of the point took together."""
        return ((*key, found) for key, found in self._points.items())
