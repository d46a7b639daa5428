"""Metrics that a plugin defines: named after it, and limited in number."""

import re
from collections.abc import Iterable, Iterator

from pilotage.telemetry.families import ALPHA, Counts, Family, Histograms
from pilotage.telemetry.histograms import PLUGIN_BOUNDS

MOST_METRICS = 20  # of one plugin
MOST_SERIES = 200  # of one metric: all others are counted together
OTHER = "other"
PREFIX = "pilotage_plugins_"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")

Labels = tuple[str, ...]


class _Bounded:
    """The label values of one metric, limited in number."""

    def __init__(self, profile: str, labels: Labels) -> None:
        self._profile, self._count = profile, len(labels)
        self._seen: set[Labels] = set()

    def _bounded(self, labels: Labels) -> Labels:
        if len(labels) != self._count:
            raise ValueError(f"the metric has {self._count} labels, and {len(labels)} were given")
        if labels not in self._seen:
            if len(self._seen) >= MOST_SERIES:
                labels = (OTHER,) * self._count
            self._seen.add(labels)
        return self._profile, *labels


class Counter(_Bounded):
    """A counter."""

    def __init__(self, family: Counts, profile: str, labels: Labels) -> None:
        super().__init__(profile, labels)
        self._family = family

    def add(self, *labels: str, amount: int = 1) -> None:
        """Add one, or more."""
        self._family.add(self._bounded(labels), amount)


class HistogramOf(_Bounded):
    """A histogram of durations or sizes."""

    def __init__(self, family: Histograms, profile: str, labels: Labels) -> None:
        super().__init__(profile, labels)
        self._family = family

    def observe(self, value: float, *labels: str) -> None:
        """Count a value."""
        self._family.of(self._bounded(labels)).observe(value)


class MetricStore:
    """The metrics of all plugins, by name; a plugin that is enabled again continues its metrics."""

    def __init__(self) -> None:
        self._families: dict[str, dict[str, Counts | Histograms]] = {}  # by plugin and name

    def __iter__(self) -> Iterator[Family]:
        """Yield all metrics by name."""
        found: Iterable[Family] = (each for own in self._families.values() for each in own.values())
        return iter(sorted(found, key=lambda each: each.name))

    def put(self, plugin: str, made: Counts | Histograms) -> Counts | Histograms:
        """Add a metric of a plugin; returns the existing one if it is the same."""
        own = self._families.setdefault(plugin, {})
        known = own.get(made.name)
        if known is not None and type(known) is type(made) and known.labels == made.labels:
            return known
        if known is None and len(own) >= MOST_METRICS:
            raise ValueError(f"{plugin} already has {MOST_METRICS} metrics, the maximum")
        own[made.name] = made
        return made


class OwnMetrics:
    """The counters and histograms of one plugin in one profile; `profile` is the first label of each."""

    def __init__(self, plugin: str = "", profile: str = "", store: MetricStore | None = None) -> None:
        self._plugin, self._profile = plugin, profile
        self._store = MetricStore() if store is None else store

    def counter(self, name: str, meaning: str, labels: Labels = ()) -> Counter:
        """Return a counter `pilotage_plugins_<plugin>_<name>`; the name should end with _total."""
        family = self._store.put(self._plugin, Counts(self._full(name), ALPHA, meaning, ("profile", *labels)))
        assert isinstance(family, Counts)
        return Counter(family, self._profile, labels)

    def histogram(
        self, name: str, meaning: str, labels: Labels = (), *, bounds: tuple[float, ...] = PLUGIN_BOUNDS
    ) -> HistogramOf:
        """Return a histogram `pilotage_plugins_<plugin>_<name>`; by default of seconds."""
        made = Histograms(self._full(name), ALPHA, meaning, bounds, ("profile", *labels))
        family = self._store.put(self._plugin, made)
        assert isinstance(family, Histograms)
        return HistogramOf(family, self._profile, labels)

    def _full(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid metric name: it must be snake_case with at most 60 characters")
        plugin = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self._plugin).lower()
        return f"{PREFIX}{plugin}_{name}"
