"""Moments and spans of time: how they are read and written."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.values import INT_MAX, INT_MIN, NANOS, Duration, Timestamp

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
UNITS = {"h": 3600 * NANOS, "m": 60 * NANOS, "s": NANOS, "ms": 10**6, "us": 10**3, "µs": 10**3, "μs": 10**3, "ns": 1}
PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(h|ms|m|s|us|µs|μs|ns)")
OFFSET = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})")
LONGEST = 128


def read_timestamp(text: str) -> Timestamp | None:
    """Return the moment of an RFC 3339 text, None if it is none."""
    match = RFC3339.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    seconds = (moment - EPOCH) // timedelta(seconds=1)
    if match[8]:
        if int(match[9]) > 24 or int(match[10]) > 60:
            return None
        shift = int(match[9]) * 3600 + int(match[10]) * 60
        seconds -= shift if match[8] == "+" else -shift
    nanos = int((match[7] or "0")[:9].ljust(9, "0"))
    return Timestamp(seconds * NANOS + nanos)


def written_timestamp(moment: Timestamp) -> str:
    """Return a moment as RFC 3339 with as many digits as it needs."""
    fraction = f"{moment.nanos % NANOS:09d}".rstrip("0")
    day = (EPOCH + timedelta(seconds=moment.nanos // NANOS)).replace(tzinfo=None)
    return f"{day.isoformat(timespec='seconds')}{'.' if fraction else ''}{fraction}Z"


def read_duration(text: str) -> Duration | None:
    """Return the span of a text such as 1h30m, None if it is none or exceeds 64 bits of nanoseconds."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return Duration(0)
    if not unsigned or len(text) > LONGEST:
        return None
    nanos, at = 0, 0
    while at < len(unsigned):
        match = PART.match(unsigned, at)
        if match is None or not (match[1] or match[2]):
            return None
        unit = UNITS[match[3]]
        nanos += int(match[1] or "0") * unit
        if match[2]:
            nanos += int(match[2]) * unit // 10 ** len(match[2])
        at = match.end()
    nanos = -nanos if text[0] == "-" else nanos
    return Duration(nanos) if INT_MIN <= nanos <= INT_MAX else None


def written_duration(span: Duration) -> str:
    """Return a span in seconds."""
    seconds, nanos = divmod(abs(span.nanos), NANOS)
    fraction = f"{nanos:09d}".rstrip("0")
    return f"{'-' if span.nanos < 0 else ''}{seconds}{'.' if fraction else ''}{fraction}s"


def local(moment: Timestamp, zone: str | None = None) -> datetime:
    """Return a moment on the clock of a zone, such as UTC or -02:30; raise EvaluationError."""
    day = EPOCH + timedelta(seconds=moment.nanos // NANOS)
    try:
        return day if zone is None else day.astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def _zone(name: str) -> tzinfo:
    match = OFFSET.fullmatch(name)
    if match is not None and int(match[2]) < 24 and int(match[3]) < 60:
        shift = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-shift if match[1] == "-" else shift)
    if name in ("", "UTC"):
        return UTC
    # The others are in files, which differ between machines.
    raise EvaluationError(f"the time zone {name[:LONGEST]} is not supported by this scheduler")
