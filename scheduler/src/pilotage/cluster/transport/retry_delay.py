"""Delays between attempts, so that clients do not overwhelm a failing server."""

import random
import time
from collections.abc import Callable
from math import inf

FIRST, LONGEST = 0.8, 30.0  # seconds
HEALTHY = 120.0  # seconds without a failure, after which the delay starts over


class RetryDelay:
    """Doubles each time up to a limit, with jitter between half and all of it."""

    def __init__(
        self, first: float = FIRST, longest: float = LONGEST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first, self._longest = first, longest
        self._clock = clock
        self._step = first
        self._over = -inf  # when the last wait ended

    def next(self) -> float:
        """Return the seconds to wait."""
        now = self._clock()
        if now - self._over >= HEALTHY:
            self._step = self._first
        step, self._step = self._step, min(self._step * 2, self._longest)
        delay = step * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        self._over = now + delay
        return delay
