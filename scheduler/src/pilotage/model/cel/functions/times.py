"""Moments and spans of time."""

from collections.abc import Callable
from datetime import datetime

from pilotage.model.cel.calls import declare
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.operators import timestamp
from pilotage.model.cel.times import local, read_duration, read_timestamp, written_duration, written_timestamp
from pilotage.model.cel.values import NANOS, Duration, Timestamp

MILLI = 10**6


def _timestamp(text: str) -> Timestamp:
    found = read_timestamp(text)
    if found is None:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    return timestamp(found.nanos)


def _duration(text: str) -> Duration:
    found = read_duration(text)
    if found is None:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return found


def _same(value: object) -> object:
    return value


def _cut(number: int, unit: int) -> int:
    return number // unit if number >= 0 else -(-number // unit)


def _part(name: str, of_day: Callable[[datetime], int], of_span: int = 0, divisor: int = 1) -> None:
    """Declare a method of moments, with and without a zone, and of spans if they have such a part."""

    def read(moment: Timestamp, zone: str | None = None) -> int:
        return of_day(local(moment, zone))

    declare(name, ("timestamp.() -> int", read), ("timestamp.(string) -> int", read))
    if of_span:
        declare(name, ("duration.() -> int", lambda span: _cut(span.nanos, of_span) // divisor))


def _milliseconds(moment: Timestamp, zone: str | None = None) -> int:
    local(moment, zone)
    return moment.nanos % NANOS // MILLI


declare(
    "timestamp",
    ("(timestamp) -> timestamp", _same),
    ("(int) -> timestamp", lambda seconds: timestamp(seconds * NANOS)),
    ("(string) -> timestamp", _timestamp),
)
declare("duration", ("(duration) -> duration", _same), ("(string) -> duration", _duration))
declare("string", ("(duration) -> string", written_duration), ("(timestamp) -> string", written_timestamp))
declare(
    "int",
    ("(duration) -> int", lambda span: span.nanos),
    ("(timestamp) -> int", lambda moment: moment.nanos // NANOS),
)
_part("getFullYear", lambda day: day.year)
_part("getMonth", lambda day: day.month - 1)
_part("getDate", lambda day: day.day)
_part("getDayOfMonth", lambda day: day.day - 1)
_part("getDayOfWeek", lambda day: day.isoweekday() % 7)
_part("getDayOfYear", lambda day: day.timetuple().tm_yday - 1)
_part("getHours", lambda day: day.hour, 3600 * NANOS)
_part("getMinutes", lambda day: day.minute, 60 * NANOS)
_part("getSeconds", lambda day: day.second, NANOS)
declare("getMilliseconds", ("timestamp.() -> int", _milliseconds), ("timestamp.(string) -> int", _milliseconds))
declare("getMilliseconds", ("duration.() -> int", lambda span: _cut(span.nanos, MILLI)))
