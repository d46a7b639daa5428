"""Plugins: their calls, durations and failures."""

from collections.abc import Mapping

from pilotage.framework.runtime.timings import ERROR
from pilotage.telemetry.histograms import Histogram
from pilotage.views.answers import PluginCost, Plugins
from pilotage.views.state import Stamp, State, Steps

Overruns = Mapping[tuple[str, ...], int]  # calls that took too long, by plugin, point and profile


def plugins(state: State, stamp: Stamp, overruns: Overruns) -> Steps[Plugins]:
    """Return the cost of the plugins of all profiles, the most expensive first."""
    items: list[PluginCost] = []
    for name in list(state.engines):
        items += _costs(state, name, overruns)
        yield
    items.sort(key=lambda cost: -cost.seconds)
    return Plugins(at=stamp.at, revision=stamp.revision, source=stamp.source, items=items)


def _costs(state: State, profile: str, overruns: Overruns) -> list[PluginCost]:
    timings = state.engines[profile].runner.timings
    found: dict[tuple[str, str], list[Histogram]] = {}
    failures: dict[tuple[str, str], int] = {}
    for plugin, point, status, durations in timings.durations():
        found.setdefault((plugin, point), []).append(durations)
        failures[plugin, point] = failures.get((plugin, point), 0) + (
            timings.of(plugin, point, status).calls if status == ERROR else 0
        )
    totals: dict[tuple[str, str], tuple[int, float]] = {}
    for plugin, point, timing in timings:
        calls, seconds = totals.get((plugin, point), (0, 0.0))
        totals[plugin, point] = calls + timing.calls, seconds + timing.seconds
    return [
        PluginCost(
            profile=profile,
            plugin=key[0],
            point=key[1],
            calls=totals[key][0],
            seconds=round(totals[key][1], 6),
            p50=quantile(Histogram.merged(several), 0.5),
            p99=quantile(Histogram.merged(several), 0.99),
            failures=failures[key],
            trips=overruns.get((*key, profile), 0),
        )
        for key, several in found.items()
    ]


def quantile(histogram: Histogram, share: float) -> float:
    """Return the boundary below which a share of the observations are; 0 if there are none."""
    counted = histogram.cumulative()
    if not counted[-1]:
        return 0.0
    place = next(place for place, number in enumerate(counted) if number >= share * counted[-1])
    return round(histogram.bounds[min(place, len(histogram.bounds) - 1)], 7)
