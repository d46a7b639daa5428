"""Slices: interruptible work, each slice short enough not to delay anything else."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from time import monotonic, thread_time
from typing import TypeVar

Value = TypeVar("Value")

LONGEST_SLICE = 0.0005  # seconds of CPU, after which other work gets its turn; a step may exceed it


def _generator(steps: Iterable[object]) -> Generator[object, None, None]:
    yield from steps


class OutOfTime(Exception):
    """The time limit of the question is over."""


class Pace:
    """Ends slices, and the work at its time limit."""

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
        """Return the CPU seconds used so far."""
        return self.spent + self._cpu() - self._slice

    def through(self, steps: Iterable[object]) -> Generator[None, None, None]:
        """Run steps, and yield at the end of each slice; OutOfTime at the time limit."""
        with closing(_generator(steps)) as going:  # a partial step is undone at once
            for _ in going:
                yield from self.turn()

    def finish(self, steps: Generator[object, None, Value]) -> Generator[None, None, Value]:
        """Do steps in the same way, and return what comes of them."""
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
        """End the slice, before a step that cannot be divided and takes about as long as one."""
        self.spent += self._cpu() - self._slice
        yield
        self._slice = self._cpu()
        if self._clock() > self._end:
            raise OutOfTime
