"""The copies of a running cluster: one for each question, kept for a moment for the next one.

none ── take ──> asked ── give back ──> kept ── take, within 5 s of its moment ──> asked
                                         └── later ──> dropped
"""

from collections.abc import Callable
from time import time

from pilotage.offline.what_if.world import Moment, Scheduling, World

KEPT_FOR = 5.0  # seconds for which a copy may answer the next question
MOST = 2  # at once


class Busy(Exception):
    """Too many questions at once; the text says what to do."""


class Worlds:
    """Makes copies, and keeps them for a moment."""

    def __init__(
        self,
        moment: Callable[[], Moment],
        scheduling: Callable[[], Scheduling],
        clock: Callable[[], float] = time,
    ) -> None:
        self._moment, self._scheduling, self._clock = moment, scheduling, clock
        self._kept: list[World] = []
        self._asked = 0

    def __len__(self) -> int:
        return self._asked + len(self._kept)

    def take(self) -> World:
        """Return a copy for one question, kept or new; Busy, TooLarge."""
        if self._asked >= MOST:
            raise Busy(f"{MOST} what-ifs are being answered already; ask again in a second")
        self.tick()
        found = self._kept.pop() if self._kept else World(self._moment(), self._scheduling())
        self._asked += 1
        return found

    def give_back(self, world: World, *, whole: bool = True) -> None:
        """Take a copy back; one in an undefined state is dropped."""
        self._asked -= 1
        if whole:
            self._kept.append(world)
        self.tick()

    def tick(self) -> None:
        """Drop copies that are too old or too many; to be called after `KEPT_FOR`."""
        now = self._clock()
        self._kept = [world for world in self._kept if now - world.moment.at < KEPT_FOR][: MOST - self._asked]
