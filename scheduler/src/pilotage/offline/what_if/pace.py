"""Slices: work in portions of so little CPU that nothing else has to wait long."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from time import monotonic, thread_time
from typing import TypeVar

Value = TypeVar("Value")

LONGEST_SLICE = 0.0005  # seconds of CPU, after which others have their turn; one step may go past it


def _generator(steps: Iterable[object]) -> Generator[object, None, None]:
    yield from steps


class OutOfTime(Exception):
    """The time limit is over."""


class Pace:
    """Divides work into slices, and ends it when its time is over."""

    def __init__(
        self,
        seconds: float,
        *,
        longest: float = LONGEST_SLICE,
        cpu: Callable[[], float] = thread_time,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._longest, self._cpu, self._clock = longest, cpu, clock
        self._begun, self.spent = clock(), 0.0  # seconds of CPU in slices that have ended
        self._end = self._begun + seconds
        self._slice = cpu()

    @property
    def seconds(self) -> float:
        """Return the CPU used so far, in seconds."""
        return self.spent + self._cpu() - self._slice

    def through(self, steps: Iterable[object]) -> Generator[None, None, None]:
        """Run steps, and yield whenever a slice is over; OutOfTime when the time is over."""
        with closing(_generator(steps)) as going:  # closed at once, so that nothing is left half done
            for _ in going:
                yield from self.turn()

    def finish(self, steps: Generator[object, None, Value]) -> Generator[None, None, Value]:
        """Run steps in the same way, and return their result."""
        with closing(steps):
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    value: Value = end.value
                    return value
                yield from self.turn()

    def turn(self) -> Generator[None, None, None]:
        """Yield if the slice is over."""
        if self._cpu() - self._slice >= self._longest:
            yield from self.rest()

    def rest(self) -> Generator[None, None, None]:
        """End the slice before a step that cannot be divided and takes about as long as a slice."""
        self.spent += self._cpu() - self._slice
        yield
        self._slice = self._cpu()
        if self._clock() > self._end:
            raise OutOfTime
