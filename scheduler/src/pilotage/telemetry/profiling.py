"""Where time and memory go in a running scheduler: for /debug/pprof/, as text."""

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

profile?seconds=30  where the event loop spends its time, by function; the scheduler is slower while this runs
goroutine           where every task is
heap?gc=1           how many objects of each type were added since the start; gc=1 collects garbage first

All are text and not the format of `go tool pprof`.
"""


class Profiler:
    """Watches the thread of the event loop, once at a time."""

    def __init__(self) -> None:
        self._busy = False

    async def watch(self, seconds: float) -> str | None:
        """Return the functions that took the most time from now on for so long; None while another one watches."""
        if self._busy:
            return None
        self._busy = True
        profiler = cProfile.Profile()
        try:
            profiler.enable()
            await asyncio.sleep(seconds)
        except ValueError:  # another tool, such as a debugger, watches already
            return None
        finally:
            profiler.disable()
            self._busy = False
        text = io.StringIO()
        pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(SHOWN)
        return text.getvalue()


def tasks(running: Iterable[asyncio.Task[Any]]) -> str:
    """Return where each task is: one that waits shows its outermost function only."""
    blocks = []
    for task in sorted(running, key=lambda task: task.get_name()):
        stack = [_place(frame) for frame in task.get_stack(limit=20)]
        blocks.append("\n".join([f"{task.get_name()}:", *(f"  {place}" for place in stack)]))
    return "\n\n".join([f"{len(blocks)} tasks", *blocks]) + "\n"


def objects(*, collect: bool) -> str:
    """Return how many objects of each type there are; the scheduler stands still meanwhile."""
    if collect:
        gc.collect()
    counts = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    lines = [f"{number:10} {name}" for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join([f"{counts.total():10} objects", *lines]) + "\n"


def _place(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}:{frame.f_lineno}"
