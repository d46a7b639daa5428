"""Metric families: counters, gauges and histograms that are pushed, and those that are read at each scrape."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from pilotage.telemetry.exposition import header, histogram, labels_text, sample
from pilotage.telemetry.histograms import Histogram

STABLE, BETA, ALPHA = "STABLE", "BETA", "ALPHA"  # may change: nothing, only by more labels, anything

Labels = tuple[str, ...]
# By label: the exposed values. Any other is exposed as "unexpected".
Allowed = Mapping[str, Collection[str]]
Value = TypeVar("Value")

UNEXPECTED = "unexpected"


class Family(Protocol):
    """A metric with all its labels."""

    name: str

    def text(self, allowed: Allowed) -> str:
        """Return all current samples in Prometheus' format; empty if there are none."""

    def reset(self) -> None:
        """Reset counts to zero."""


class Described:
    """Name, help and labels of a metric."""

    def __init__(self, name: str, stability: str, meaning: str, labels: Labels = ()) -> None:
        self.name = name
        self.labels = labels
        self.help = f"[{stability}] {meaning}"

    def _numbers(self, kind: str, values: Iterable[tuple[Labels, float]], allowed: Allowed) -> str:
        names = self.labels
        return self._whole(
            kind,
            [
                sample(self.name, labels_text(names, labels), sum(several))
                for labels, several in self._grouped(values, allowed)
            ],
        )

    def _histograms(self, values: Iterable[tuple[Labels, Histogram]], allowed: Allowed) -> str:
        return self._whole(
            "histogram",
            [
                histogram(self.name, labels_text(self.labels, labels), Histogram.merged(several))
                for labels, several in self._grouped(values, allowed)
            ],
        )

    def _whole(self, kind: str, samples: list[str]) -> str:
        return header(self.name, kind, self.help) + "".join(samples) if samples else ""

    def _grouped(
        self, values: Iterable[tuple[Labels, Value]], allowed: Allowed
    ) -> Iterator[tuple[Labels, list[Value]]]:
        """Yield groups of values that have the same labels after filtering."""
        found: defaultdict[Labels, list[Value]] = defaultdict(list)
        for labels, value in values:
            found[self._permitted(labels, allowed) if allowed else labels].append(value)
        return iter(found.items())

    def _permitted(self, labels: Labels, allowed: Allowed) -> Labels:
        pairs = zip(self.labels, labels, strict=True)
        return tuple(value if value in allowed.get(label, (value,)) else UNEXPECTED for label, value in pairs)


class Counts(Described):
    """A counter; without labels it exists from the start."""

    def __init__(self, name: str, stability: str, meaning: str, labels: Labels = ()) -> None:
        super().__init__(name, stability, meaning, labels)
        self._values: dict[Labels, int] = {}
        self.reset()

    def add(self, labels: Labels = (), amount: int = 1) -> None:
        """Add one, or more."""
        try:
            self._values[labels] += amount
        except KeyError:
            self._values[labels] = amount

    @property
    def values(self) -> Mapping[Labels, int]:
        """Return all counts, by labels."""
        return self._values

    def text(self, allowed: Allowed) -> str:
        """Return all current samples."""
        return self._numbers("counter", self._values.items(), allowed)

    def reset(self) -> None:
        """Reset to zero."""
        self._values = {} if self.labels else {(): 0}


class Gauges(Described):
    """A number that goes up and down."""

    def __init__(self, name: str, stability: str, meaning: str, labels: Labels = ()) -> None:
        super().__init__(name, stability, meaning, labels)
        self._values: dict[Labels, float] = {}

    def put(self, value: float, labels: Labels = ()) -> None:
        """Set the number."""
        self._values[labels] = value

    def put_all(self, values: Mapping[str, float]) -> None:
        """Replace all numbers by those of the only label; missing ones become 0."""
        self._values = dict.fromkeys(self._values, 0.0) | {(label,): value for label, value in values.items()}

    def text(self, allowed: Allowed) -> str:
        """Return all current samples."""
        return self._numbers("gauge", self._values.items(), allowed)

    def reset(self) -> None:
        """Do nothing: a gauge has no counts."""


class Histograms(Described):
    """A histogram for each combination of labels; without labels it exists from the start."""

    def __init__(self, name: str, stability: str, meaning: str, bounds: tuple[float, ...], labels: Labels = ()) -> None:
        super().__init__(name, stability, meaning, labels)
        self._bounds = bounds
        self._known: dict[Labels, Histogram] = {}
        if not labels:
            self.of(())

    def of(self, labels: Labels) -> Histogram:
        """Return one histogram; callers may keep it."""
        try:
            return self._known[labels]
        except KeyError:
            found = self._known[labels] = Histogram(self._bounds)
            return found

    def text(self, allowed: Allowed) -> str:
        """Return all current samples."""
        return self._histograms(self._known.items(), allowed)

    def reset(self) -> None:
        """Reset to zero."""
        for each in self._known.values():
            each.reset()


Numbers = Callable[[], Iterable[tuple[Labels, float]]]


class ReadCounts(Described):
    """A counter that is read from another component."""

    def __init__(self, name: str, stability: str, meaning: str, labels: Labels = ()) -> None:
        super().__init__(name, stability, meaning, labels)
        self.read: Numbers = tuple
        self._before: dict[Labels, float] = {}

    def text(self, allowed: Allowed) -> str:
        """Return all current samples."""
        before = self._before
        since = [(labels, value - before.get(labels, 0)) for labels, value in self._sums().items()]
        return self._numbers("counter", since, allowed)

    def reset(self) -> None:
        """Reset to zero: subtract the current counts from now on."""
        self._before = self._sums()

    def _sums(self) -> dict[Labels, float]:
        found: dict[Labels, float] = {}
        for labels, value in self.read():
            found[labels] = found.get(labels, 0) + value
        return found


class ReadGauges(Described):
    """A gauge that is read from another component; labels that disappear can be exposed as 0."""

    def __init__(
        self, name: str, stability: str, meaning: str, labels: Labels = (), *, zero_when_gone: bool = False
    ) -> None:
        super().__init__(name, stability, meaning, labels)
        self.read: Numbers = tuple
        self._zeros: dict[Labels, float] | None = {} if zero_when_gone else None

    def text(self, allowed: Allowed) -> str:
        """Return all current samples."""
        found = dict(self.read())
        if self._zeros is not None:
            self._zeros.update(dict.fromkeys(found, 0))
            found = self._zeros | found
        return self._numbers("gauge", found.items(), allowed)

    def reset(self) -> None:
        """Do nothing: a gauge has no counts."""


class ReadHistograms(Described):
    """Histograms that another component fills."""

    def __init__(self, name: str, stability: str, meaning: str, labels: Labels = ()) -> None:
        super().__init__(name, stability, meaning, labels)
        self.read: Callable[[], Iterable[tuple[Labels, Histogram]]] = tuple

    def text(self, allowed: Allowed) -> str:
        """Return all current samples."""
        return self._histograms(self.read(), allowed)

    def reset(self) -> None:
        """Reset the histograms themselves to zero."""
        for _, each in self.read():
            each.reset()
