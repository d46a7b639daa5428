"""What is different between two documents, path by path."""

from collections.abc import Iterator, Mapping
from typing import Any


def differences(before: Any, after: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """Yield every path that has another value, with both; None where there is none."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif before != after:
        yield {"path": path, "from": before, "to": after}
