"""What a person sees while long work goes on: a moving line on a terminal, plain lines when piped."""

import sys
import time
from types import TracebackType
from typing import Self

PLAIN_INTERVAL_SECONDS = 20.0


def say(message: str) -> None:
    """Print one line of progress."""
    print(message, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds as a person writes them: 42s, 3m05s."""
    whole = round(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60:02d}s"


class Step:
    """A named piece of work whose progress, elapsed time and estimate are shown until it ends."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._started = time.monotonic()
        self._shown = self._started
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        if not self._terminal:
            say(f"{self.title} ...")
        return self

    def update(self, done: int, total: int, unit: str) -> None:
        """Show how far it is; cheap to call often."""
        now = time.monotonic()
        if now - self._shown < (0.2 if self._terminal else PLAIN_INTERVAL_SECONDS):
            return
        self._shown = now
        elapsed = now - self._started
        left = f", about {duration(elapsed / done * (total - done))} left" if 0 < done < total else ""
        text = f"{self.title}: {done}/{total} {unit}, {duration(elapsed)}{left}"
        if self._terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        else:
            say(text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        clear = "\r\033[K" if self._terminal else ""
        outcome = "failed after" if error else "done in"
        print(
            f"{clear}{self.title}: {outcome} {duration(time.monotonic() - self._started)}", file=sys.stderr, flush=True
        )
