"""How long each turn of the event loop takes, in CPU time of its thread: a busy machine changes nothing."""

import asyncio
import selectors
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time
from typing import Any

Ready = list[tuple[selectors.SelectorKey, int]]


class LoopWatch:
    """Looks at every callback that the event loop runs; what the harness itself does is left out."""

    def __init__(self) -> None:
        self.longest = 0.0  # seconds
        self.where = ""  # whose callback that was
        self.idle = 0.0  # seconds in which the loop had nothing to do
        self._own = 0.0  # seconds that the harness took

    def now(self) -> float:
        """Return the seconds that the thread has worked for the scheduler."""
        return thread_time() - self._own

    def reset(self) -> None:
        """Begin again."""
        self.longest, self.where = 0.0, ""

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """Return a loop whose idle time is counted, and whose timers go by this watch."""
        return _WatchedLoop(self)

    def time(self) -> float:
        """Return the seconds that the loop has worked or waited: what other processes do does not count."""
        return self.now() + self.idle

    @contextmanager
    def own_work(self) -> Iterator[None]:
        """Leave out what happens here."""
        began = thread_time()
        try:
            yield
        finally:
            self._own += thread_time() - began

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch all loops of this process."""
        original: Callable[[asyncio.Handle], None] = asyncio.Handle._run

        def run(handle: asyncio.Handle) -> None:
            began, callback = self.now(), getattr(handle, "_callback", None)
            original(handle)
            spent = self.now() - began
            if spent > self.longest:
                self.longest, self.where = spent, _name(callback)

        setattr(asyncio.Handle, "_run", run)  # noqa: B010 - mypy does not allow the plain form
        try:
            yield
        finally:
            setattr(asyncio.Handle, "_run", original)  # noqa: B010


class _WatchedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stops while the machine does something else."""

    def __init__(self, watch: LoopWatch) -> None:
        self._watch = watch
        super().__init__(_IdleCounter(watch))

    def time(self) -> float:
        """Return the time."""
        return self._watch.time()

    @property
    def idle_seconds(self) -> float:
        """Return for how long it had nothing to do, as the scheduler's own loop does."""
        return self._watch.idle


class _IdleCounter(selectors.DefaultSelector):
    """Waits for the loop, and counts how long."""

    def __init__(self, watch: LoopWatch) -> None:
        super().__init__()
        self._watch = watch

    def select(self, timeout: float | None = None) -> Ready:
        """Wait."""
        began = perf_counter()
        found = super().select(timeout)
        self._watch.idle += perf_counter() - began
        return found


def _name(callback: Any) -> str:
    task = getattr(callback, "__self__", None)
    coroutine = task.get_coro() if isinstance(task, asyncio.Task) else None
    found = coroutine if coroutine is not None else callback
    name = task.get_name() if isinstance(task, asyncio.Task) else ""
    text = getattr(found, "__qualname__", type(found).__name__)
    return f"{text} ({name})" if name and not name.startswith("Task-") else text
