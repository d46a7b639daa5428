"""Measures the work of a search, so that no question holds up the scheduler."""

from time import thread_time
from types import TracebackType
from typing import Final

STEPS_A_SECOND: Final = 800_000  # of a search; other work counts as the steps that take as long


class Paused(Exception):
    """There is no time left for now; whatever is known by now will be known next time."""


class Meter:
    """The steps that are left. As a context it counts the work of its block."""

    __slots__ = ("_begun", "left")

    def __init__(self, left: int = 0) -> None:
        self.left = left
        self._begun = 0.0

    def __enter__(self) -> None:
        """Begin some work, or raise Paused."""
        if self.left <= 0:
            raise Paused
        self._begun = thread_time()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Count the work."""
        self.left -= 1 + int((thread_time() - self._begun) * STEPS_A_SECOND)
