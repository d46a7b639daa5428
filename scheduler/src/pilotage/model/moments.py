"""Moments as the API writes them."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=1 << 16)
def seconds_of(text: str | None) -> float | None:
    """Return a moment in seconds since 1970; None if there is none, or if it cannot be read."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def written(moment: float) -> str:
    """Return a moment as the API writes it, in whole seconds."""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "the end of time"
