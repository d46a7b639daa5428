"""Parses --disabled-metrics and --allow-metric-labels."""

from collections.abc import Iterable

from pilotage.telemetry.families import Allowed


class InvalidOption(ValueError):
    """The value of a flag is invalid."""


def disabled_metrics(text: str) -> frozenset[str]:
    """Return the names in a comma-separated list."""
    return frozenset(filter(None, (name.strip() for name in text.split(","))))


def allowed_labels(texts: Iterable[str]) -> dict[str, Allowed]:
    """Return the exposed values by metric and label, from texts such as metric,label='a,b'; or InvalidOption."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for text in texts:
        names, equals, values = text.partition("=")
        metric, comma, label = (part.strip() for part in names.partition(","))
        if not (equals and metric and comma and label):
            raise InvalidOption(f"{text!r} allows no labels; write metric,label='value,value'")
        known = frozenset(value.strip() for value in values.strip().strip("'\"").split(","))
        found.setdefault(metric, {})[label] = known
    return {metric: dict(labels) for metric, labels in found.items()}
