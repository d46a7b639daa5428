"""The scheduler's event loop, which counts the time in which it has nothing to do."""

import asyncio
import selectors
from time import perf_counter, thread_time

Ready = list[tuple[selectors.SelectorKey, int]]


class _IdleCounter(selectors.DefaultSelector):
    """Waits for the loop, and adds up for how long."""

    idle = 0.0

    def select(self, timeout: float | None = None) -> Ready:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        began = perf_counter()
        found = super().select(timeout)
        self.idle += perf_counter() - began
        return found


class EventLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, with its idle time."""

    def __init__(self) -> None:
        self._counter = _IdleCounter()
        super().__init__(self._counter)

    @property
    def idle_seconds(self) -> float:
        """Return for how long it had nothing to do."""
        return self._counter.idle


def worked_and_rested() -> tuple[float, float]:
    """Return for how many seconds the running loop's thread has worked, and the loop had nothing to do.

    What other processes or a container's limit take away is in neither.
    """
    rested: float = getattr(asyncio.get_running_loop(), "idle_seconds", 0.0)
    return thread_time(), rested
