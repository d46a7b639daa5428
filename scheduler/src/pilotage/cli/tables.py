"""Aligned columns of plain text."""

from collections.abc import Iterable, Sequence

GAP = "  "


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = (), indent: str = "") -> str:
    """Return lines with aligned columns; the columns in `right` are right-aligned."""
    lines = [[_one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join((indent + GAP.join(_cells(line, widths, right))).rstrip() for line in lines)


def filled_columns(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return the same, without the columns that are empty in every row; "" without rows."""
    kept_rows = [list(row) for row in rows]
    columns = [place for place in range(len(header)) if any(row[place] for row in kept_rows)]
    if not columns:
        return ""
    flush = [columns.index(place) for place in right if place in columns]
    return table(
        [header[place] for place in columns], [[row[place] for place in columns] for row in kept_rows], right=flush
    )


def _cells(line: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> Iterable[str]:
    for column, (cell, width) in enumerate(zip(line, widths, strict=True)):
        yield cell.rjust(width) if column in right else cell.ljust(width)


def _one_line(cell: str) -> str:
    return " ".join(cell.split())
