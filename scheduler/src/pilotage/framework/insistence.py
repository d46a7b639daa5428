"""Ends Python code that swallows what is raised inside of it.

`while True: try: ... except BaseException: pass` keeps whatever a signal raises in its `try`. So the lines that follow
are traced, and each of them raises once more, until one of them is outside of every `try` of its function. A line whose
raising is swallowed is not tried again, and one that leaves its function is: its caller may swallow, too.
"""

import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

Line = tuple[CodeType, int]


class Insistence:
    """Traces the functions of one call, from the innermost one to the one that was called, until they are left."""

    def __init__(self, error: Callable[[], BaseException]) -> None:
        self._error = error
        self._in_vain: set[Line] = set()
        self._last: tuple[FrameType, Line] | None = None
        self._before = sys.gettrace(), sys.getprofile()
        self._is_over = False

    def begin(self, under_way: Iterable[FrameType]) -> None:
        """Trace all functions that are under way in the call."""
        for frame in under_way:
            frame.f_trace = self._trace
        sys.setprofile(self._profile)
        sys.settrace(_ignore)

    def end(self) -> None:
        """Trace nothing any more."""
        self._is_over, self._last = True, None
        sys.settrace(self._before[0])
        sys.setprofile(self._before[1])

    def _trace(self, frame: FrameType, event: str, _arg: object) -> Any:
        line = frame.f_code, frame.f_lineno
        if self._is_over or event != "line" or line in self._in_vain:
            return None if self._is_over else self._trace
        self._in_vain.add(line)
        self._last = frame, line
        raise self._error()  # with which Python stops to trace

    def _profile(self, frame: FrameType, event: str, _arg: object) -> None:
        if event == "return" and not self._is_over:
            if self._last is not None and self._last[0] is frame:
                self._in_vain.discard(self._last[1])
                self._last = None
            sys.settrace(_ignore)


def _ignore(_frame: FrameType, _event: str, _arg: object) -> None:
    """Do not trace functions that are called from now on."""
