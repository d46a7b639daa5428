"""The time format of Leases and events: UTC with exactly six digits after the second."""

from datetime import UTC, datetime


def format_microtime(moment: datetime) -> str:
    """Write a moment as the API server writes a MicroTime."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
