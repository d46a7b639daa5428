"""Timestamps in the API's format."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=1 << 16)
def seconds_of(text: str | None) -> float | None:
    """Return a timestamp in seconds since 1970; None if it is missing or invalid."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def written(moment: float) -> str:
    """Return a time in the API's format, in whole seconds."""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "the end of time"
