"""Profiles time and memory of a running scheduler: for /debug/pprof/, as text."""

import asyncio
import cProfile
import gc
import io
import pstats
from collections import Counter
from collections.abc import Iterable
from types import FrameType
from typing import Any

LONGEST = 60
SHOWN = 60

INDEX = """\
/debug/pprof/

profile?seconds=30  CPU profile of the event loop by function; slows down the scheduler while it runs
goroutine           stack of every task
heap?gc=1           number of objects of each type added since the start; gc=1 collects garbage first

All pages are text, not in the format of `go tool pprof`.
"""


class Profiler:
    """Profiles the thread of the event loop, once at a time."""

    def __init__(self) -> None:
        self._busy = False

    async def watch(self, seconds: float) -> str | None:
        """Profile for some seconds, and return the functions that took the most time; None if already running."""
        if self._busy:
            return None
        self._busy = True
        profiler = cProfile.Profile()
        try:
            profiler.enable()
            await asyncio.sleep(seconds)
        except ValueError:  # another tool, such as a debugger, is already active
            return None
        finally:
            profiler.disable()
            self._busy = False
        text = io.StringIO()
        pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(SHOWN)
        return text.getvalue()


def tasks(running: Iterable[asyncio.Task[Any]]) -> str:
    """Return the stack of each task; for a waiting one, only its outermost function."""
    blocks = []
    for task in sorted(running, key=lambda task: task.get_name()):
        stack = [_place(frame) for frame in task.get_stack(limit=20)]
        blocks.append("\n".join([f"{task.get_name()}:", *(f"  {place}" for place in stack)]))
    return "\n\n".join([f"{len(blocks)} tasks", *blocks]) + "\n"


def objects(*, collect: bool) -> str:
    """Return the number of objects of each type; blocks the scheduler meanwhile."""
    if collect:
        gc.collect()
    counts = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    lines = [f"{number:10} {name}" for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join([f"{counts.total():10} objects", *lines]) + "\n"


def _place(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}:{frame.f_lineno}"
