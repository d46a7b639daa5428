"""Ends Python code that swallows exceptions raised inside of it.

`while True: try: ... except BaseException: pass` keeps whatever a signal raises in its `try`. So the lines that follow
are traced, and each of them raises once more, until one of them is outside of every `try` of its function. A line whose
raising is swallowed is not tried again, and one that leaves its function is: its caller may swallow, too.
"""

import sys
from collections.abc import Callable, Iterable
from dis import opmap
from types import CodeType, FrameType
from typing import Any

Line = tuple[CodeType, int]

HANDLER_BEGINS = opmap["PUSH_EXC_INFO"]


class Insistence:
    """Traces the functions of one call, from the innermost one to the one that was called, until they return."""

    def __init__(self, error: Callable[[], BaseException]) -> None:
        self._error = error
        self._in_vain: set[Line] = set()
        self._frames: set[FrameType] = set()
        self._last: tuple[FrameType, Line] | None = None
        self._before = sys.gettrace(), sys.getprofile()
        self._is_over = False

    def begin(self, under_way: Iterable[FrameType], *, once: bool = False) -> None:
        """Trace the running functions of the call; with `once`, its cleanup is not interrupted."""
        self._frames = set(under_way)
        for frame in self._frames:
            frame.f_trace = self._trace
        if not once:
            sys.setprofile(self._profile)
        sys.settrace(_ignore)

    def end(self) -> None:
        """Stop tracing."""
        self._is_over, self._last = True, None
        self._frames.clear()
        sys.settrace(self._before[0])
        sys.setprofile(self._before[1])

    def _trace(self, frame: FrameType, event: str, _arg: object) -> Any:
        line = frame.f_code, frame.f_lineno
        if self._is_over:
            return None
        if event != "line" or line in self._in_vain or self._is_handling(frame):
            return self._trace
        self._in_vain.add(line)
        self._last = frame, line
        raise self._error()  # with which Python stops to trace

    def _is_handling(self, frame: FrameType) -> bool:
        """Return whether an `except` of the call begins or is under way: Python would not put away what it handles."""
        # Nothing but the instruction shows that a `with` has just caught an error: `sys.exc_info` knows of it one
        # instruction later, and for an outer `with` that gets what an inner one passes on there is no event
        # "exception" before the line. A repeated signal instead of lines would always find the same `try`, and
        # `sys.monitoring` is not in Python 3.11.
        if frame.f_code.co_code[frame.f_lasti] == HANDLER_BEGINS:
            return True
        handled = sys.exc_info()[1]
        trace = None if handled is None else handled.__traceback__
        return trace is not None and trace.tb_frame in self._frames

    def _profile(self, frame: FrameType, event: str, _arg: object) -> None:
        if event == "return" and not self._is_over:
            if self._last is not None and self._last[0] is frame:
                self._in_vain.discard(self._last[1])
                self._last = None
            sys.settrace(_ignore)


def _ignore(_frame: FrameType, _event: str, _arg: object) -> None:
    """Do not trace functions that are called from now on."""
