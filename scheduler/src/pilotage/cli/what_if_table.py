"""The answer to a what-if as text."""

from collections.abc import Iterable, Iterator, Sequence

from pilotage.cli.tables import filled_columns
from pilotage.offline.what_if.answer import Eviction, WhatIfAnswer

MOST_LINES = 20


def what_if_text(answer: WhatIfAnswer, changes: str, headers: bool) -> str:
    """Return what would happen; `changes` is the header of the column with all changes."""
    return "\n".join([answer.summary, *_sections(answer, changes, headers)])


def drain_text(answer: WhatIfAnswer, _changes: str, headers: bool) -> str:
    """Return what a drain would do; the drain itself needs no column."""
    return what_if_text(answer, "", headers)


def capacity_text(answer: WhatIfAnswer, _changes: str, headers: bool) -> str:
    """Return how many copies fit."""
    rows = [[each.changes, str(each.copies), each.stopped_by, each.where] for each in answer.capacity]
    return "\n".join([answer.summary, _table(["WITH", "COPIES", "STOPPED BY", "WHERE"], rows, headers, right=(1,))])


def _sections(answer: WhatIfAnswer, changes: str, headers: bool) -> Iterator[str]:
    if answer.shapes:
        yield _shapes(answer, changes, headers)
    for each in answer.waiting[:MOST_LINES]:
        pods = each.example if each.count == 1 else f"{each.count} of {each.owner}"
        yield f"\n{pods} would wait: {each.reason}"
        for remedy in each.remedies:
            yield f"  {remedy.text}"
    if answer.evictions:
        yield "\n" + _evictions(answer, headers)
    if answer.others is not None and answer.others.displaced:
        rows = [[each.pod, each.node or "waits", each.reason] for each in answer.others.displaced[:MOST_LINES]]
        yield "\n" + _table(["DISPLACED", "NODE", "MESSAGE"], rows, headers)
    if answer.others is not None and answer.others.placed:
        rows = [[each.pod, each.node] for each in answer.others.placed[:MOST_LINES]]
        yield "\n" + _table(["WAITS NOW", "WOULD GO TO"], rows, headers)


def _shapes(answer: WhatIfAnswer, changes: str, headers: bool) -> str:
    has_now = any(each.now is not None for each in answer.shapes)
    header = ["PODS OF", "PODS", *(["NOW"] if has_now else []), changes or "FIT", "STOPPED BY", "WHERE"]
    rows = [
        [
            each.owner,
            str(each.asked),
            *(["" if each.now is None else str(each.now)] if has_now else []),
            str(each.placed),
            each.stopped_by,
            each.where,
        ]
        for each in answer.shapes
    ]
    return _table(header, rows, headers, right=(1, 2, 3) if has_now else (1, 2))


def _evictions(answer: WhatIfAnswer, headers: bool) -> str:
    rows = [[each.pod, each.by, each.budget, _fate(each)] for each in answer.evictions[:MOST_LINES]]
    more = len(answer.evictions) + answer.more_evictions - len(rows)
    found = _table(["EVICTED", "BY", "BUDGET", ""], rows, headers)
    return f"{found}\n... and {more} more" if more > 0 else found


def _fate(each: Eviction) -> str:
    if each.blocked:
        return "stays: the budget does not allow the eviction"
    if each.lost:
        return "is lost: no controller recreates it"
    return "violates the budget" if each.violated else ""


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], headers: bool, right: Sequence[int] = ()) -> str:
    lines = filled_columns(header, rows, right=right).splitlines()
    return "\n".join(lines if headers else lines[1:])
