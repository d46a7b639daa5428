"""Parameters of queries as values; an invalid one is rejected with what is valid."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pilotage.views.decisions import DecisionsQuestion
from pilotage.views.explaining import ExplainQuestion
from pilotage.views.nodes import NodesQuestion
from pilotage.views.paging import InvalidQuestion
from pilotage.views.paths import MOST, TOPICS, USUAL
from pilotage.views.queue import QueueQuestion

Query = Mapping[str, Sequence[str]]


def one(query: Query, name: str) -> str:
    """Return the value of a parameter; "" if it is missing."""
    values = query.get(name, ())
    if len(values) > 1:
        raise InvalidQuestion(f"{name}: given {len(values)} times; give it once")
    return values[0] if values else ""


def number(query: Query, name: str, default: int, least: int, most: int) -> int:
    """Return a whole number within bounds."""
    text = one(query, name)
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise InvalidQuestion(f"{name}: must be a whole number from {least} to {most}")
    return int(text)


def limit(query: Query, default: int = USUAL) -> int:
    """Return the size of a page."""
    return number(query, "limit", default, 1, MOST)


def queue_question(query: Query) -> QueueQuestion:
    """Return the parameters of /queue."""
    return QueueQuestion(
        group_by=cast(Any, one(query, "groupBy")),
        place=one(query, "place"),
        namespace=one(query, "namespace"),
        profile=one(query, "profile"),
        plugin=one(query, "plugin"),
        code=one(query, "code"),
        sort=cast(Any, one(query, "sort") or "since"),
        limit=limit(query),
        continue_=one(query, "continue"),
    )


def decisions_question(query: Query) -> DecisionsQuestion:
    """Return the parameters of /decisions."""
    return DecisionsQuestion(
        since=number(query, "since", 0, 0, 1 << 62),
        node=one(query, "node"),
        namespace=one(query, "namespace"),
        outcome=cast(Any, one(query, "outcome")),
        profile=one(query, "profile"),
        limit=limit(query),
        continue_=one(query, "continue"),
    )


def nodes_question(query: Query) -> NodesQuestion:
    """Return the parameters of /nodes."""
    columns = tuple(name.strip() for name in one(query, "columns").split(",") if name.strip())
    return NodesQuestion(columns, cast(Any, one(query, "format") or "columns"), limit(query), one(query, "continue"))


def explain_question(query: Query) -> ExplainQuestion:
    """Return the parameters of an explanation."""
    return ExplainQuestion(one(query, "nodes"), limit(query, 50), one(query, "continue"))


def topics(query: Query) -> tuple[str, ...]:
    """Return the topics of a stream."""
    wanted = one(query, "topics") or "queue,decisions"
    named = tuple(dict.fromkeys(each.strip() for each in wanted.split(",") if each.strip()))
    unknown = [each for each in named if each not in TOPICS]
    if unknown or not named:
        raise InvalidQuestion(f"topics: {', '.join(unknown) or 'none'} is unknown; use {', '.join(TOPICS)}")
    return named
