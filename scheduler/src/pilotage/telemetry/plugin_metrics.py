"""Metrics of the plugins, read at each scrape from the counts of all profiles' runners."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from pilotage.telemetry.families import BETA, STABLE, Family, Labels, ReadCounts, ReadHistograms
from pilotage.telemetry.histograms import Histogram

EVALUATING = frozenset(("PreFilter", "Filter", "PreScore", "Score"))  # the points whose calls are counted
# kube-scheduler's names for points, where they differ from ours.
NAMES = {
    "AddPod": "PreFilterExtensionAddPod",
    "RemovePod": "PreFilterExtensionRemovePod",
    "Normalize": "ScoreExtensionNormalize",
}


class Timed(Protocol):
    """The counts of one profile."""

    def calls(self) -> Iterable[tuple[str, str, int]]:
        """Return plugin, extension point and number of calls."""

    def durations(self) -> Iterable[tuple[str, str, str, Histogram]]:
        """Return plugin, extension point, status and durations of a sample of the calls."""

    def points(self) -> Iterable[tuple[str, str, Histogram]]:
        """Return extension point, status and total durations of its plugins."""


ByProfile = Callable[[], Mapping[str, Timed]]


class PluginMetrics:
    """Calls of plugins and their durations."""

    def __init__(self) -> None:
        self._evaluations = ReadCounts(
            "scheduler_plugin_evaluation_total",
            BETA,
            "Calls of a plugin at an extension point (PreFilter, Filter, PreScore, Score): one for all nodes "
            "evaluated together, and none if the cached results are still valid.",
            ("plugin", "extension_point", "profile"),
        )
        self._executions = ReadHistograms(
            "scheduler_plugin_execution_duration_seconds",
            BETA,
            "Duration of one call of a plugin at an extension point, for a sample of the calls.",
            ("plugin", "extension_point", "status"),
        )
        self._points = ReadHistograms(
            "scheduler_framework_extension_point_duration_seconds",
            STABLE,
            "Duration of all plugins of an extension point together.",
            ("extension_point", "status", "profile"),
        )

    def families(self) -> list[Family]:
        """Return all metrics."""
        return [self._evaluations, self._executions, self._points]

    def read_plugins(self, profiles: ByProfile) -> None:
        """Register the source: the counts by profile."""
        self._evaluations.read = lambda: _evaluations(profiles())
        self._executions.read = lambda: _executions(profiles())
        self._points.read = lambda: _points(profiles())


def _evaluations(profiles: Mapping[str, Timed]) -> Iterator[tuple[Labels, float]]:
    for profile, timed in profiles.items():
        for plugin, point, calls in timed.calls():
            if point in EVALUATING:
                yield (plugin, point, profile), calls


def _executions(profiles: Mapping[str, Timed]) -> Iterator[tuple[Labels, Histogram]]:
    for timed in profiles.values():
        for plugin, point, status, durations in timed.durations():
            yield (plugin, NAMES.get(point, point), status), durations


def _points(profiles: Mapping[str, Timed]) -> Iterator[tuple[Labels, Histogram]]:
    for profile, timed in profiles.items():
        for point, status, durations in timed.points():
            yield (NAMES.get(point, point), status, profile), durations
