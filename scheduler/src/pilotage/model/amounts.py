"""Formats amounts of resources for people."""

from collections.abc import Callable
from math import floor

from pilotage.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY

BYTES = (MEMORY, EPHEMERAL_STORAGE)


def amount(resource: str, number: int) -> str:
    """Format a number of a resource's smallest units: 1.2 cores, 4Gi."""
    return _told(resource, number, lambda found: round(found, 2))


def amount_at_most(resource: str, number: int) -> str:
    """Format the same, rounded down if a short number is not exact."""
    return _told(resource, number, lambda found: floor(found * 100) / 100)


def _told(resource: str, number: int, shorter: Callable[[float], float]) -> str:
    if resource == CPU:
        return f"{number / 1000:g}"
    if resource in BYTES or resource.startswith("hugepages-"):
        for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if abs(number) >= 1 << power:
                return f"{shorter(number / (1 << power)):g}{suffix}"
    return str(number)
