"""Progress on a terminal."""

import sys
from time import monotonic

PATIENCE = 1.0  # seconds until anything is shown
STEP = 0.2  # seconds between two changes of it


class Progress:
    """How far some work is, and how long it will take; nothing without a terminal, or if it is quick."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = monotonic()
        self._next = self._start + PATIENCE
        self._shown = False
        self._done = 0
        self._wanted = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done."""
        now = monotonic()
        if done < self._done:
            self._start = now  # another file
        self._done = done
        if not self._wanted or now < self._next:
            return
        self._next, self._shown = now + STEP, True
        left = (now - self._start) * (total - done) / done if done else 0.0
        estimate = f", about {left:.0f} s left" if done else ""
        sys.stderr.write(f"\r\033[K{self._what}: {100 * done // max(total, 1)}%{estimate}")
        sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
