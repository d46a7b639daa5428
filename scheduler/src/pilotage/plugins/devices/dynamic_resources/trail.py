"""A trail of changed things, which several readers follow at their own pace."""

from collections.abc import Sequence
from typing import Generic, TypeVar

Thing = TypeVar("Thing")

LONGEST = 16384  # changes; who is further behind reads everything anew


class Trail(Generic[Thing]):
    """The things that changed, in order; a position is the number of changes so far."""

    def __init__(self) -> None:
        self._things: list[Thing] = []
        self._dropped = 0

    @property
    def position(self) -> int:
        """Return the number of changes so far."""
        return self._dropped + len(self._things)

    def note(self, thing: Thing) -> None:
        """Record a change."""
        self._things.append(thing)
        if len(self._things) > 2 * LONGEST:
            del self._things[:LONGEST]
            self._dropped += LONGEST

    def since(self, position: int) -> Sequence[Thing] | None:
        """Return the changes after a position; None if it is too old."""
        start = position - self._dropped
        return None if start < 0 else self._things[start:]
