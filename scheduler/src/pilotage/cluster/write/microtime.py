"""The time format of Leases and events: UTC with exactly six digits after the second."""

from datetime import UTC, datetime


def format_microtime(moment: datetime) -> str:
    """Format a time as a MicroTime of the API."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
