"""Shows the progress of long work: a moving line on a terminal, plain lines otherwise."""

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import ClassVar, Self

PLAIN_INTERVAL_SECONDS = 20.0
TERMINAL_INTERVAL_SECONDS = 0.5
ENOUGH_TO_JUDGE = 0.05  # of the whole: what is done before says little about the pace of this machine


def say(message: str) -> None:
    """Print one line of progress."""
    print(message, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds as a person writes them: 42s, 3m05s."""
    whole = round(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60:02d}s"


class Whole:
    """Several pieces of work, one after the other, with one estimate for all of them."""

    current: ClassVar["Whole | None"] = None

    def __init__(self, pieces: Mapping[str, float]) -> None:
        """Take each piece with the seconds that it takes on two cores."""
        self._pieces = dict(pieces)
        self._total = sum(pieces.values())
        self._started = time.monotonic()
        self._done = 0.0
        self._piece = ""
        self._part = 0.0

    @property
    def seconds(self) -> float:
        """How long all of it will take, judged by the number of cores alone."""
        return self._total * 2 / (os.cpu_count() or 2)

    @contextmanager
    def piece(self, name: str) -> Iterator[None]:
        """Work on one of the pieces; steps inside tell what is left of the whole."""
        self._piece, self._part = name, 0.0
        Whole.current = self
        try:
            yield
        finally:
            Whole.current = None
        self._done += self._pieces[name]

    def left(self, part: float) -> float:
        """The seconds that are left, when that part of the present piece is done."""
        self._part = max(self._part, part)
        done = self._done + self._part * self._pieces[self._piece]
        elapsed = time.monotonic() - self._started
        pace = elapsed / done if done > ENOUGH_TO_JUDGE * self._total else self.seconds / self._total
        return (self._total - done) * pace


class Step:
    """A named piece of work whose progress, elapsed time and estimate are shown until it ends."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._started = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._progress = (0, 0, "")
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if not self._terminal:
            say(f"{self.title} ...")
        self._ticker.start()
        return self

    def update(self, done: int, total: int, unit: str) -> None:
        """Record how far it is; cheap to call often."""
        self._progress = (done, total, unit)

    def text(self) -> str:
        """What is shown: also where the work itself says nothing for minutes, the time moves on."""
        done, total, unit = self._progress
        elapsed = time.monotonic() - self._started
        counted = f"{done}/{total} {unit}, " if unit else ""
        return f"{self.title}: {counted}{duration(elapsed)}{self._left(done, total, elapsed)}"

    def _left(self, done: int, total: int, elapsed: float) -> str:
        part = done / total if total else 0.0
        if whole := Whole.current:
            return f", about {duration(whole.left(part))} left in total"
        return f", about {duration(elapsed / part - elapsed)} left" if 0 < part < 1 else ""

    def _tick(self) -> None:
        while not self._over.wait(TERMINAL_INTERVAL_SECONDS if self._terminal else PLAIN_INTERVAL_SECONDS):
            if self._terminal:
                print(f"\r\033[K{self.text()}", end="", file=sys.stderr, flush=True)
            else:
                say(self.text())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._ticker.join()
        clear = "\r\033[K" if self._terminal else ""
        outcome = "failed after" if error else "done in"
        print(
            f"{clear}{self.title}: {outcome} {duration(time.monotonic() - self._started)}", file=sys.stderr, flush=True
        )
