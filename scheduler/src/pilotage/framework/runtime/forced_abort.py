"""Aborts Python code that swallows the exceptions raised in it.

`while True: try: ... except BaseException: pass` swallows everything that a signal raises in its `try`. So the
following lines are traced, and each of them raises again, until one is outside of every `try` of its function. A line
whose exception was swallowed is not used again, unless the exception left the function: its caller may swallow it, too.
"""

import sys
from collections.abc import Callable, Iterable
from dis import opmap
from types import CodeType, FrameType
from typing import Any

Line = tuple[CodeType, int]

HANDLER_BEGINS = opmap["PUSH_EXC_INFO"]


class ForcedAbort:
    """Traces the functions of one call, from the innermost to the outermost, until they return."""

    def __init__(self, error: Callable[[], BaseException]) -> None:
        self._error = error
        self._swallowed: set[Line] = set()
        self._frames: set[FrameType] = set()
        self._last: tuple[FrameType, Line] | None = None
        self._before = sys.gettrace(), sys.getprofile()
        self._is_over = False

    def begin(self, running: Iterable[FrameType], *, once: bool = False) -> None:
        """Trace the running functions of the call; with `once`, its cleanup is not interrupted."""
        self._frames = set(running)
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
        if event != "line" or line in self._swallowed or self._is_handling(frame):
            return self._trace
        self._swallowed.add(line)
        self._last = frame, line
        raise self._error()  # which also makes Python stop tracing

    def _is_handling(self, frame: FrameType) -> bool:
        """Return whether the call is inside of an `except`: Python would not reset the exception being handled."""
        # Only the instruction shows that a `with` has just caught an error: `sys.exc_info` contains it one instruction
        # later, and if an inner `with` re-raises to an outer one, no "exception" event precedes the line. Repeated
        # signals instead of lines would always hit the same `try`, and Python 3.11 lacks `sys.monitoring`.
        if frame.f_code.co_code[frame.f_lasti] == HANDLER_BEGINS:
            return True
        handled = sys.exc_info()[1]
        trace = None if handled is None else handled.__traceback__
        return trace is not None and trace.tb_frame in self._frames

    def _profile(self, frame: FrameType, event: str, _arg: object) -> None:
        if event == "return" and not self._is_over:
            if self._last is not None and self._last[0] is frame:
                self._swallowed.discard(self._last[1])
                self._last = None
            sys.settrace(_ignore)


def _ignore(_frame: FrameType, _event: str, _arg: object) -> None:
    """Do not trace functions called from now on."""
