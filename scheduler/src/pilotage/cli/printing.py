"""Output formats: tables as kubectl prints them, JSON, YAML, names."""

import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from pilotage.cli.formats import FORMATS
from pilotage.cli.tables import filled_columns

UNITS = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
KIBI, THOUSAND = 1024, 1000
BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
UNKNOWN = "<unknown>"  # kubectl's word for the age of an object without a date


def printed(data: Any, output: str) -> bool:
    """Print data as JSON or YAML, if that is the output format."""
    if output not in FORMATS:
        return False
    click.echo(FORMATS[output](data))
    return True


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, headers: bool = True, right: Sequence[int] = ()
) -> None:
    """Print aligned columns, except those that are empty in every row."""
    lines = filled_columns(header, rows, right=right).splitlines()
    if lines:
        click.echo("\n".join(lines if headers else lines[1:]))


def age(since: str | None, now: datetime | None = None) -> str:
    """Return how long ago something was, in at most two units, as kubectl does: 12m, 3h5m, 2d4h."""
    if not since:
        return ""
    try:
        then = datetime.fromisoformat(since)
    except ValueError:
        return since
    if not then.timestamp():
        return UNKNOWN
    return span(((now or datetime.now(UTC)) - then).total_seconds())


def span(seconds: float) -> str:
    """Return a length of time in at most two units."""
    left = max(int(seconds), 0)
    parts: list[str] = []
    for size, name in UNITS:
        if left >= size or (size == 1 and not parts):
            parts.append(f"{left // size}{name}")
            left %= size
        elif parts:
            break  # 2d5m would look like more precision than it has
        if len(parts) == 2:
            break
    return "".join(part for part in parts if part[0] != "0" or len(parts) == 1)


def amount(number: float, unit: str) -> str:
    """Return an amount in the API's smallest unit as Kubernetes writes it: 1500m, 2, 3.5Gi."""
    if unit == "m":
        return f"{number:.0f}m" if number % THOUSAND else f"{number // THOUSAND:.0f}"
    if unit != "bytes":
        return f"{number:.0f}"
    size = 0
    while abs(number) >= KIBI and size < len(BINARY) - 1:
        number, size = number / KIBI, size + 1
    return f"{number:.1f}".removesuffix(".0") + BINARY[size]


def share(part: float, whole: float) -> str:
    """Return a part in percent."""
    return f"{100 * part / whole:.0f}%" if whole else "-"


def coloured(text: str, colour: str) -> str:
    """Return a text in a colour on a terminal, unless NO_COLOR is set."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, fg=colour)


def clear() -> None:
    """Clear the terminal for the next answer; in a file, answers follow each other."""
    if sys.stdout.isatty():
        click.clear()
