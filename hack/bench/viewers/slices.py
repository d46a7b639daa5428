"""How long callbacks of the event loop take, and which of them belong to the read API."""

import asyncio
import gc
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any

from hostile.loop_watch import LoopWatch

# Callbacks of the API begin like this: its tasks, and whatever reads or writes sockets, as nothing else here has any.
OF_API = (
    "RequestHandler.",
    "Feed.",
    "LiveApi.",
    "DelegatedAuth.",
    "RememberedAnswers.",
    "Rights.",
    "SharedAnswers.",
    "Server.",
    "opened",
    "_SelectorTransport",
    "_SelectorSocketTransport",
    "SSLProtocol",
    "TlsProtocol",
    "Visit",
    "FrontDoor",
)


class Slices(LoopWatch):
    """Adds up CPU time by callback; what the harness does itself is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: defaultdict[str, int] = defaultdict(int)
        self.longest_of: defaultdict[str, float] = defaultdict(float)
        self.slices: list[float] = []  # of the API, in seconds
        self.collecting = 0.0  # seconds of garbage collections
        self.collections, self.longest_collection = 0, 0.0
        self._collection_began = 0.0

    def reset(self) -> None:
        """Begin again."""
        super().reset()
        for each in (self.seconds, self.calls, self.longest_of, self.slices):
            each.clear()
        self.collecting, self.collections, self.longest_collection = 0.0, 0, 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch all loops of this process."""
        original: Callable[[asyncio.Handle], None] = asyncio.Handle._run

        def run(handle: asyncio.Handle) -> None:
            name, began, collected = name_of(getattr(handle, "_callback", None)), self.now(), self.collecting
            original(handle)
            spent = self.now() - began
            self.seconds[name] += spent
            self.calls[name] += 1
            # A garbage collection follows so many new objects of the whole process, whichever code has the last.
            own = spent - (self.collecting - collected)
            self.longest_of[name] = max(self.longest_of[name], own)
            if is_of_api(name):
                self.slices.append(own)

        setattr(asyncio.Handle, "_run", run)  # noqa: B010 - mypy does not allow the plain form
        gc.callbacks.append(self._collected)
        try:
            yield
        finally:
            gc.callbacks.remove(self._collected)
            setattr(asyncio.Handle, "_run", original)  # noqa: B010

    def _collected(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collection_began = thread_time()
            return
        spent = thread_time() - self._collection_began
        self.collecting += spent
        self.collections += 1
        self.longest_collection = max(self.longest_collection, spent)

    def of_api(self) -> float:
        """Return the seconds that the API took, with its sockets."""
        return sum(seconds for name, seconds in self.seconds.items() if is_of_api(name))

    def longest_handler(self) -> float:
        """Return the longest slice of the API, in seconds."""
        return max(self.slices, default=0.0)


def is_of_api(name: str) -> bool:
    """Return whether a callback works for the API."""
    return name.startswith(OF_API)


def name_of(callback: Any) -> str:
    """Return what a callback runs: the function of its task, or its own name."""
    bound = getattr(callback, "__self__", None)
    if isinstance(bound, asyncio.Task):
        return getattr(bound.get_coro(), "__qualname__", "a task")
    return getattr(callback, "__qualname__", None) or type(callback).__name__
