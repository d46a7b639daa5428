"""Measures how long schedulable pods were not tried, and why; cumulative, so that no scrape misses a stall."""

import asyncio
from collections.abc import Mapping
from time import perf_counter

TICK = 0.1  # seconds
NOTICED = 0.05  # seconds; a smaller delay is normal

BINDS = "binds"  # pods are ready, and the maximum number of binds is in flight
STANDSTILL = "standstill"  # the event loop was blocked


class HeldUp:
    """Adds up seconds by cause."""

    def __init__(self) -> None:
        self._seconds = {BINDS: 0.0, STANDSTILL: 0.0}
        self._full_since: float | None = None

    def too_many_binds(self) -> None:
        """Record that pods wait for binds in flight, until `resumed`."""
        if self._full_since is None:
            self._full_since = perf_counter()

    def resumed(self) -> None:
        """Record that pods can be taken again, or that none wait."""
        if self._full_since is not None:
            self._seconds[BINDS] += perf_counter() - self._full_since
            self._full_since = None

    async def watch_for_standstill(self) -> None:
        """Measure delays of the event loop until cancelled."""
        while True:
            due = perf_counter() + TICK
            await asyncio.sleep(TICK)
            late = perf_counter() - due
            if late > NOTICED:
                self._seconds[STANDSTILL] += late

    def seconds(self) -> Mapping[str, float]:
        """Return the seconds since the start, including a wait in progress."""
        so_far = 0.0 if self._full_since is None else perf_counter() - self._full_since
        return {**self._seconds, BINDS: self._seconds[BINDS] + so_far}
