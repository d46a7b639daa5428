"""Prometheus' text format, written directly from counters: thousands of lines must not delay scheduling."""

import re
from collections.abc import Iterable
from functools import cache
from math import isfinite, isnan

from pilotage.telemetry.histograms import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SPECIAL = re.compile(r'[\\"\n]')
ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n"}


def header(name: str, kind: str, text: str) -> str:
    """Return the lines before the samples of a metric."""
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def labels_text(names: Iterable[str], values: Iterable[str]) -> str:
    """Return labels without the braces."""
    return ",".join([f'{name}="{escaped(value)}"' for name, value in zip(names, values, strict=True)])


def sample(name: str, labels: str, value: float) -> str:
    """Return the line of one number."""
    return f"{name}{{{labels}}} {number(value)}\n" if labels else f"{name} {number(value)}\n"


def histogram(name: str, labels: str, found: Histogram) -> str:
    """Return the lines of one histogram."""
    start = f"{name}_bucket{{{labels}," if labels else f"{name}_bucket{{"
    cumulative = found.cumulative()
    buckets = [f"{start}{le} {count}\n" for le, count in zip(_boundaries(found.bounds), cumulative, strict=True)]
    return "".join(
        [*buckets, sample(f"{name}_sum", labels, found.total), sample(f"{name}_count", labels, cumulative[-1])]
    )


def escaped(value: str) -> str:
    """Escape a label's value."""
    return SPECIAL.sub(lambda match: ESCAPES[match[0]], value) if SPECIAL.search(value) else value


def number(value: float) -> str:
    """Format a number like Go."""
    if not isfinite(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value).removesuffix(".0")


@cache
def _boundaries(bounds: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(f'le="{bound}"}}' for bound in [*map(number, bounds), "+Inf"])
