"""The differences between two documents, path by path."""

from collections.abc import Iterator, Mapping
from typing import Any


def differences(before: Any, after: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """Yield every path with different values, and both values; None for a missing one."""
    if before == after:
        return
    ours, theirs = _by_key(before), _by_key(after)
    if ours is None or theirs is None:
        yield {"path": path, "from": before, "to": after}
        return
    for key in dict.fromkeys((*ours, *theirs)):
        yield from differences(ours.get(key), theirs.get(key), f"{path}.{key}" if path else str(key))


def _by_key(value: Any) -> Mapping[str, Any] | None:
    """Return a map, or a list of named entries as a map; None for anything else."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, list) or not all(isinstance(each, dict) and "name" in each for each in value):
        return None
    return {str(each["name"]): each for each in value}
